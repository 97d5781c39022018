#pragma once
// What this machine's CPU can do at most, measured: the roof that benchmarks are compared with.

#include "arithmetic/thread_team.h"

namespace kw::cli {

struct CpuRoof {
  double flops = 0;        // fused multiply-adds of float32 in registers, two operations each, all threads
  double bytes_per_s = 0;  // reading memory that no cache holds, all threads
  double cache_bytes = 0;  // last level; 0: not known
};

CpuRoof measure_cpu(ThreadTeam& team);

}  // namespace kw::cli
