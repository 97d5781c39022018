#include "base/shared_library.h"

#include <dlfcn.h>

namespace kw {

Result<SharedLibrary> SharedLibrary::open(const std::filesystem::path& name, Names names) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | (names == Names::shared ? RTLD_GLOBAL : RTLD_LOCAL));
  if (handle != nullptr) return SharedLibrary(handle);
  const char* reason = ::dlerror();
  return Error{reason != nullptr ? reason : name.string() + " cannot be loaded", "", {}};
}

void* SharedLibrary::address_of(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace kw
