#include "kernel/compile/nvrtc.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "libnvrtc.so.13";

template <class Function>
bool look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

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
    if (toolkit.include.empty()) toolkit.include = include_below(root);
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
  ::dlopen(builtins.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return Error{"cannot load " + library.string() + ": " + (reason != nullptr ? reason : "unknown reason"), "", {}};
  }
  Nvrtc nvrtc{};
  const bool complete =
      look_up(handle, "nvrtcVersion", nvrtc.get_version) &&
      look_up(handle, "nvrtcCreateProgram", nvrtc.create_program) &&
      look_up(handle, "nvrtcDestroyProgram", nvrtc.destroy_program) &&
      look_up(handle, "nvrtcAddNameExpression", nvrtc.add_name_expression) &&
      look_up(handle, "nvrtcCompileProgram", nvrtc.compile_program) &&
      look_up(handle, "nvrtcGetLoweredName", nvrtc.get_lowered_name) &&
      look_up(handle, "nvrtcGetPTXSize", nvrtc.get_ptx_size) && look_up(handle, "nvrtcGetPTX", nvrtc.get_ptx) &&
      look_up(handle, "nvrtcGetCUBINSize", nvrtc.get_cubin_size) && look_up(handle, "nvrtcGetCUBIN", nvrtc.get_cubin) &&
      look_up(handle, "nvrtcGetProgramLogSize", nvrtc.get_log_size) &&
      look_up(handle, "nvrtcGetProgramLog", nvrtc.get_log) &&
      look_up(handle, "nvrtcGetErrorString", nvrtc.get_error_string);
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
