#include "kernel/performance/cache_replay.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernel/performance/access_cost.h"

namespace kw {
namespace {

constexpr std::size_t ways = 8;
constexpr std::uint64_t sectors_per_line = line_bytes / sector_bytes;

// Lines of four sectors, least recently used out first; loads allocate, stores write through.
class SectorCache {
 public:
  explicit SectorCache(double bytes) {
    const double sets = bytes / line_bytes / ways;
    sets_ = std::max<std::size_t>(1, static_cast<std::size_t>(sets));
    lines_.resize(sets_ * ways);
  }

  // True: it was there. A load brings it in.
  bool load(std::uint64_t sector) {
    const std::uint64_t line = sector / sectors_per_line;
    const auto bit = static_cast<std::uint8_t>(1u << (sector % sectors_per_line));
    // Neighbouring lines fall into different sets; the upper bits are mixed in as hardware does against power-of-two
    // strides.
    const std::size_t set = (line ^ (line >> 9) ^ (line >> 18)) % sets_;
    Line* oldest = &lines_[set * ways];
    for (std::size_t way = 0; way < ways; ++way) {
      Line& here = lines_[set * ways + way];
      if (here.valid != 0 && here.tag == line) {
        here.used = ++clock_;
        const bool hit = (here.valid & bit) != 0;
        here.valid |= bit;
        return hit;
      }
      if (here.valid == 0 ? oldest->valid != 0 : oldest->valid != 0 && here.used < oldest->used) oldest = &here;
    }
    *oldest = {line, ++clock_, bit};
    return false;
  }

 private:
  struct Line {
    std::uint64_t tag = 0;
    std::uint64_t used = 0;
    std::uint8_t valid = 0;
  };
  std::size_t sets_ = 1;
  std::uint64_t clock_ = 0;
  std::vector<Line> lines_;
};

}  // namespace

CacheReplay replay_caches(BlockTrace& trace, const CacheShare& share) {
  using Kind = ObservedAccess::Kind;
  CacheReplay result;
  std::vector<std::uint32_t> order;
  order.reserve(trace.accesses.size());
  for (std::uint32_t i = 0; i < trace.accesses.size(); ++i)
    if (trace.accesses[i].sectors != 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.accesses[a].issued_at < trace.accesses[b].issued_at;
  });
  SectorCache cache(share.l1_bytes);
  struct Touch {
    std::uint32_t moment = 0;  // in sectors that had missed by then
    std::uint8_t how = 0;
  };
  std::unordered_map<std::uint64_t, Touch> touched;
  touched.reserve(trace.sectors.size());
  std::uint32_t missed_so_far = 0;
  const double far = share.l2_bytes / sector_bytes;
  for (std::uint32_t i : order) {
    TraceAccess& access = trace.accesses[i];
    const double weight = access.weight;
    const bool store = access.kind == Kind::store || access.kind == Kind::matrix_store;
    const bool atomic = access.kind == Kind::atomic || access.kind == Kind::reduction;
    AllocationUse* use = access.allocation < 0 ? nullptr : &result.uses[access.allocation];
    access.missed_sectors = 0;
    for (std::uint32_t k = 0; k < access.sectors; ++k) {
      const std::uint64_t sector = trace.sectors[access.first_sector + k];
      auto [entry, fresh] = touched.try_emplace(sector);
      Touch& touch = entry->second;
      if (store || atomic) {
        result.l2_store_sectors += weight;
        if (use != nullptr && (touch.how & 2) == 0) use->written += weight;
        if (use != nullptr && atomic && fresh) use->read += weight;
        touch.how |= 2;
        if (fresh) touch.moment = missed_so_far;
        continue;
      }
      // Asynchronous copies of 16 bytes go past the L1; smaller ones are rare.
      const bool hit = access.kind != Kind::copy_async && cache.load(sector);
      // The L2 is asked again; that a warp waits for it is left out, because most such loads wait for another block
      // anyway, for a time that nobody knows.
      if (hit && access.past_l1) result.l2_load_sectors += weight;
      if (hit) continue;
      access.missed_sectors += 1;
      result.l2_load_sectors += weight;
      ++missed_so_far;
      if (fresh && use != nullptr) use->read += weight;
      if (!fresh && missed_so_far - touch.moment > far && use != nullptr) result.far_sectors += weight;
      touch.moment = missed_so_far;
      touch.how |= 1;
    }
  }
  result.touched.reserve(touched.size());
  for (const auto& [sector, touch] : touched) result.touched.emplace(sector, touch.how);
  return result;
}

}  // namespace kw
