#pragma once
// What the system says of a file that cannot be read or written, and what a person can do about it.

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace kw {

// "cannot write FILE: No space left on device"; `error_number` is an errno.
Error file_error(std::string_view what, const std::filesystem::path& path, int error_number);

}  // namespace kw
