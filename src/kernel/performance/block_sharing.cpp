#include "kernel/performance/block_sharing.h"

#include <algorithm>

#include "kernel/performance/access_cost.h"

namespace kw {

BlockSharing::Place BlockSharing::place_of(std::uint64_t number) const {
  const auto& grid = profile_.grid;
  return {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
}

std::uint64_t BlockSharing::number_of(const Place& at) const {
  return (at[2] * profile_.grid[1] + at[1]) * profile_.grid[0] + at[0];
}

BlockSharing::Shares BlockSharing::common(const SampledBlock& base, const SampledBlock& other) const {
  std::map<std::int32_t, std::pair<double, double>> counts;  // all, common
  for (const auto& [sector, how] : base.replay.touched) {
    const Allocation* allocation = memory_.find(sector * sector_bytes);
    if (allocation == nullptr) continue;
    auto& [all, common] = counts[allocation->index];
    all += 1;
    common += other.replay.touched.count(sector) != 0 ? 1 : 0;
  }
  Shares shares;
  for (const auto& [index, count] : counts) shares[index] = count.second / count.first;
  return shares;
}

double BlockSharing::largest(const Shares& shares) {
  double most = 0;
  for (const auto& [allocation, part] : shares) most = std::max(most, part);
  return most;
}

// Where pairs differ, the one that shares least is believed: the others may be made to look alike.
void BlockSharing::finish() {
  for (std::size_t d = 0; d < 3; ++d) {
    for (const auto& [allocation, parts] : dimensions_[d].near)
      profile_.allocations[allocation].shared_with_neighbour[d] = *std::min_element(parts.begin(), parts.end());
    for (const auto& [allocation, group] : dimensions_[d].group) profile_.allocations[allocation].group[d] = group;
  }
}

}  // namespace kw
