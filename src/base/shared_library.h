#pragma once
// A library that is loaded at run time, so that one program serves machines with and without it.

#include <filesystem>
#include <string>

#include "base/result.h"

namespace kw {

class SharedLibrary {
 public:
  enum class Names {
    own,    // what it defines is found through it alone
    shared  // also by libraries that are loaded later
  };

  // A path, or a name that the system's loader looks for. The error is the loader's reason alone. Never unloaded:
  // CUDA's and torch's libraries do not survive that.
  static Result<SharedLibrary> open(const std::filesystem::path& name, Names names = Names::own);

  // Sets the pointer; false, and null, where the library has no such function.
  template <class Function>
  bool find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address_of(name));
    return function != nullptr;
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* address_of(const char* name) const;

  void* handle_;
};

}  // namespace kw
