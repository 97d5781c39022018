#pragma once
// Memory of the device as torch's allocator and the driver see it.

#include "model/gpu/model_gpu.h"

namespace kw {

// Of torch's allocator in this process, on the current device.
std::int64_t allocated_device_bytes();
// What this process may still take: what the driver has free, or what is left of the limit.
std::int64_t free_device_bytes();
// The allocator takes no more than this from now on, and throws where it would have to; 0: whatever was said before.
void limit_device_memory(std::int64_t bytes);
GpuMemory device_memory();

}  // namespace kw
