#include "kernel/gpu/driver.h"

#include <cstdlib>

#include "base/shared_library.h"

namespace kw {
namespace {

Result<Driver> load() {
  const char* chosen = std::getenv("KERNELWRIGHT_LIBCUDA");
  const char* name = chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
  const auto library = SharedLibrary::open(name);
  if (!library.ok())
    return Error{"there is no NVIDIA driver on this machine (" + library.error().message + ")",
                 "use --backend emulator, or install the driver",
                 {}};
  Driver driver;
  const char* missing = nullptr;
#define KW_DRIVER_LOOK_UP(function) \
  if (!library->find(driver.function, #function)) missing = #function;
  KW_DRIVER_FUNCTIONS(KW_DRIVER_LOOK_UP)
#undef KW_DRIVER_LOOK_UP
  if (missing != nullptr)
    return Error{std::string("the NVIDIA driver has no ") + missing, "a driver for CUDA 12 or later is needed", {}};
  static_cast<void>(library->find(driver.cuLaunchKernelEx, "cuLaunchKernelEx"));
  return driver;
}

}  // namespace

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return std::string(name ? name : "unknown error") + (text ? std::string(": ") + text : "");
}

const Result<Driver>& cuda_driver() {
  static const Result<Driver> loaded = load();
  return loaded;
}

}  // namespace kw
