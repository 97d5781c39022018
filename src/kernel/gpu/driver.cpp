#include "kernel/gpu/driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace kw {
namespace {

Result<Driver> load() {
  const char* chosen = std::getenv("KERNELWRIGHT_LIBCUDA");
  const char* name = chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
  void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);  // never unloaded
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return Error{std::string("there is no NVIDIA driver on this machine (") + (reason ? reason : name) + ")",
                 "use --backend emulator, or install the driver",
                 {}};
  }
  Driver driver;
  const char* missing = nullptr;
#define KW_DRIVER_LOOK_UP(function)                                                           \
  driver.function = reinterpret_cast<decltype(driver.function)>(::dlsym(library, #function)); \
  if (driver.function == nullptr) missing = #function;
  KW_DRIVER_FUNCTIONS(KW_DRIVER_LOOK_UP)
#undef KW_DRIVER_LOOK_UP
  if (missing != nullptr)
    return Error{std::string("the NVIDIA driver has no ") + missing, "a driver for CUDA 12 or later is needed", {}};
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
