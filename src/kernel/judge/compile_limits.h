#pragma once
// What compiling one kernel may cost, whatever its text does (docs/verdict.md, "What a judgement may cost").

#include <algorithm>
#include <cmath>

#include "kernel/compile/compilation.h"

namespace kw {

// Processor time is the limit. By the clock it may take ten times as long: on a busy machine a compiler waits for a
// processor, and that is not the kernel's fault.
inline CompileLimits compile_limits(double judgement_seconds) {
  // Kernels take a tenth of a second, with CUB or cooperative groups one or two.
  constexpr double most_cpu_seconds = 6;
  constexpr double part = 0.2;  // of the time of a judgement
  constexpr int wall_ms_per_cpu_second = 10'000;
  CompileLimits limits;
  limits.cpu_seconds = static_cast<int>(std::clamp(std::ceil(judgement_seconds * part), 1.0, most_cpu_seconds));
  limits.wall_ms = limits.cpu_seconds * wall_ms_per_cpu_second;
  return limits;
}

}  // namespace kw
