#include "kernel/reference/torch_library.h"

#include <dlfcn.h>

#include "base/installed_files.h"

namespace kw {
namespace {

Result<const TorchLibrary*> load_torch_library() {
  const auto path = find_library("libkernelwright_torch.so");
  // Never unloaded: libtorch does not survive that.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = ::dlerror();
    return Error{
        std::string("libtorch cannot be loaded: ") + (reason ? reason : "unknown reason"),
        "run `make setup build`; on another machine set LD_LIBRARY_PATH to its torch/lib and nvidia/*/lib folders",
        {}};
  }
  auto* entry = reinterpret_cast<decltype(&kernelwright_torch_library)>(::dlsym(library, "kernelwright_torch_library"));
  if (!entry) return Error{path.string() + " is not the library that belongs to this program", "run `make build`", {}};
  return entry();
}

}  // namespace

const Result<const TorchLibrary*>& torch_library() {
  static const Result<const TorchLibrary*> loaded = load_torch_library();
  return loaded;
}

}  // namespace kw
