#include "kernel/performance/access_cost.h"

#include <algorithm>

namespace kw {
namespace {

template <class Visit>
void for_active(const ObservedAccess& access, Visit visit) {
  for (LaneMask left = access.active; left != 0; left &= left - 1)
    visit(access.addresses[static_cast<std::size_t>(__builtin_ctz(left))]);
}

}  // namespace

std::uint32_t distinct_addresses(const ObservedAccess& access) {
  std::array<std::uint64_t, warp_lanes> sorted;
  std::size_t count = 0;
  for_active(access, [&](std::uint64_t address) { sorted[count++] = address; });
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
  return static_cast<std::uint32_t>(std::unique(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count)) -
                                    sorted.begin());
}

std::uint32_t collect_sectors(const ObservedAccess& access, std::vector<std::uint64_t>& sectors) {
  const std::size_t start = sectors.size();
  bool rising = true;
  for_active(access, [&](std::uint64_t address) {
    const std::uint64_t last = (address + access.bytes - 1) / sector_bytes;
    for (std::uint64_t sector = address / sector_bytes; sector <= last; ++sector) {
      if (sectors.size() > start && sectors.back() == sector) continue;
      if (sectors.size() > start && sectors.back() > sector) rising = false;
      sectors.push_back(sector);
    }
  });
  const auto begin = sectors.begin() + static_cast<std::ptrdiff_t>(start);
  if (!rising) {
    std::sort(begin, sectors.end());
    sectors.erase(std::unique(begin, sectors.end()), sectors.end());
  }
  std::uint32_t lines = 0;
  std::uint64_t line = ~std::uint64_t{0};
  for (std::size_t i = start; i < sectors.size(); ++i) {
    const std::uint64_t here = sectors[i] / (line_bytes / sector_bytes);
    lines += here != line ? 1 : 0;
    line = here;
  }
  return lines;
}

std::uint32_t fewest_sectors(const ObservedAccess& access) {
  return std::max<std::uint32_t>(1, (distinct_addresses(access) * access.bytes + sector_bytes - 1) / sector_bytes);
}

std::uint32_t shared_wavefronts(const ObservedAccess& access) {
  const int group = static_cast<int>(std::clamp<std::uint32_t>(line_bytes / std::max(access.bytes, 1u), 1, warp_lanes));
  std::uint32_t total = 0;
  for (int first = 0; first < warp_lanes; first += group) {
    std::array<std::uint64_t, 2 * warp_lanes> words;
    std::size_t count = 0;
    for (int lane = first; lane < first + group; ++lane) {
      if (((access.active >> lane) & 1) == 0) continue;
      const std::uint64_t address = access.addresses[static_cast<std::size_t>(lane)];
      for (std::uint64_t word = address / 4; word <= (address + access.bytes - 1) / 4 && count < words.size(); ++word)
        words[count++] = word;
    }
    if (count == 0) continue;
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(count);
    if (!std::is_sorted(words.begin(), end)) std::sort(words.begin(), end);
    std::array<std::uint8_t, 32> in_bank{};
    std::uint32_t busiest = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (i == 0 || words[i] != words[i - 1]) busiest = std::max<std::uint32_t>(busiest, ++in_bank[words[i] % 32]);
    total += busiest;
  }
  return total;
}

std::uint32_t fewest_wavefronts(const ObservedAccess& access) {
  return std::max<std::uint32_t>(1, (distinct_addresses(access) * access.bytes + line_bytes - 1) / line_bytes);
}

std::uint32_t same_address_lanes(const ObservedAccess& access) {
  std::array<std::uint64_t, warp_lanes> sorted;
  std::size_t count = 0;
  for_active(access, [&](std::uint64_t address) { sorted[count++] = address; });
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
  std::uint32_t most = 0, run = 0;
  for (std::size_t i = 0; i < count; ++i) {
    run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    most = std::max(most, run);
  }
  return most;
}

}  // namespace kw
