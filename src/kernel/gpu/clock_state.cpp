#include "kernel/gpu/clock_state.h"

#include <mutex>

#include "base/shared_library.h"

namespace kw {
namespace {

// The few declarations of nvml.h that are needed; the header does not come with the packages we use.
using NvmlDevice = void*;
constexpr int clock_sm = 1, clock_memory = 2, temperature_gpu = 0;
constexpr unsigned long long reason_software_power = 0x4, reason_hardware_slowdown = 0x8,
                             reason_software_thermal = 0x20, reason_hardware_thermal = 0x40, reason_power_brake = 0x80;

struct Library {
  int (*init)() = nullptr;
  int (*by_uuid)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  int (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
};

Result<Library> load() {
  const auto nvml = SharedLibrary::open("libnvidia-ml.so.1");
  if (!nvml.ok()) return Error{"libnvidia-ml.so.1 cannot be loaded", "", {}};
  Library library;
  const auto find = [&](auto& function, const char* name) { return nvml->find(function, name); };
  const bool found = find(library.init, "nvmlInit_v2") && find(library.by_uuid, "nvmlDeviceGetHandleByUUID") &&
                     find(library.clock, "nvmlDeviceGetClockInfo") &&
                     find(library.temperature, "nvmlDeviceGetTemperature") &&
                     find(library.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  if (!found || library.init() != 0) return Error{"the NVIDIA management library does not work", "", {}};
  return library;
}

// "GPU-01234567-89ab-..."
std::string with_dashes(const std::string& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    text += uuid[i];
  }
  return text;
}

}  // namespace

Result<ClockState> read_clock_state(const std::string& uuid) {
  static const Result<Library> library = load();
  static std::mutex mutex;
  if (!library.ok()) return library.error();
  std::lock_guard lock(mutex);
  NvmlDevice device = nullptr;
  if (library->by_uuid(with_dashes(uuid).c_str(), &device) != 0) return Error{"no such GPU", "", {}};
  const auto number = [&](const auto& function, int which) {
    unsigned value = 0;
    return function(device, which, &value) == 0 ? static_cast<int>(value) : 0;
  };
  ClockState state;
  state.sm_clock_mhz = number(library->clock, clock_sm);
  state.memory_clock_mhz = number(library->clock, clock_memory);
  state.temperature_c = number(library->temperature, temperature_gpu);
  unsigned long long reasons = 0;
  if (library->reasons(device, &reasons) == 0) {
    if ((reasons & (reason_software_power | reason_power_brake)) != 0) state.throttled = "power cap";
    if ((reasons & (reason_software_thermal | reason_hardware_thermal)) != 0) state.throttled = "thermal";
    if (state.throttled.empty() && (reasons & reason_hardware_slowdown) != 0) state.throttled = "hardware slowdown";
  }
  return state;
}

}  // namespace kw
