#include "kernel/compile/occupancy.h"

#include <cuda_occupancy.h>

#include <string>

namespace kw {
namespace {

cudaOccDeviceProp device_properties(GpuArchitecture architecture) {
  const DeviceLimits limits = device_limits(architecture);
  cudaOccDeviceProp properties;
  properties.computeMajor = compute_capability(architecture) / 10;
  properties.computeMinor = compute_capability(architecture) % 10;
  properties.maxThreadsPerBlock = limits.max_threads_per_block;
  properties.maxThreadsPerMultiprocessor = limits.max_threads_per_sm;
  properties.regsPerBlock = limits.registers_per_block;
  properties.regsPerMultiprocessor = limits.registers_per_sm;
  properties.warpSize = 32;
  properties.sharedMemPerBlock = static_cast<std::size_t>(limits.shared_bytes_per_block);
  properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(limits.shared_bytes_per_sm);
  properties.numSms = limits.multiprocessors;
  properties.sharedMemPerBlockOptin = static_cast<std::size_t>(limits.shared_bytes_per_block_optin);
  properties.reservedSharedMemPerBlock = static_cast<std::size_t>(limits.reserved_shared_bytes_per_block);
  return properties;
}

OccupancyLimiter limiter_from(unsigned factors) {
  // Several may bind at once; with this one the multiprocessor is full, and nothing is lost.
  if ((factors & OCC_LIMIT_WARPS) != 0) return OccupancyLimiter::warps;
  if ((factors & OCC_LIMIT_REGISTERS) != 0) return OccupancyLimiter::registers;
  if ((factors & OCC_LIMIT_SHARED_MEMORY) != 0) return OccupancyLimiter::shared_memory;
  if ((factors & OCC_LIMIT_BARRIERS) != 0) return OccupancyLimiter::barriers;
  if ((factors & OCC_LIMIT_BLOCKS) != 0) return OccupancyLimiter::blocks;
  return OccupancyLimiter::warps;
}

}  // namespace

std::string_view to_string(OccupancyLimiter limiter) {
  switch (limiter) {
    case OccupancyLimiter::warps:
      return "warps";
    case OccupancyLimiter::registers:
      return "registers";
    case OccupancyLimiter::shared_memory:
      return "shared memory";
    case OccupancyLimiter::blocks:
      return "blocks";
    case OccupancyLimiter::barriers:
      return "barriers";
  }
  return "warps";
}

// CUDA C++ Programming Guide, "Compute Capabilities", table of technical specifications.
DeviceLimits device_limits(GpuArchitecture architecture) {
  constexpr int kib = 1024;
  DeviceLimits limits;
  switch (architecture) {
    case GpuArchitecture::sm_80:
      limits.multiprocessors = 108;
      limits.max_threads_per_sm = 2048;
      limits.max_blocks_per_sm = 32;
      limits.shared_bytes_per_sm = 164 * kib;
      limits.shared_bytes_per_block_optin = 163 * kib;
      break;
    case GpuArchitecture::sm_86:
      limits.multiprocessors = 82;
      limits.max_threads_per_sm = 1536;
      limits.max_blocks_per_sm = 16;
      limits.shared_bytes_per_sm = 100 * kib;
      limits.shared_bytes_per_block_optin = 99 * kib;
      break;
    case GpuArchitecture::sm_89:
      limits.multiprocessors = 128;
      limits.max_threads_per_sm = 1536;
      limits.max_blocks_per_sm = 24;
      limits.shared_bytes_per_sm = 100 * kib;
      limits.shared_bytes_per_block_optin = 99 * kib;
      break;
    case GpuArchitecture::sm_90:
    case GpuArchitecture::sm_90a:
      limits.multiprocessors = 132;
      limits.max_threads_per_sm = 2048;
      limits.max_blocks_per_sm = 32;
      limits.shared_bytes_per_sm = 228 * kib;
      limits.shared_bytes_per_block_optin = 227 * kib;
      break;
    case GpuArchitecture::sm_100:
    case GpuArchitecture::sm_100a:
      limits.multiprocessors = 148;
      limits.max_threads_per_sm = 2048;
      limits.max_blocks_per_sm = 32;
      limits.shared_bytes_per_sm = 228 * kib;
      limits.shared_bytes_per_block_optin = 227 * kib;
      break;
  }
  return limits;
}

Result<Occupancy> occupancy(GpuArchitecture architecture, const KernelResources& resources, int threads_per_block,
                            std::uint32_t dynamic_shared_bytes) {
  const DeviceLimits limits = device_limits(architecture);
  const std::string device(to_string(architecture));
  const int most_threads = resources.max_threads > 0 ? std::min(resources.max_threads, limits.max_threads_per_block)
                                                     : limits.max_threads_per_block;
  if (threads_per_block < 1 || threads_per_block > most_threads) {
    return Error{"a block of " + std::to_string(threads_per_block) + " threads cannot be launched; the kernel allows " +
                     std::to_string(most_threads),
                 "use a smaller block or a larger __launch_bounds__",
                 {}};
  }
  const std::uint64_t shared =
      std::uint64_t{dynamic_shared_bytes} + static_cast<std::uint64_t>(resources.static_shared_bytes);
  if (shared > static_cast<std::uint64_t>(limits.shared_bytes_per_block_optin)) {
    return Error{"a block needs " + std::to_string(shared) + " bytes of shared memory; " + device + " has " +
                     std::to_string(limits.shared_bytes_per_block_optin),
                 "use smaller tiles",
                 {}};
  }

  const cudaOccDeviceProp properties = device_properties(architecture);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = most_threads;
  attributes.numRegs = resources.registers;
  attributes.sharedSizeBytes = static_cast<std::size_t>(resources.static_shared_bytes);
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(limits.shared_bytes_per_block_optin);
  attributes.numBlockBarriers = resources.barriers;
  cudaOccDeviceState state;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  cudaOccResult result;
  const cudaOccError code = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                                                    threads_per_block, dynamic_shared_bytes);
  if (code != CUDA_OCC_SUCCESS || result.activeBlocksPerMultiprocessor < 1) {
    return Error{"a block of " + std::to_string(threads_per_block) + " threads with " +
                     std::to_string(resources.registers) + " registers each does not fit on a multiprocessor of " +
                     device,
                 "use a smaller block, or __launch_bounds__ to use fewer registers",
                 {}};
  }
  Occupancy answer;
  answer.blocks_per_sm = result.activeBlocksPerMultiprocessor;
  answer.warps_per_sm = answer.blocks_per_sm * ((threads_per_block + 31) / 32);
  answer.max_warps_per_sm = limits.max_threads_per_sm / 32;
  answer.limiter = limiter_from(result.limitingFactors);
  return answer;
}

}  // namespace kw
