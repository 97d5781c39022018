#pragma once
// The time that nobody goes below: bytes that have to be moved, and products that have to be computed, at the rates
// that the device has on paper. A modelled or measured time below it is not one of the task's work.

#include <string>

#include "kernel/gpu/message.h"
#include "kernel/performance/device_profile.h"
#include "kernel/task/task.h"

namespace kw {

// What a device can do at most.
struct DeviceCeiling {
  double dram_gb_per_s = 0;  // 0: not known, likewise the next ones
  double l2_bytes = 0;
  double multiply_adds_per_ns = 0;  // of half precision, by tensor cores
};

DeviceCeiling ceiling_of(const DeviceProfile& profile);
// From the device's own attributes.
DeviceCeiling ceiling_of(const GpuFacts& facts);

struct Floor {
  double us = 0;     // 0: nothing is known
  std::string what;  // "reading 256 MiB of inputs and writing 256 MiB at 4800 GB/s"
};

// `loaded_share`: of the inputs' bytes, those that a right answer needs; clamped to [0, 1]. Inputs are not in the L2
// when a time begins, and as much of the outputs as it holds may stay there.
Floor floor_of(const Task& task, const Sizes& sizes, const DeviceCeiling& ceiling, double loaded_share);

}  // namespace kw
