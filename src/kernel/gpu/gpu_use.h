#pragma once
// How busy the machine's GPUs are: NVIDIA's management library (NVML), loaded at run time. It needs no context on a
// device, so asking costs the kernels there nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

struct GpuUse {
  int index = 0;  // as nvidia-smi counts, whatever CUDA_VISIBLE_DEVICES says
  std::string name;
  std::uint64_t memory_used_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::optional<double> busy_percent;  // of the last second or less; some devices do not say
};

class GpuUseReader {
 public:
  // An error where there is no such library or it cannot reach a driver.
  static Result<GpuUseReader> open(const std::string& library = "libnvidia-ml.so.1");
  // Devices that do not answer are left out. Takes milliseconds.
  std::vector<GpuUse> read() const;

 private:
  using Device = void*;
  struct Memory {  // nvmlMemory_t
    unsigned long long total, free, used;
  };
  struct Utilization {  // nvmlUtilization_t, percent
    unsigned int gpu, memory;
  };
  int (*count_)(unsigned int*) = nullptr;
  int (*device_)(unsigned int, Device*) = nullptr;
  int (*name_)(Device, char*, unsigned int) = nullptr;
  int (*memory_)(Device, Memory*) = nullptr;
  int (*utilization_)(Device, Utilization*) = nullptr;
};

}  // namespace kw
