#pragma once
// Clocks, temperature and throttling of a GPU, as the driver's management library tells.

#include <string>

#include "base/result.h"

namespace kw {

struct ClockState {
  int sm_clock_mhz = 0;
  int memory_clock_mhz = 0;
  int temperature_c = 0;
  std::string throttled;  // "power cap", "thermal"; empty: not
};

// The GPU with this UUID (32 hexadecimal digits). An error when the library is not there or refuses.
Result<ClockState> read_clock_state(const std::string& uuid);

}  // namespace kw
