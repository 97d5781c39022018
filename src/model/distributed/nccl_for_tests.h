#pragma once
// Test code: NCCL that is none, while it lives (emulated_nccl).

#include <cstdlib>

namespace kw {

class EmulatedNccl {
 public:
  EmulatedNccl() { ::setenv("KERNELWRIGHT_NCCL", KW_EMULATED_NCCL, 1); }
  ~EmulatedNccl() { ::unsetenv("KERNELWRIGHT_NCCL"); }
  EmulatedNccl(const EmulatedNccl&) = delete;
  EmulatedNccl& operator=(const EmulatedNccl&) = delete;
};

}  // namespace kw
