#pragma once
// What neighbouring blocks share, seen in pairs of blocks at secret places.

#include <array>
#include <map>

#include "kernel/performance/block_sample.h"

namespace kw {

class BlockSharing {
 public:
  BlockSharing(DeviceMemory& memory, BlockSampler& sampler, KernelProfile& profile)
      : memory_(memory), sampler_(sampler), profile_(profile) {}

  // Looks at the base's neighbours and, where they share, at blocks farther away. With a second base, only at its
  // neighbours in the dimensions that the first one shared in. `seen` is told of every block that was run.
  template <class Seen>
  Result<void> look_around(const SampledBlock& base, std::uint64_t random, Seen seen);

  // Into the profile's allocations.
  void finish();

 private:
  using Place = std::array<std::uint64_t, 3>;
  using Shares = std::map<std::int32_t, double>;  // by allocation: the part of the base's sectors

  Place place_of(std::uint64_t number) const;
  std::uint64_t number_of(const Place& at) const;
  Shares common(const SampledBlock& base, const SampledBlock& other) const;
  static double largest(const Shares& shares);

  struct Dimension {
    std::map<std::int32_t, std::vector<double>> near;  // of each base
    std::map<std::int32_t, double> group;
    bool shared = false;
  };

  DeviceMemory& memory_;
  BlockSampler& sampler_;
  KernelProfile& profile_;
  std::array<Dimension, 3> dimensions_;
  int bases_ = 0;
};

template <class Seen>
Result<void> BlockSharing::look_around(const SampledBlock& base, std::uint64_t random, Seen seen) {
  constexpr double worth_looking = 0.05, mostly = 0.5;
  const bool first = bases_++ == 0;
  const Place at = place_of(base.number);
  for (std::size_t d = 0; d < 3; ++d) {
    const std::uint64_t size = profile_.grid[d];
    Dimension& dimension = dimensions_[d];
    if (size < 2 || (!first && !dimension.shared)) continue;
    const auto sample = [&](std::uint64_t offset) -> Result<Shares> {
      Place other = at;
      other[d] += at[d] + offset < size ? offset : -offset;
      KW_TRY(const SampledBlock block, sampler_.touch(number_of(other)));
      seen(block, offset == 1);
      return common(base, block);
    };
    KW_TRY(const Shares near, sample(1));
    for (const auto& [allocation, part] : near) dimension.near[allocation].push_back(part);
    dimension.shared |= largest(near) > worth_looking;
    // Sharing with the next block may be sharing with all, or with a few: a row of a matrix, say, that eight blocks
    // work on. Only the first base looks at how many.
    if (!first || size < 4) continue;
    const bool any = std::any_of(near.begin(), near.end(), [](const auto& each) { return each.second > mostly; });
    if (!any) continue;
    const std::uint64_t most = std::max(at[d], size - 1 - at[d]);
    std::uint64_t low = 1, high = std::max<std::uint64_t>(2, most / 2 + random % (most - most / 2));
    KW_TRY(Shares far, sample(high));
    for (const auto& [allocation, part] : near) {
      if (part <= mostly || far[allocation] > part / 2) continue;
      for (; high > 2 * low;) {
        std::uint64_t middle = low;
        while (middle * middle < low * high) ++middle;
        KW_TRY(const Shares there, sample(middle));
        const auto found = there.find(allocation);
        (found != there.end() && found->second > part / 2 ? low : high) = middle;
      }
      dimension.group[allocation] = static_cast<double>(high);
      break;  // others are shared by as many; looking at each would take long
    }
    if (dimension.group.empty()) continue;
    const double group = dimension.group.begin()->second;
    for (const auto& [allocation, part] : near)
      if (part > mostly && far[allocation] <= part / 2) dimension.group[allocation] = group;
  }
  return {};
}

}  // namespace kw
