#include "model/decoder/model_name.h"

#include "base/file.h"

namespace kw {

namespace fs = std::filesystem;

fs::path smollm2_file() { return cache_folder() / "models" / smollm2_name / "SmolLM2-135M-Instruct.Q4_1.gguf"; }

Result<fs::path> model_path(const std::string& name_or_path) {
  std::error_code ignored;
  if (name_or_path != smollm2_name || fs::exists(name_or_path, ignored)) return fs::path(name_or_path);
  const fs::path file = smollm2_file();
  if (fs::exists(file, ignored)) return file;
  return Error{name_or_path + " is not here yet", "kernelwright model fetch " + name_or_path, {}};
}

}  // namespace kw
