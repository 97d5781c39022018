#pragma once
// What a machine can do at most, measured: the roof that training and benchmarks are compared with.

namespace kw {

struct MachineRoof {
  double flops = 0;        // operations a second; a multiply-add is two
  double bytes_per_s = 0;  // from and to memory that no cache holds
  double cache_bytes = 0;  // of the last level; 0: not known, or not counted on
};

}  // namespace kw
