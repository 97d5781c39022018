#pragma once
// From counters to words: what limits a kernel and what to try next.

#include <string>
#include <vector>

#include "kernel/counters/counters.h"

namespace kw {

// What the counters do not say.
struct AdviceContext {
  double load_bytes = 0;   // that each thread moves with one global load or store: 4 for float, 16 for float4;
  double store_bytes = 0;  // 0: not known
};

struct CounterAdvice {
  std::string limiter;                 // a word of TimeEstimate::limiter; "unknown" without counters
  std::vector<std::string> sentences;  // at most three, the most promising first; may be empty
};

CounterAdvice advise(const KernelCounters& counters, const AdviceContext& context = {});

}  // namespace kw
