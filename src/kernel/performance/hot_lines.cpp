#include "kernel/performance/hot_lines.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "kernel/performance/access_cost.h"

namespace kw {
namespace {

struct LineCost {
  double cost = 0;
  const StaticInstruction* worst = nullptr;
  const InstructionProfile* worst_profile = nullptr;
  double worst_cost = 0;
};

// What one instruction adds to each of the terms, weighed by how much the term matters.
double cost_of(const DeviceProfile& device, const KernelProfile& profile, const KernelTime& time,
               const StaticInstruction& known, const InstructionProfile& own) {
  double largest = 0;
  for (const TimeTerm& term : time.terms) largest = std::max(largest, term.us);
  double cost = 0;
  auto add = [&](double part, double whole, const TimeTerm& term) {
    // The square lets the limiting term dominate without hiding one that is nearly as large.
    if (whole > 0) cost += part / whole * (term.us / largest) * (term.us / largest);
  };
  const bool global = own.sectors > 0;
  for (const TimeTerm& term : time.terms) {
    if (term.us <= 0) continue;
    if (term.name == "issue") add(own.executions * known.issue_slots, profile.issue_slots, term);
    if (term.name == name_of(known.pipe))
      add(own.executions * known.pipe_lanes, profile.pipe_lanes[static_cast<std::size_t>(known.pipe)], term);
    if (term.name == "shared memory" || term.name == "l1 throughput")
      add(own.wavefronts + own.l1_cycles, profile.shared_wavefronts + l1_cycles(device, profile), term);
    const bool traffic = term.name == "l2 bandwidth" || term.name == "dram bandwidth";
    const double l2_sectors = profile.l2_load_sectors + profile.l2_store_sectors;
    if (traffic && global) add(known.plain_load ? own.missed_sectors : own.sectors, l2_sectors, term);
    if (term.name == "atomics" && own.same_address > 0 && global) add(own.sectors, profile.atomic_sectors, term);
    if (term.name == "latency") {
      const double latency = global && known.plain_load
                                 ? (own.missed_sectors > 0 ? device.dram_latency_cycles : device.l1_latency_cycles)
                             : own.wavefronts > 0 ? device.shared_latency_cycles
                                                  : known.latency_cycles;
      add(own.executions * latency, profile.chain_dram.cycles * profile.warps, term);
    }
  }
  return cost;
}

std::string reason_for(const KernelProfile& profile, const KernelTime& time, const StaticInstruction& known,
                       const InstructionProfile& own) {
  const std::string& form = profile.code->program->origins[known.origin].form;
  const double requests = std::max(own.requests, 1e-9);
  const std::string what = known.store ? "store" : own.same_address > 0 ? "atomic operation" : "load";
  if (own.same_address / requests > 1.5)
    return fmt::format("each {} of a warp has {:.0f} lanes at one address, which take turns", what,
                       own.same_address / requests);
  if (own.sectors > 1.5 * own.fewest_sectors)
    return fmt::format("each {} of a warp touches {:.0f} sectors, {:.0f} would do", what, own.sectors / requests,
                       own.fewest_sectors / requests);
  if (own.wavefronts > 1.5 * own.fewest_wavefronts)
    return fmt::format("bank conflicts: each shared {} of a warp takes {:.0f} passes, {:.0f} would do", what,
                       own.wavefronts / requests, own.fewest_wavefronts / requests);
  const double lanes = own.lanes / std::max(own.executions, 1e-9);
  if (lanes < 16) return fmt::format("{} runs with {:.0f} of 32 lanes", form, lanes);
  if (own.sectors > 0 && known.plain_load && time.limiter == "latency")
    return fmt::format("{} makes the warp wait for memory, with too little else to do", form);
  if (own.sectors > 0) return fmt::format("{} moves {:.0f} sectors a warp", form, own.sectors / requests);
  if (known.barrier) return "barrier: all warps of the block wait for the slowest";
  return fmt::format("{}, {:.0f} times a warp", form, own.executions / profile.warps);
}

}  // namespace

std::vector<HotLine> find_hot_lines(const DeviceProfile& device, const KernelProfile& profile, const KernelTime& time,
                                    const std::string& kernel, std::size_t most) {
  std::map<std::uint32_t, LineCost> lines;
  double total = 0;
  for (std::size_t i = 0; i < profile.instructions.size(); ++i) {
    const InstructionProfile& own = profile.instructions[i];
    if (own.executions <= 0) continue;
    const StaticInstruction& known = profile.code->instructions[i];
    const double cost = cost_of(device, profile, time, known, own);
    LineCost& line = lines[profile.code->program->origins[known.origin].where.line];
    line.cost += cost;
    total += cost;
    if (cost < line.worst_cost) continue;
    line.worst = &known;
    line.worst_profile = &own;
    line.worst_cost = cost;
  }
  std::vector<HotLine> hot;
  for (const auto& [line, cost] : lines) {
    if (total <= 0 || cost.worst == nullptr) continue;
    hot.push_back({kernel, line, cost.cost / total, reason_for(profile, time, *cost.worst, *cost.worst_profile)});
  }
  std::stable_sort(hot.begin(), hot.end(), [](const HotLine& a, const HotLine& b) { return a.share > b.share; });
  if (hot.size() > most) hot.resize(most);
  return hot;
}

}  // namespace kw
