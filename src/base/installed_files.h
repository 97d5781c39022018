#pragma once
// Where files are that belong to the program: in the folder that an environment variable names, beside the program or
// above it (a build folder in a checkout), or where `make install` puts them (PREFIX/share/kernelwright,
// PREFIX/lib/kernelwright).

#include <filesystem>
#include <string>

#include "base/result.h"

namespace kw {

struct InstalledFolder {
  const char* name;      // "tasks"
  const char* variable;  // "KERNELWRIGHT_TASKS"
  const char* sign;      // a file or folder in it, by which it is told from another folder of that name
  const char* content;   // "the task suite", for messages
};

Result<std::filesystem::path> find_installed(const InstalledFolder& folder);

// A shared library of the program. Where there is none, the place at which it should be.
std::filesystem::path find_library(const char* name);

}  // namespace kw
