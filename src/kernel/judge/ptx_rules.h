#pragma once
// The last fence before a kernel runs: what the compiled code must not contain, whatever the source looked like.

#include <string>
#include <string_view>
#include <vector>

#include "kernel/judge/verdict.h"

namespace kw {

// Timers (a kernel that reads them can tell when it is measured), and calls out of the kernel.
std::vector<VerdictFinding> check_ptx(std::string_view ptx);

}  // namespace kw
