#include "kernel/compile/nvrtc.h"

#include <array>
#include <cstdlib>

#include "base/file.h"
#include "base/shared_library.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "libnvrtc.so.13";

fs::path library_below(const fs::path& root) {
  for (const char* folder : {"lib", "lib64", "targets/x86_64-linux/lib", "."}) {
    std::error_code ignored;
    const fs::path candidate = root / folder / library_name;
    if (fs::is_regular_file(candidate, ignored)) return candidate.lexically_normal();
  }
  return {};
}

fs::path include_below(const fs::path& root) {
  for (const char* folder : {"include", "targets/x86_64-linux/include"}) {
    std::error_code ignored;
    if (fs::is_regular_file(root / folder / "cuda_fp16.h", ignored)) return root / folder;
  }
  return {};
}

// Many of the toolkit's own headers include <nv/target>, which PyTorch's packages of CUDA do not bring.
bool is_complete(const fs::path& include) {
  std::error_code ignored;
  return fs::is_regular_file(include / "nv" / "target", ignored) ||
         fs::is_regular_file(include / "cccl" / "nv" / "target", ignored);
}

// "13000" of CUDA 13.0; empty where the folder does not say.
std::string release_of(const fs::path& include) {
  const auto text = read_file(include / "cuda.h");
  constexpr std::string_view definition = "#define CUDA_VERSION ";
  const std::size_t at = text.ok() ? text->find(definition) : std::string::npos;
  if (at == std::string::npos) return "";
  const std::size_t begin = at + definition.size();
  return text->substr(begin, std::min(text->find('\n', begin), text->size()) - begin);
}

std::vector<fs::path> candidate_roots() {
  std::vector<fs::path> roots;
  if (const char* chosen = std::getenv("KERNELWRIGHT_CUDA"); chosen != nullptr && *chosen != 0)
    roots.emplace_back(chosen);
  roots.emplace_back(KW_CUDA_ROOT);
  if (const char* folders = std::getenv("LD_LIBRARY_PATH")) {
    std::string_view rest = folders;
    while (!rest.empty()) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
      if (!folder.empty()) roots.push_back(fs::path(folder).parent_path());
      if (!folder.empty()) roots.emplace_back(folder);
    }
  }
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

}  // namespace

Result<CudaToolkit> find_cuda_toolkit() {
  CudaToolkit toolkit;
  for (const fs::path& root : candidate_roots()) {
    if (toolkit.nvrtc.empty()) toolkit.nvrtc = library_below(root);
    const fs::path include = include_below(root);
    if (include.empty()) continue;
    const bool first = toolkit.include.empty();
    const bool better = !first && !is_complete(toolkit.include) && is_complete(include) &&
                        !release_of(include).empty() && release_of(include) == release_of(toolkit.include);
    if (first || better) toolkit.include = include;
  }
  if (toolkit.nvrtc.empty()) {
    return Error{std::string("the CUDA compiler library ") + library_name + " was not found",
                 "run `make setup`, or set KERNELWRIGHT_CUDA to a CUDA 13 folder that has lib/ and include/",
                 {}};
  }
  return toolkit;
}

Result<Nvrtc> Nvrtc::load(const fs::path& library) {
  // Ours first, by its full path: NVRTC itself would take the first one of that name that the system knows.
  const std::string builtins = library.parent_path() / "libnvrtc-builtins.so.13.0";
  static_cast<void>(SharedLibrary::open(builtins, SharedLibrary::Names::shared));
  const auto opened = SharedLibrary::open(library);
  if (!opened.ok()) return Error{"cannot load " + library.string() + ": " + opened.error().message, "", {}};
  Nvrtc nvrtc{};
  const bool complete =
      opened->find(nvrtc.get_version, "nvrtcVersion") && opened->find(nvrtc.create_program, "nvrtcCreateProgram") &&
      opened->find(nvrtc.destroy_program, "nvrtcDestroyProgram") &&
      opened->find(nvrtc.add_name_expression, "nvrtcAddNameExpression") &&
      opened->find(nvrtc.compile_program, "nvrtcCompileProgram") &&
      opened->find(nvrtc.get_lowered_name, "nvrtcGetLoweredName") &&
      opened->find(nvrtc.get_ptx_size, "nvrtcGetPTXSize") && opened->find(nvrtc.get_ptx, "nvrtcGetPTX") &&
      opened->find(nvrtc.get_cubin_size, "nvrtcGetCUBINSize") && opened->find(nvrtc.get_cubin, "nvrtcGetCUBIN") &&
      opened->find(nvrtc.get_log_size, "nvrtcGetProgramLogSize") && opened->find(nvrtc.get_log, "nvrtcGetProgramLog") &&
      opened->find(nvrtc.get_error_string, "nvrtcGetErrorString");
  if (!complete) return Error{library.string() + " is not a complete NVRTC", "", {}};
  return nvrtc;
}

std::string Nvrtc::version() const {
  int major = 0;
  int minor = 0;
  if (get_version(&major, &minor) != NVRTC_SUCCESS) return "unknown";
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace kw
