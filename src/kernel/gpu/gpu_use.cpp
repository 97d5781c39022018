#include "kernel/gpu/gpu_use.h"

#include <algorithm>
#include <array>

#include "base/shared_library.h"

namespace kw {
namespace {

constexpr unsigned int most_devices = 64;

}  // namespace

Result<GpuUseReader> GpuUseReader::open(const std::string& library) {
  KW_TRY(const SharedLibrary opened, SharedLibrary::open(library));
  GpuUseReader reader;
  int (*start)() = nullptr;
  const bool complete = opened.find(start, "nvmlInit_v2") && opened.find(reader.count_, "nvmlDeviceGetCount_v2") &&
                        opened.find(reader.device_, "nvmlDeviceGetHandleByIndex_v2") &&
                        opened.find(reader.name_, "nvmlDeviceGetName") &&
                        opened.find(reader.memory_, "nvmlDeviceGetMemoryInfo") &&
                        opened.find(reader.utilization_, "nvmlDeviceGetUtilizationRates");
  if (!complete) return Error{library + " is not a complete NVML", "", {}};
  if (const int code = start(); code != 0)
    return Error{library + " cannot reach a driver (code " + std::to_string(code) + ")", "", {}};
  return reader;
}

std::vector<GpuUse> GpuUseReader::read() const {
  std::vector<GpuUse> all;
  unsigned int count = 0;
  if (count_(&count) != 0) return all;
  for (unsigned int i = 0; i < std::min(count, most_devices); ++i) {
    Device device = nullptr;
    Memory memory{};
    if (device_(i, &device) != 0 || memory_(device, &memory) != 0) continue;
    GpuUse use;
    use.index = static_cast<int>(i);
    std::array<char, 97> name{};  // NVML's longest, and the end
    if (name_(device, name.data(), name.size() - 1) == 0) use.name = name.data();
    use.memory_used_bytes = memory.used;
    use.memory_bytes = memory.total;
    if (Utilization busy{}; utilization_(device, &busy) == 0) use.busy_percent = busy.gpu;
    all.push_back(std::move(use));
  }
  return all;
}

}  // namespace kw
