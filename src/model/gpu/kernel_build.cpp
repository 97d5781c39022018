#include "model/gpu/kernel_build.h"

#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "kernel/compile/nvrtc.h"

namespace kw {
namespace {

constexpr std::string_view kernel_pieces[] = {
#include "model_kernels.inc"
};

Result<Nvrtc> load_compiler() {
  KW_TRY(const CudaToolkit toolkit, find_cuda_toolkit());
  return Nvrtc::load(toolkit.nvrtc);
}

enum class Kind { ptx, cubin };

Result<std::string> compile(const Nvrtc& nvrtc, const std::string& architecture, Kind kind) {
  nvrtcProgram program = nullptr;
  if (nvrtc.create_program(&program, model_kernel_text().c_str(), "model.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) {
    return Error{"the CUDA compiler cannot be started for the model's kernels", "", {}};
  }
  const std::string target = "--gpu-architecture=" + architecture;
  const std::vector<const char*> options = {target.c_str(), "--std=c++20"};
  const nvrtcResult result = nvrtc.compile_program(program, static_cast<int>(options.size()), options.data());
  std::string output;
  std::size_t size = 0;
  if (result != NVRTC_SUCCESS) {
    if (nvrtc.get_log_size(program, &size) == NVRTC_SUCCESS) {
      output.resize(size);
      nvrtc.get_log(program, output.data());
    }
    nvrtc.destroy_program(&program);
    return Error{"the model's kernels do not compile for " + architecture + ": " + output, "", {}};
  }
  const bool cubin = kind == Kind::cubin;
  bool ok = (cubin ? nvrtc.get_cubin_size(program, &size) : nvrtc.get_ptx_size(program, &size)) == NVRTC_SUCCESS;
  output.resize(size);
  ok = ok && (cubin ? nvrtc.get_cubin(program, output.data()) : nvrtc.get_ptx(program, output.data())) == NVRTC_SUCCESS;
  nvrtc.destroy_program(&program);
  if (!ok) return Error{"the CUDA compiler gave no code for the model's kernels", "", {}};
  if (!cubin && !output.empty() && output.back() == '\0') output.pop_back();
  return output;
}

}  // namespace

const std::string& model_kernel_text() {
  static const std::string text = [] {
    std::string all;
    for (const std::string_view piece : kernel_pieces) all += piece;
    return all;
  }();
  return text;
}

Result<std::string> model_kernel_cubin(const std::string& architecture) {
  KW_TRY(const Nvrtc nvrtc, load_compiler());
  const std::string key = Sha256().add(model_kernel_text()).add(architecture).add(nvrtc.version()).hex();
  const auto path = cache_folder() / "model_gpu" / (key + ".cubin");
  if (auto cached = read_file(path); cached.ok() && !cached->empty()) return cached;
  KW_TRY(std::string cubin, compile(nvrtc, architecture, Kind::cubin));
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  // A cache that cannot be written only costs the next start a few seconds.
  static_cast<void>(write_file_atomic(path, cubin).ok());
  return cubin;
}

Result<std::string> model_kernel_ptx() {
  KW_TRY(const Nvrtc nvrtc, load_compiler());
  return compile(nvrtc, "compute_90", Kind::ptx);
}

}  // namespace kw
