#pragma once
// Performance and correctness pitfalls that can be seen in a kernel's text, each with its line and what to do about it.
// A warning is meant to be right; a note is a habit worth a look. Nothing here rejects a kernel: the emulator and the
// profiler decide what really happens. Macros are not expanded, and a file that does not parse gives fewer findings.

#include <string_view>
#include <vector>

#include "kernel/source/rules.h"

namespace kw {

// In order of position. Files over 256 KiB, nested over 200 levels or too twisted to be parsed in 0.3 s of
// processor time give none.
std::vector<Finding> find_pitfalls(std::string_view text, std::string_view file);

}  // namespace kw
