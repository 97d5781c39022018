#include "kernel/reference/torch_library.h"

#include "base/installed_files.h"
#include "base/shared_library.h"

namespace kw {
namespace {

Result<const TorchLibrary*> load_torch_library() {
  const auto path = find_library("libkernelwright_torch.so");
  const auto library = SharedLibrary::open(path);
  if (!library.ok())
    return Error{
        "libtorch cannot be loaded: " + library.error().message,
        "run `make setup build`; on another machine set LD_LIBRARY_PATH to its torch/lib and nvidia/*/lib folders",
        {}};
  decltype(&kernelwright_torch_library) entry = nullptr;
  if (!library->find(entry, "kernelwright_torch_library"))
    return Error{path.string() + " is not the library that belongs to this program", "run `make build`", {}};
  return entry();
}

}  // namespace

const Result<const TorchLibrary*>& torch_library() {
  static const Result<const TorchLibrary*> loaded = load_torch_library();
  return loaded;
}

}  // namespace kw
