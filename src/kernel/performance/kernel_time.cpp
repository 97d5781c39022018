#include "kernel/performance/kernel_time.h"

#include <algorithm>
#include <cmath>

#include "kernel/performance/access_cost.h"

namespace kw {
namespace {

constexpr double few_rounds = 4;  // with fewer, blocks start and end together; with more, they drift apart

struct DramTraffic {
  double read_bytes = 0;
  double written_bytes = 0;
};

// Different sectors that `extent` blocks touch together.
double distinct(double own, const AllocationProfile& allocation, const std::array<double, 3>& extent) {
  double factor = 1;
  for (std::size_t d = 0; d < 3; ++d) factor *= allocation.along(d, extent[d]);
  return std::min(own * factor, std::ceil(static_cast<double>(allocation.bytes) / sector_bytes));
}

// The part that is still there after `bytes` of other data have passed: hashing and a policy other than strict LRU
// soften the edge.
double kept(double bytes, double l2_bytes) { return bytes <= 0 ? 1 : std::clamp(2 * l2_bytes / bytes - 1, 0.0, 1.0); }

using Extent = std::array<double, 3>;

// Blocks start in linear order, x fastest: what `count` of them cover.
Extent consecutive(double count, const Extent& grid) {
  return {std::min(grid[0], count), std::clamp(std::ceil(count / grid[0]), 1.0, grid[1]),
          std::clamp(std::ceil(count / (grid[0] * grid[1])), 1.0, grid[2])};
}

double footprint_bytes(const KernelCounts& profile, const Extent& extent) {
  double sectors = 0;
  for (const auto& [index, allocation] : profile.allocations)
    sectors += std::max(distinct(allocation.use.read, allocation, extent),
                        distinct(allocation.use.written, allocation, extent));
  return sectors * sector_bytes;
}

// What the second-level cache fetches and writes back: everything once, and again what is wanted after more than the
// cache holds has passed. Neighbours in x run at the same time; those in y and z come after a row or a plane of blocks.
// Data that is shared in other ways (tables, gathers) is revisited at even distances.
DramTraffic dram_traffic(const DeviceProfile& device, const KernelCounts& profile, ResidentData& resident) {
  const double l2_bytes = device.l2_mib * 1048576;
  const Extent grid{static_cast<double>(profile.grid[0]), static_cast<double>(profile.grid[1]),
                    static_cast<double>(profile.grid[2])};
  const double on_device =
      std::min(profile.blocks, profile.resident_blocks * static_cast<double>(device.multiprocessors));
  const double row = std::max(grid[0], on_device), plane = std::max(grid[0] * grid[1], on_device);
  const double kept_row = row <= on_device ? 1 : kept(footprint_bytes(profile, consecutive(row, grid)), l2_bytes);
  const double kept_plane = plane <= on_device ? 1 : kept(footprint_bytes(profile, consecutive(plane, grid)), l2_bytes);
  const double all_bytes = profile.blocks * (profile.l2_load_sectors + profile.l2_store_sectors) * sector_bytes;
  DramTraffic traffic;
  for (const auto& [index, allocation] : profile.allocations) {
    const double limit = std::ceil(static_cast<double>(allocation.bytes) / sector_bytes);
    const double along_x = allocation.use.read * allocation.along(0, grid[0]);
    const double fetched = along_x * allocation.along(1, grid[1]) * allocation.along(2, grid[2]);
    const double fetched_again =
        along_x * allocation.along(1, grid[1], kept_row) * allocation.along(2, grid[2], kept_plane) - fetched;
    const double once = std::min(fetched, limit);
    const double visits = fetched / std::max(once, 1.0);
    const double elsewhere = (fetched - once) * (1 - kept(all_bytes / visits, l2_bytes));
    const double there = resident.fraction(index, once * sector_bytes);
    traffic.read_bytes += (once * (1 - there) + elsewhere + fetched_again) * sector_bytes;
    traffic.written_bytes += distinct(allocation.use.written, allocation, grid) * sector_bytes;
  }
  const double kept_wave = kept(footprint_bytes(profile, consecutive(on_device, grid)), l2_bytes);
  traffic.read_bytes += profile.blocks * profile.far_sectors * (1 - kept_wave) * sector_bytes;
  // No more can be fetched than is asked for.
  traffic.read_bytes = std::min(traffic.read_bytes, profile.blocks * profile.l2_load_sectors * sector_bytes +
                                                        profile.blocks * profile.atomic_sectors * sector_bytes);
  for (const auto& [index, allocation] : profile.allocations)
    resident.touch(index, std::max(distinct(allocation.use.read, allocation, grid),
                                   distinct(allocation.use.written, allocation, grid)) *
                              sector_bytes);
  return traffic;
}

}  // namespace

double ResidentData::fraction(std::int32_t allocation, double bytes) const {
  const auto last = last_touch_.find(allocation);
  if (last == last_touch_.end()) return 0;
  const double touched = bytes > 0 ? std::min(1.0, last->second.bytes / bytes) : 1;
  const double passed = touched_bytes_ - last->second.moment + bytes;
  return passed <= l2_bytes_ ? touched : touched * l2_bytes_ / passed / 2;
}

void ResidentData::touch(std::int32_t allocation, double bytes) {
  touched_bytes_ += bytes;
  last_touch_[allocation] = {touched_bytes_, bytes};
}

double read_bytes(const KernelCounts& profile, const AllocationProfile& allocation) {
  const Extent grid{static_cast<double>(profile.grid[0]), static_cast<double>(profile.grid[1]),
                    static_cast<double>(profile.grid[2])};
  return distinct(allocation.use.read, allocation, grid) * sector_bytes;
}

KernelTime kernel_time(const DeviceProfile& device, const KernelCounts& profile, ResidentData& resident) {
  const double sms = device.multiprocessors;
  double per_sm = std::ceil(profile.blocks / sms);  // on the busiest
  const double full = per_sm / profile.resident_blocks;
  const double rounds = full < few_rounds ? std::ceil(full) : full;
  // In a single round the longest block decides; later ones even out.
  if (rounds <= 1) per_sm = std::min(per_sm * profile.longest_chain_ratio, profile.blocks);
  const double us_per_cycle = 1e-3 / device.clock_ghz;
  KernelTime result;
  auto term = [&](std::string name, double us) { result.terms.push_back({std::move(name), us}); };

  term("issue", per_sm * profile.issue_slots / device.issue_per_cycle * us_per_cycle);
  for (std::size_t i = 0; i < pipe_count; ++i)
    term(std::string(name_of(static_cast<Pipe>(i))),
         per_sm * profile.pipe_lanes[i] / device.lanes_per_cycle[i] * us_per_cycle);
  // Shared memory and the first-level cache are the same memory behind the same port.
  const double shared = profile.shared_wavefronts / device.shared_wavefronts_per_cycle +
                        profile.shared_atomic_turns * device.shared_atomic_cycles;
  const double l1 = l1_cycles(device, profile);
  term(shared >= l1 ? "shared memory" : "l1 throughput", per_sm * (shared + l1) * us_per_cycle);

  const double l2_block_bytes = (profile.l2_load_sectors + profile.l2_store_sectors) * sector_bytes;
  result.l2_bytes = profile.blocks * l2_block_bytes;
  term("l2 bandwidth", std::max(result.l2_bytes / device.l2_gb_per_s * 1e-3,
                                per_sm * l2_block_bytes / device.l2_bytes_per_cycle_and_sm * us_per_cycle));
  const DramTraffic traffic = dram_traffic(device, profile, resident);
  result.dram_bytes = traffic.read_bytes + traffic.written_bytes;
  // The first pages are looked up and the queues filled before DRAM is busy; what is over sooner ramps up less.
  const double streaming_us = result.dram_bytes / device.dram_gb_per_s * 1e-3;
  const double ramp_us = device.dram_ramp_us * streaming_us / (streaming_us + device.dram_ramp_us);
  term("dram bandwidth", streaming_us + ramp_us);

  const double l2_load_bytes = profile.blocks * profile.l2_load_sectors * sector_bytes;
  const double from_dram = l2_load_bytes > 0 ? std::min(1.0, traffic.read_bytes / l2_load_bytes) : 0;
  const double chain_l2 = chain_cycles(device, profile, profile.chain_l2);
  double chain = chain_l2 + from_dram * (chain_cycles(device, profile, profile.chain_dram) - chain_l2);
  if (rounds <= 1) chain *= profile.longest_chain_ratio;
  term("latency", rounds * chain * us_per_cycle);
  term("block launches", profile.blocks / device.blocks_per_ns * 1e-3);

  // A line lives in one slice of the L2, which works on one sector of it at a time.
  const double atomic_ns = std::max({profile.hottest_updates * device.atomic_same_address_ns,
                                     profile.hottest_line_sectors * device.atomic_line_ns,
                                     profile.blocks * profile.atomic_sectors / device.atomic_sectors_per_ns});
  term("atomics", atomic_ns * 1e-3);

  double largest = 0;
  for (const TimeTerm& one : result.terms) {
    if (one.us <= largest) continue;
    largest = one.us;
    result.limiter = one.name;
  }
  double sum = 0;
  for (const TimeTerm& one : result.terms)
    if (largest > 0) sum += std::pow(one.us / largest, device.norm_exponent);
  result.us = largest > 0 ? largest * std::pow(sum, 1 / device.norm_exponent) : 0;
  if (profile.longest_block != nullptr) {
    ResidentData nothing(device.l2_mib * 1048576);
    const KernelTime alone = kernel_time(device, *profile.longest_block, nothing);
    if (alone.us > result.us) {
      result.us = alone.us;
      result.limiter = alone.limiter;
      term("longest block", alone.us);
    }
  }
  return result;
}

}  // namespace kw
