#include "kernel/performance/block_trace.h"

#include <algorithm>

#include "kernel/performance/access_cost.h"

namespace kw {
namespace {

// Of one block. Each store may touch a page of its own, so the later ones are counted but not made.
constexpr std::size_t most_store_sectors = 100'000;
constexpr std::size_t most_sectors = 4'000'000;  // then accesses are left out, and the block is not complete
// Measured on an H200 with tables of 2 and 16 KiB that are read at random (tests/exploits/time): 10 to 12.
constexpr std::uint32_t constant_pass_cycles = 11;
constexpr std::uint64_t local_sectors = std::uint64_t{1} << 50;  // numbers for local memory, far from global sectors
constexpr std::uint64_t local_sectors_of_warp = std::uint64_t{1} << 24;

// Local memory is interleaved by words, so that equal addresses of the lanes lie side by side.
ObservedAccess interleaved(const ObservedAccess& access, std::uint32_t warp) {
  ObservedAccess physical = access;
  for (std::size_t lane = 0; lane < warp_lanes; ++lane)
    physical.addresses[lane] = (local_sectors + warp * local_sectors_of_warp) * sector_bytes +
                               access.addresses[lane] / 4 * 128 + lane * access.bytes;
  return physical;
}

template <class T>
T narrow(std::uint32_t value) {
  return static_cast<T>(std::min<std::uint32_t>(value, static_cast<T>(~T{0})));
}

}  // namespace

void BlockRecorder::begin_block(std::uint32_t warps, const LoopBudget& budget) {
  cutter_.begin_block(warps, budget);
  trace_ = {};
  store_sectors_ = 0;
  trace_.warps.resize(warps);
}

std::int32_t BlockRecorder::allocation_of(std::uint64_t address) {
  if (last_allocation_ == nullptr || address - last_allocation_->base >= last_allocation_->bytes)
    last_allocation_ = memory_->find(address);
  return last_allocation_ == nullptr ? -1 : last_allocation_->index;
}

void BlockRecorder::record(std::uint32_t warp, std::uint32_t number, const ObservedAccess& access, float weight) {
  TraceAccess out;
  out.instruction = number;
  out.warp = warp;
  out.kind = access.kind;
  out.space = access.space;
  out.weight = weight;
  out.past_l1 = code_->instructions[number].past_l1;
  out.lanes = static_cast<std::uint8_t>(__builtin_popcount(access.active));
  const bool atomic = access.kind == ObservedAccess::Kind::atomic || access.kind == ObservedAccess::Kind::reduction;
  if (atomic) out.same_address = narrow<std::uint16_t>(same_address_lanes(access));
  if (access.space == PtxSpace::shared) {
    out.wavefronts = narrow<std::uint16_t>(shared_wavefronts(access));
    out.fewest_wavefronts = narrow<std::uint16_t>(fewest_wavefronts(access));
  } else if (access.space == PtxSpace::global || access.space == PtxSpace::local) {
    const bool local = access.space == PtxSpace::local;
    const std::uint64_t first = access.addresses[static_cast<std::size_t>(__builtin_ctz(access.active))];
    if (!local) out.allocation = allocation_of(first);
    if (!local && out.allocation < 0) return;  // a wrong access, which is left out
    out.first_sector = static_cast<std::uint32_t>(trace_.sectors.size());
    out.lines = narrow<std::uint16_t>(collect_sectors(local ? interleaved(access, warp) : access, trace_.sectors));
    out.sectors = narrow<std::uint16_t>(static_cast<std::uint32_t>(trace_.sectors.size()) - out.first_sector);
    out.bank_passes = narrow<std::uint16_t>(shared_wavefronts(local ? interleaved(access, warp) : access));
    out.fewest_sectors = narrow<std::uint16_t>(local ? out.sectors : fewest_sectors(access));
    if (atomic && !local)
      for (LaneMask left = access.active; left != 0; left &= left - 1)
        trace_.atomic_addresses.emplace_back(access.addresses[static_cast<std::size_t>(__builtin_ctz(left))], weight);
  } else {
    // Constants and parameters: one pass for each different address, and a long one.
    out.wavefronts = narrow<std::uint16_t>(1 + constant_pass_cycles * (std::max(1u, distinct_addresses(access)) - 1));
    out.fewest_wavefronts = 1;
  }
  cutter_.add_sectors(warp, out.sectors);
  trace_.accesses.push_back(out);
}

// An iteration that is only looked at.
void BlockRecorder::compare(Warp& warp, const Instruction& instruction, LaneMask active) {
  std::array<ObservedAccess, most_observed_accesses> accesses;
  const std::size_t count = observed_accesses(warp, instruction, active, accesses);
  std::vector<std::uint64_t> sectors;
  for (std::size_t i = 0; i < count; ++i) {
    const ObservedAccess& access = accesses[i];
    if (access.space == PtxSpace::local) collect_sectors(interleaved(access, warp.index), sectors);
    if (access.space != PtxSpace::global) continue;
    const std::uint64_t first = access.addresses[static_cast<std::size_t>(__builtin_ctz(access.active))];
    if (allocation_of(first) >= 0) collect_sectors(access, sectors);
  }
  cutter_.add_sectors(warp.index, static_cast<double>(sectors.size()));
}

LaneMask BlockRecorder::executes(Warp& warp, const Instruction& instruction, LaneMask, LaneMask active) {
  if (warp.frame->function != last_function_) {
    last_function_ = warp.frame->function;
    last_first_ = code_->first_of.find(last_function_)->second;
  }
  const std::uint32_t number = last_first_ + static_cast<std::uint32_t>(&instruction - last_function_->code.data());
  const StaticInstruction& known = code_->instructions[number];
  cutter_.count(warp.index);
  TraceEntry entry;
  entry.instruction = number;
  entry.weight = static_cast<float>(cutter_.weight(warp.index));
  entry.lanes = static_cast<std::uint8_t>(__builtin_popcount(active));
  if (known.compare >= 0) cutter_.at_compare(warp, known, active);
  if (known.loop >= 0) active = cutter_.at_branch(warp, known, active);
  if (known.memory && !trace_.complete) active = 0;
  if (cutter_.unrecorded(warp.index)) {
    if (known.memory && active != 0) compare(warp, instruction, active);
    return active;
  }
  if (known.memory && active != 0) {
    std::array<ObservedAccess, most_observed_accesses> accesses;
    const std::size_t count = observed_accesses(warp, instruction, active, accesses);
    entry.access = static_cast<std::uint32_t>(trace_.accesses.size());
    for (std::size_t i = 0; i < count; ++i) record(warp.index, number, accesses[i], entry.weight);
    entry.accesses = static_cast<std::uint8_t>(trace_.accesses.size() - entry.access);
    if (trace_.sectors.size() > most_sectors) {
      trace_.complete = false;
      active = 0;
    } else if (known.store && entry.accesses != 0 && accesses[0].space == PtxSpace::global) {
      store_sectors_ += trace_.accesses[entry.access].sectors;
      if (store_sectors_ > most_store_sectors) active = 0;
    }
  }
  trace_.warps[warp.index].push_back(entry);
  return active;
}

}  // namespace kw
