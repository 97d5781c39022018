#pragma once
// KERNEL.cu on the command line, and what every command does with it first.

#include <string>

#include "base/result.h"
#include "kernel/source/launch_plan.h"

namespace kw::cli {

// The text of the file; an error when it cannot be read or is larger than a kernel may be. "-" is standard input.
Result<std::string> read_kernel_argument(const std::string& path);

}  // namespace kw::cli
