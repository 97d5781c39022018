#include "kernel/performance/block_sample.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/performance/access_cost.h"
#include "kernel/performance/warp_chain.h"

namespace kw {
namespace {

constexpr double smallest_l1_share = 4 << 10;  // bytes
constexpr std::int64_t block_part = 5;         // of the budget that one block should take
constexpr std::int64_t whole_factor = 4;       // budgets that a block without cuts may take
constexpr std::int64_t smallest_loop_budget = 300;
constexpr std::uint64_t entry_units = 150;      // of a WorkBudget
constexpr std::uint64_t discard_units = 2'000;  // for each allocation

bool is_atomic(const TraceAccess& access) {
  return access.kind == ObservedAccess::Kind::atomic || access.kind == ObservedAccess::Kind::reduction;
}

}  // namespace

double l1_cycles_of(const DeviceProfile& device, const RequestShape& shape) {
  // Stores go on to the L2 a line at a time; loads look up tags and then read the banks.
  if (shape.store)
    return std::max(shape.sectors / device.l1_sectors_per_cycle, shape.lines / device.store_lines_per_cycle);
  return std::max({shape.sectors / device.l1_sectors_per_cycle, shape.lines / device.l1_lines_per_cycle,
                   shape.bank_passes / device.shared_wavefronts_per_cycle});
}

CacheShare BlockSampler::share() const {
  const double shared_bytes = profile_.code->program->static_shared_bytes + launch_.arguments.dynamic_shared_bytes;
  const double l1 = device_.l1_kib * 1024 / profile_.resident_blocks - shared_bytes;
  const double device_blocks = std::min(profile_.blocks, profile_.resident_blocks * device_.multiprocessors);
  return {std::max(l1, smallest_l1_share), device_.l2_mib * 1048576 / device_blocks};
}

Result<void> BlockSampler::run(std::uint64_t block, const LoopBudget& loops, std::int64_t most_instructions) {
  recorder_.begin_block(profile_.warps, loops);
  RunOptions run;
  run.only_blocks = {block};
  run.observer = &recorder_;
  run.profiling = true;
  run.compute_products = real_contents_;  // what a kernel does next may depend on them
  run.budget = options_.budget;
  RunLimits limits;
  limits.warp_instructions = most_instructions;
  KW_TRY(const RunResult result, launch_.module->run(memory_, launch_.arguments, limits, run));
  if (result.status == RunStatus::unsupported)
    return Error{
        fmt::format("{} uses {}, which is not emulated", launch_.arguments.kernel, result.unsupported), "", {}};
  if (result.status == RunStatus::launch_error)
    return Error{result.findings.empty() ? "the launch is refused" : result.findings[0].message, "", {}};
  profile_.emulated_warp_instructions += static_cast<std::int64_t>(result.statistics.warp_instructions);
  if (result.status == RunStatus::timeout || !recorder_.trace().complete) profile_.complete = false;
  // Made-up contents of full-size memory: a kernel may well trap, or wait for ever, because of them.
  if (result.status == RunStatus::synchronization) profile_.stopped = true;
  if (result.status == RunStatus::fault) profile_.trapped = true;
  // Every block starts from the same memory; and what it wrote may be many pages.
  memory_.discard_writes();
  return charge();
}

Result<void> BlockSampler::emulate(std::uint64_t block, bool whole) {
  LoopBudget loops;
  loops.warp_instructions =
      std::max(smallest_loop_budget, options_.warp_instructions / block_part / profile_.warps / 3);
  loops.hopeless_instructions = options_.warp_instructions / 4;
  loops.seed = options_.seed ^ (block * 0x9e3779b97f4a7c15);
  loops.integrate = integrate_;
  if (whole) loops.warp_instructions = loops.hopeless_instructions = whole_factor * options_.warp_instructions;
  KW_TRY_VOID(run(block, loops, options_.warp_instructions * (whole ? whole_factor : 2)));
  if (whole || integrate_ || !recorder_.loops().uneven()) return {};
  integrate_ = loops.integrate = true;
  return run(block, loops, options_.warp_instructions * 2);
}

// What the block that was just emulated costs from here on: its chains and caches are replayed several times.
Result<void> BlockSampler::charge() const {
  if (options_.budget == nullptr) return {};
  const BlockTrace& trace = recorder_.trace();
  std::uint64_t entries = trace.accesses.size() + trace.sectors.size();
  for (const auto& warp : trace.warps) entries += warp.size();
  if (options_.budget->charge(WorkKind::model_entries, entries,
                              entries * entry_units + memory_.allocations().size() * discard_units))
    return {};
  return options_.budget->exceeded_error();
}

Result<SampledBlock> BlockSampler::touch(std::uint64_t number) {
  KW_TRY_VOID(emulate(number, false));
  SampledBlock block;
  block.number = number;
  block.replay = replay_caches(recorder_.trace(), share());
  note_atomics(block);
  return block;
}

Result<SampledBlock> BlockSampler::sample(std::uint64_t number, bool whole) {
  KW_TRY_VOID(emulate(number, whole));
  SampledBlock block;
  block.number = number;
  block.instructions.resize(profile_.code->instructions.size());
  BlockTrace& trace = recorder_.trace();
  block_chain(*profile_.code, device_, trace, {device_.l2_latency_cycles});
  block.replay = replay_caches(trace, share());
  BlockCounts& counts = block.counts;
  add_chain(&DeviceProfile::l2_latency_cycles, counts.chain_l2);
  add_chain(&DeviceProfile::dram_latency_cycles, counts.chain_dram);
  count_entries(block);
  for (const TraceAccess& access : trace.accesses) count_access(access, block);
  counts.l2_load_sectors = block.replay.l2_load_sectors;
  counts.l2_store_sectors = block.replay.l2_store_sectors;
  counts.far_sectors = block.replay.far_sectors;
  for (const auto& [index, use] : block.replay.uses) {
    AllocationProfile& allocation = counts.allocations[index];
    allocation.bytes = memory_.allocations()[static_cast<std::size_t>(index)]->bytes;
    allocation.use = use;
  }
  add_spills(counts);
  note_atomics(block);
  block.cut = recorder_.loops().cut_any();
  profile_.extrapolated |= block.cut;
  profile_.waited |= recorder_.loops().gave_up();
  return block;
}

// With misses served at the latency `missed`. The slopes are differences: the constants are each made a little larger.
void BlockSampler::add_chain(double DeviceProfile::*missed, ChainProfile& sum) {
  constexpr double step = 0.02;
  BlockTrace& trace = recorder_.trace();
  sum.cycles = block_chain(*profile_.code, device_, trace, {device_.*missed});
  if (!options_.chain_slopes) return;
  DeviceProfile other = device_;
  for (std::size_t i = 0; i < chain_constants.size(); ++i) {
    double& constant = other.*chain_constants[i];
    const double before = constant, change = step * constant;
    constant += change;
    const double longer = block_chain(*profile_.code, other, trace, {other.*missed});
    if (change > 0) sum.slopes[i] = (longer - sum.cycles) / change;
    constant = before;
  }
}

void BlockSampler::count_entries(SampledBlock& block) {
  for (const auto& warp : recorder_.trace().warps) {
    for (const TraceEntry& entry : warp) {
      const StaticInstruction& known = profile_.code->instructions[entry.instruction];
      InstructionProfile& sum = block.instructions[entry.instruction];
      sum.executions += entry.weight;
      sum.lanes += entry.weight * entry.lanes;
      block.counts.warp_instructions += entry.weight;
      block.counts.issue_slots += entry.weight * known.issue_slots;
      block.counts.pipe_lanes[static_cast<std::size_t>(known.pipe)] += entry.weight * known.pipe_lanes;
    }
  }
}

void BlockSampler::count_access(const TraceAccess& access, SampledBlock& block) const {
  InstructionProfile& sum = block.instructions[access.instruction];
  BlockCounts& counts = block.counts;
  const double weight = access.weight;
  sum.requests += weight;
  sum.wavefronts += weight * access.wavefronts;
  sum.fewest_wavefronts += weight * access.fewest_wavefronts;
  sum.same_address += weight * access.same_address;
  counts.shared_wavefronts += weight * access.wavefronts;
  counts.fewest_wavefronts += weight * access.fewest_wavefronts;
  if (access.space == PtxSpace::shared && access.same_address > 1) {
    // Conflicting updates follow one another.
    // Floats are updated in a loop of compare-and-swap, in which half of the others' time can be hidden.
    const bool loop = profile_.code->instructions[access.instruction].float_atomic;
    const double turns =
        access.same_address * (loop ? device_.shared_atomic_loop_cycles / 2 / device_.shared_atomic_cycles : 1);
    sum.wavefronts += weight * turns * device_.shared_atomic_cycles;
    counts.shared_atomic_turns += weight * turns;
  }
  if (access.sectors == 0) return;
  const bool store = access.kind == ObservedAccess::Kind::store || access.kind == ObservedAccess::Kind::matrix_store;
  const RequestShape shape{store, access.sectors, access.lines, access.bank_passes};
  sum.sectors += weight * access.sectors;
  sum.fewest_sectors += weight * access.fewest_sectors;
  sum.missed_sectors += weight * access.missed_sectors;
  sum.l1_cycles += weight * l1_cycles_of(device_, shape);
  counts.accesses[shape] += weight;
  counts.requests += weight;
  counts.sectors += weight * access.sectors;
  if (is_atomic(access)) counts.atomic_sectors += weight * access.sectors;
}

// Registers that ptxas had to put into local memory: PTX does not show them. Each such instruction is taken to be
// executed as often as the average one, and finds its line in the L1.
void BlockSampler::add_spills(BlockCounts& counts) const {
  constexpr double word_bytes = 4;
  constexpr double exposed = 0.25;  // of the latency: other instructions stand in between
  const KernelResources& resources = launch_.resources;
  const double stores = resources.spill_store_bytes / word_bytes, loads = resources.spill_load_bytes / word_bytes;
  const auto code = static_cast<double>(profile_.code->instructions.size());
  if (!resources.known || stores + loads <= 0 || code == 0) return;
  const double executions = counts.warp_instructions / code;  // of one instruction
  counts.issue_slots += (stores + loads) * executions;
  counts.pipe_lanes[static_cast<std::size_t>(Pipe::memory)] += (stores + loads) * executions * warp_lanes;
  constexpr std::uint16_t sectors = line_bytes / sector_bytes;
  counts.accesses[{true, sectors, 1, 1}] += stores * executions;
  counts.accesses[{false, sectors, 1, 1}] += loads * executions;
  counts.l2_store_sectors += stores * executions * sectors;  // stores write through
  const double waiting = loads * executions / profile_.warps * device_.l1_latency_cycles * exposed;
  counts.chain_l2.cycles += waiting;
  counts.chain_dram.cycles += waiting;
}

void BlockSampler::note_atomics(SampledBlock& block) const {
  const BlockTrace& trace = recorder_.trace();
  block.atomic_addresses = trace.atomic_addresses;
  for (const TraceAccess& access : trace.accesses)
    for (std::uint32_t i = 0; is_atomic(access) && i < access.sectors; ++i)
      block.atomic_lines.emplace_back(trace.sectors[access.first_sector + i] * sector_bytes / line_bytes,
                                      access.weight);
}

}  // namespace kw
