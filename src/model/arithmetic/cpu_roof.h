#pragma once
// What this machine's CPU can do at most, measured.

#include "base/machine_roof.h"
#include "model/arithmetic/thread_team.h"

namespace kw {

// Fused multiply-adds of float32 in registers, all threads; the best of several rounds, some 20 ms in all.
double measure_cpu_flops(ThreadTeam& team);

// The same, and how fast all threads read 256 MiB of memory.
MachineRoof measure_cpu(ThreadTeam& team);

}  // namespace kw
