#include "performance/kernel_time.h"

#include <algorithm>
#include <cmath>

#include "performance/access_cost.h"

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
  for (std::size_t d = 0; d < 3; ++d) factor *= 1 + (extent[d] - 1) * (1 - allocation.shared_with_neighbour[d]);
  return std::min(own * factor, std::ceil(static_cast<double>(allocation.bytes) / sector_bytes));
}

// What the second-level cache fetches and writes back. Everything once; and again what comes back after more than the
// cache holds has passed: between waves of blocks, or within a block.
DramTraffic dram_traffic(const DeviceProfile& device, const KernelProfile& profile, ResidentData& resident) {
  const double on_device =
      std::min(profile.blocks, profile.resident_blocks * static_cast<double>(device.multiprocessors));
  const double waves = std::max(1.0, profile.blocks / on_device);
  const std::array<double, 3> grid{static_cast<double>(profile.grid[0]), static_cast<double>(profile.grid[1]),
                                   static_cast<double>(profile.grid[2])};
  // Blocks start in linear order, x fastest.
  const std::array<double, 3> wave{std::min(grid[0], on_device),
                                   std::clamp(std::ceil(on_device / grid[0]), 1.0, grid[1]),
                                   std::clamp(std::ceil(on_device / (grid[0] * grid[1])), 1.0, grid[2])};
  double wave_bytes = 0;
  for (const auto& [index, allocation] : profile.allocations)
    wave_bytes +=
        (distinct(allocation.use.read, allocation, wave) + distinct(allocation.use.written, allocation, wave)) *
        sector_bytes;
  const double l2_bytes = device.l2_mib * 1048576;
  const double lost = wave_bytes > l2_bytes ? 1 - l2_bytes / wave_bytes : 0;
  DramTraffic traffic;
  for (const auto& [index, allocation] : profile.allocations) {
    const double once = distinct(allocation.use.read, allocation, grid);
    const double by_waves = waves * distinct(allocation.use.read, allocation, wave);
    const double again = std::max(0.0, std::min(by_waves, profile.blocks * allocation.use.read) - once);
    const double there = resident.fraction(index, once * sector_bytes);
    traffic.read_bytes += (once * (1 - there) + again * lost) * sector_bytes;
    traffic.written_bytes += distinct(allocation.use.written, allocation, grid) * sector_bytes;
  }
  traffic.read_bytes += profile.blocks * profile.far_sectors * lost * sector_bytes;
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
  const double passed = touched_bytes_ - last->second + bytes;
  return passed <= l2_bytes_ ? 1 : l2_bytes_ / passed / 2;
}

void ResidentData::touch(std::int32_t allocation, double bytes) {
  touched_bytes_ += bytes;
  last_touch_[allocation] = touched_bytes_;
}

KernelTime kernel_time(const DeviceProfile& device, const KernelProfile& profile, ResidentData& resident) {
  const double sms = device.multiprocessors;
  const double per_sm = std::ceil(profile.blocks / sms);  // on the busiest
  const double us_per_cycle = 1e-3 / device.clock_ghz;
  KernelTime result;
  auto term = [&](std::string name, double us) { result.terms.push_back({std::move(name), us}); };

  term("issue", per_sm * profile.issue_slots / device.issue_per_cycle * us_per_cycle);
  for (std::size_t i = 0; i < pipe_count; ++i)
    term(std::string(name_of(static_cast<Pipe>(i))), per_sm * profile.pipe_cycles[i] * us_per_cycle);
  // Shared memory and the first-level cache are the same memory behind the same port.
  const double shared = profile.shared_wavefronts / device.shared_wavefronts_per_cycle;
  term(shared >= profile.l1_cycles ? "shared memory" : "l1 throughput",
       per_sm * (shared + profile.l1_cycles) * us_per_cycle);

  const double l2_block_bytes = (profile.l2_load_sectors + profile.l2_store_sectors) * sector_bytes;
  result.l2_bytes = profile.blocks * l2_block_bytes;
  term("l2 bandwidth", std::max(result.l2_bytes / device.l2_gb_per_s * 1e-3,
                                per_sm * l2_block_bytes / device.l2_bytes_per_cycle_and_sm * us_per_cycle));
  const DramTraffic traffic = dram_traffic(device, profile, resident);
  result.dram_bytes = traffic.read_bytes + traffic.written_bytes;
  term("dram bandwidth", result.dram_bytes / device.dram_gb_per_s * 1e-3);

  const double l2_load_bytes = profile.blocks * profile.l2_load_sectors * sector_bytes;
  const double from_dram = l2_load_bytes > 0 ? std::min(1.0, traffic.read_bytes / l2_load_bytes) : 0;
  double chain = profile.chain_l2_cycles + from_dram * (profile.chain_dram_cycles - profile.chain_l2_cycles);
  const double full = per_sm / profile.resident_blocks;
  const double rounds = full < few_rounds ? std::ceil(full) : full;
  if (rounds <= 1) chain *= profile.longest_chain_ratio;
  term("latency", rounds * chain * us_per_cycle);

  const double atomic_us = std::max(profile.hottest_updates * device.atomic_same_address_ns,
                                    profile.blocks * profile.atomic_sectors / device.atomic_sectors_per_ns) *
                           1e-3;
  term("atomics", atomic_us);

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
  return result;
}

}  // namespace kw
