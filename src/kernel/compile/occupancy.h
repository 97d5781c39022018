#pragma once
// How many warps of a kernel fit on a multiprocessor at once, by NVIDIA's own rules (cuda_occupancy.h).

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "kernel/compile/architecture.h"
#include "kernel/compile/resources.h"

namespace kw {

// What limits the number of blocks on a multiprocessor.
enum class OccupancyLimiter { warps, registers, shared_memory, blocks, barriers };
std::string_view to_string(OccupancyLimiter limiter);

struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_sm = 0;
  int max_warps_per_sm = 0;
  OccupancyLimiter limiter = OccupancyLimiter::warps;

  double fraction() const { return max_warps_per_sm == 0 ? 0 : static_cast<double>(warps_per_sm) / max_warps_per_sm; }
};

// What a device of the architecture has; for the example device where devices differ.
struct DeviceLimits {
  int multiprocessors = 0;
  int max_threads_per_sm = 0;
  int max_threads_per_block = 1024;
  int max_blocks_per_sm = 0;
  int registers_per_sm = 65536;
  int registers_per_block = 65536;
  int shared_bytes_per_sm = 0;
  int shared_bytes_per_block = 48 * 1024;
  int shared_bytes_per_block_optin = 0;
  int reserved_shared_bytes_per_block = 1024;
};
DeviceLimits device_limits(GpuArchitecture architecture);

// An error when the launch is not possible at all: too many threads, registers or too much shared memory.
Result<Occupancy> occupancy(GpuArchitecture architecture, const KernelResources& resources, int threads_per_block,
                            std::uint32_t dynamic_shared_bytes);

}  // namespace kw
