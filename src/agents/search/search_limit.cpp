#include "agents/search/search_limit.h"

#include <cmath>

#include <fmt/format.h>

#include "kernel/judge/floor.h"

namespace kw {

SearchLimit search_limit(const Task& task, const DeviceProfile& profile) {
  DeviceCeiling ceiling = ceiling_of(profile);
  if (!(profile.dram_gb_per_s > 0) || task.sizes_train.empty()) return {};
  ceiling.dram_gb_per_s = profile.dram_gb_per_s;
  SearchLimit limit;
  double logarithms = 0;
  for (const Sizes& sizes : task.sizes_train) {
    const Floor floor = floor_of(task, sizes, ceiling, 1);
    if (!(floor.us > 0)) return {};
    logarithms += std::log(floor.us + profile.launch_us);
    if (limit.what.empty()) limit.what = fmt::format("{}, and a launch of {:.1f} us", floor.what, profile.launch_us);
  }
  limit.us = std::exp(logarithms / static_cast<double>(task.sizes_train.size()));
  return limit;
}

}  // namespace kw
