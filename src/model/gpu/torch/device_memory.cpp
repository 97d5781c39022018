#include "model/gpu/torch/device_memory.h"

#include <algorithm>
#include <atomic>

#include "model/gpu/torch/torch_headers.h"

namespace kw {
namespace {

std::atomic<std::int64_t> limit{0};

c10::CachingDeviceAllocator::DeviceStats allocator_stats() {
  return c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device());
}

// The first entry counts pools of all sizes.
struct Driver {
  std::int64_t free = 0, total = 0;
};
Driver ask_driver() {
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return {};
  return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
}

}  // namespace

std::int64_t allocated_device_bytes() {
  at::globalContext().lazyInitDevice(c10::kCUDA);
  return allocator_stats().allocated_bytes[0].current;
}

std::int64_t free_device_bytes() {
  const std::int64_t free = ask_driver().free;
  if (limit == 0) return free;
  return std::clamp<std::int64_t>(limit - allocated_device_bytes(), 0, free);
}

void limit_device_memory(std::int64_t bytes) {
  if (bytes == 0) return;
  at::globalContext().lazyInitDevice(c10::kCUDA);
  const Driver driver = ask_driver();
  if (driver.total == 0 || bytes >= driver.total) return;
  limit = bytes;
  // What an earlier trainer had does not count.
  c10::cuda::CUDACachingAllocator::emptyCache();
  c10::cuda::CUDACachingAllocator::resetPeakStats(c10::cuda::current_device());
  const double share = static_cast<double>(bytes) / static_cast<double>(driver.total);
  c10::cuda::CUDACachingAllocator::setMemoryFraction(share, c10::cuda::current_device());
}

GpuMemory device_memory() {
  at::globalContext().lazyInitDevice(c10::kCUDA);
  const auto stats = allocator_stats();
  const Driver driver = ask_driver();
  return {.device = driver.total,
          .device_used = driver.total - driver.free,
          .allocated = stats.allocated_bytes[0].current,
          .most_allocated = stats.allocated_bytes[0].peak,
          .reserved = stats.reserved_bytes[0].current,
          .most_reserved = stats.reserved_bytes[0].peak,
          .limit = limit};
}

}  // namespace kw
