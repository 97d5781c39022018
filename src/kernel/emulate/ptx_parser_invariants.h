#pragma once
// What every parsed module promises to the code that builds on it, written down as a check for tests and fuzzing.

#include <string>

#include "kernel/emulate/ptx_module.h"

namespace kw {

// The first broken promise in words; empty when all hold.
std::string broken_ptx_promise(const PtxModule& module);

}  // namespace kw
