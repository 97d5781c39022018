#include "performance/kernel_profile.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/random.h"
#include "performance/access_cost.h"
#include "performance/warp_chain.h"

namespace kw {
namespace {

constexpr std::size_t most_blocks = 6;         // that are counted
constexpr double equal_blocks = 0.01;          // relative difference
constexpr double smallest_l1_share = 4 << 10;  // bytes
constexpr std::int64_t block_part = 5;         // of the budget that one block should take
constexpr std::int64_t smallest_loop_budget = 300;
constexpr std::uint64_t entry_units = 150;      // of a WorkBudget
constexpr std::uint64_t discard_units = 2'000;  // for each allocation

// One block's own counts.
struct BlockCounts {
  double instructions = 0;
  double l2_sectors = 0;
  double chain_dram = 0;
};

double l1_cycles_of(const DeviceProfile& device, const RequestShape& shape) {
  // Stores go on to the L2 a line at a time; loads look up tags and then read the banks.
  if (shape.store)
    return std::max(shape.sectors / device.l1_sectors_per_cycle, shape.lines / device.store_lines_per_cycle);
  return std::max({shape.sectors / device.l1_sectors_per_cycle, shape.lines / device.l1_lines_per_cycle,
                   shape.bank_passes / device.shared_wavefronts_per_cycle});
}

// A line that atomics of the middle block ask for most, or an address; and whether other blocks do so too.
struct HotPlace {
  std::uint64_t place = 0;
  double of_middle = 0;
  double neighbours = 0;  // that touch it too
  double far = 0;         // sum over the far blocks

  // Neighbours lie on both sides; far blocks stand for the whole grid.
  double of_grid(double far_blocks, double blocks) const {
    const double near = of_middle * (1 + 2 * neighbours);
    return far_blocks > 0 ? std::max(near, far / far_blocks * blocks) : near;
  }
};

class Sampler {
 public:
  Sampler(const DeviceProfile& device, DeviceMemory& memory, const ProfiledLaunch& launch,
          const EstimateOptions& options, KernelProfile& profile)
      : device_(device),
        memory_(memory),
        launch_(launch),
        options_(options),
        profile_(profile),
        recorder_(*profile.code, memory) {
    profile_.instructions.resize(profile_.code->instructions.size());
  }

  Result<void> run() {
    const auto& grid = profile_.grid;
    const auto blocks = static_cast<std::uint64_t>(profile_.blocks);
    const std::array<std::uint64_t, 3> middle{grid[0] / 2, grid[1] / 2, grid[2] / 2};
    const std::uint64_t base = number_of(middle);
    KW_TRY_VOID(emulate(base));
    CacheReplay base_replay = count();
    find_hottest();
    for (int dimension = 0; dimension < 3; ++dimension) {
      if (grid[dimension] < 2) continue;
      auto next = middle;
      next[dimension] += middle[dimension] + 1 < grid[dimension] ? 1 : -1;
      KW_TRY_VOID(emulate(number_of(next)));
      compare(base_replay, dimension);
    }
    Random random(options_.seed, blocks);
    std::set<std::uint64_t> done{base};
    for (std::size_t i = 0; i < most_blocks && done.size() < blocks; ++i) {
      // One from each part of the grid, in an order that looks at far parts first.
      const std::uint64_t part = (i * 5 + 1) % most_blocks;
      const std::uint64_t low = blocks * part / most_blocks,
                          high = std::max(low + 1, blocks * (part + 1) / most_blocks);
      const auto chosen = static_cast<std::uint64_t>(
          random.integer(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high) - 1));
      if (!done.insert(std::min(chosen, blocks - 1)).second) continue;
      KW_TRY_VOID(emulate(std::min(chosen, blocks - 1)));
      count();
      ++far_blocks_;
      hot_address_.far += updates(hot_address_.place);
      hot_line_.far += line_sectors(hot_line_.place);
      // The next one may cost as much again.
      const bool spent = 2 * profile_.emulated_warp_instructions > options_.warp_instructions;
      if (spent || (counted_.size() >= 3 && spread() < equal_blocks)) break;
    }
    finish();
    return {};
  }

 private:
  std::uint64_t number_of(const std::array<std::uint64_t, 3>& at) const {
    return (at[2] * profile_.grid[1] + at[1]) * profile_.grid[0] + at[0];
  }

  Result<void> emulate(std::uint64_t block) {
    LoopBudget loops;
    loops.warp_instructions =
        std::max(smallest_loop_budget, options_.warp_instructions / block_part / profile_.warps / 3);
    loops.hopeless_instructions = options_.warp_instructions / 4;
    recorder_.begin_block(profile_.warps, loops);
    RunOptions run;
    run.only_blocks = {block};
    run.observer = &recorder_;
    run.profiling = true;
    run.budget = options_.budget;
    RunLimits limits;
    limits.warp_instructions = options_.warp_instructions * 2;
    KW_TRY(const RunResult result, launch_.module->run(memory_, launch_.arguments, limits, run));
    if (result.status == RunStatus::unsupported)
      return Error{
          fmt::format("{} uses {}, which is not emulated", launch_.arguments.kernel, result.unsupported), "", {}};
    if (result.status == RunStatus::launch_error)
      return Error{result.findings.empty() ? "the launch is refused" : result.findings[0].message, "", {}};
    profile_.emulated_warp_instructions += static_cast<std::int64_t>(result.statistics.warp_instructions);
    if (result.status == RunStatus::timeout || !recorder_.trace().complete) profile_.complete = false;
    // The contents of full-size memory are made up: a kernel may well trap, or wait for ever, because of them.
    if (result.status == RunStatus::fault || result.status == RunStatus::synchronization) profile_.stopped = true;
    // Every block starts from the same memory; and what it wrote may be many pages.
    memory_.discard_writes();
    return charge();
  }

  // What the block that was just emulated costs from here on: its chains and caches are replayed several times.
  Result<void> charge() const {
    if (options_.budget == nullptr) return {};
    const BlockTrace& trace = recorder_.trace();
    std::uint64_t entries = trace.accesses.size() + trace.sectors.size();
    for (const auto& warp : trace.warps) entries += warp.size();
    if (options_.budget->charge(WorkKind::model_entries, entries,
                                entries * entry_units + memory_.allocations().size() * discard_units))
      return {};
    return options_.budget->exceeded_error();
  }

  // Adds the block that was just emulated to the sums.
  CacheReplay count() {
    BlockTrace& trace = recorder_.trace();
    const StaticCode& code = *profile_.code;
    block_chain(code, device_, trace, {device_.l2_latency_cycles});
    CacheReplay replay = replay_caches(trace, share());
    BlockCounts own;
    add_chain(&DeviceProfile::l2_latency_cycles, profile_.chain_l2);
    own.chain_dram = add_chain(&DeviceProfile::dram_latency_cycles, profile_.chain_dram);
    for (const auto& warp : trace.warps) {
      for (const TraceEntry& entry : warp) {
        const StaticInstruction& known = code.instructions[entry.instruction];
        InstructionProfile& sum = profile_.instructions[entry.instruction];
        sum.executions += entry.weight;
        sum.lanes += entry.weight * entry.lanes;
        own.instructions += entry.weight;
        profile_.issue_slots += entry.weight * known.issue_slots;
        profile_.pipe_lanes[static_cast<std::size_t>(known.pipe)] += entry.weight * known.pipe_lanes;
      }
    }
    for (const TraceAccess& access : trace.accesses) count_access(access);
    own.l2_sectors = replay.l2_load_sectors + replay.l2_store_sectors;
    profile_.warp_instructions += own.instructions;
    profile_.l2_load_sectors += replay.l2_load_sectors;
    profile_.l2_store_sectors += replay.l2_store_sectors;
    profile_.far_sectors += replay.far_sectors;
    for (const auto& [index, use] : replay.uses) {
      AllocationProfile& sum = profile_.allocations[index];
      sum.bytes = memory_.allocations()[static_cast<std::size_t>(index)]->bytes;
      sum.use.read += use.read;
      sum.use.written += use.written;
    }
    counted_.push_back(own);
    return replay;
  }

  // With misses served at the latency `missed`. The slopes are differences: the constants are each made a little
  // larger.
  double add_chain(double DeviceProfile::*missed, ChainProfile& sum) {
    constexpr double step = 0.02;
    BlockTrace& trace = recorder_.trace();
    const double cycles = block_chain(*profile_.code, device_, trace, {device_.*missed});
    sum.cycles += cycles;
    if (!options_.chain_slopes) return cycles;
    DeviceProfile other = device_;
    for (std::size_t i = 0; i < chain_constants.size(); ++i) {
      double& constant = other.*chain_constants[i];
      const double before = constant, change = step * constant;
      constant += change;
      const double longer = block_chain(*profile_.code, other, trace, {other.*missed});
      if (change > 0) sum.slopes[i] += (longer - cycles) / change;
      constant = before;
    }
    return cycles;
  }

  void count_access(const TraceAccess& access) {
    InstructionProfile& sum = profile_.instructions[access.instruction];
    const double weight = access.weight;
    sum.requests += weight;
    sum.wavefronts += weight * access.wavefronts;
    sum.fewest_wavefronts += weight * access.fewest_wavefronts;
    sum.same_address += weight * access.same_address;
    profile_.shared_wavefronts += weight * access.wavefronts;
    profile_.fewest_wavefronts += weight * access.fewest_wavefronts;
    if (access.space == PtxSpace::shared && access.same_address > 1) {
      // Conflicting updates follow one another.
      const double passes = access.same_address * device_.shared_atomic_cycles;
      sum.wavefronts += weight * passes;
      profile_.shared_atomic_turns += weight * access.same_address;
    }
    if (access.sectors == 0) return;
    const bool store = access.kind == ObservedAccess::Kind::store || access.kind == ObservedAccess::Kind::matrix_store;
    const RequestShape shape{store, access.sectors, access.lines, access.bank_passes};
    sum.sectors += weight * access.sectors;
    sum.fewest_sectors += weight * access.fewest_sectors;
    sum.missed_sectors += weight * access.missed_sectors;
    sum.l1_cycles += weight * l1_cycles_of(device_, shape);
    profile_.accesses[shape] += weight;
    profile_.requests += weight;
    profile_.sectors += weight * access.sectors;
    if (access.kind == ObservedAccess::Kind::atomic || access.kind == ObservedAccess::Kind::reduction)
      profile_.atomic_sectors += weight * access.sectors;
  }

  CacheShare share() const {
    const double shared_bytes = profile_.code->program->static_shared_bytes + launch_.arguments.dynamic_shared_bytes;
    const double l1 = device_.l1_kib * 1024 / profile_.resident_blocks - shared_bytes;
    const double device_blocks = std::min(profile_.blocks, profile_.resident_blocks * device_.multiprocessors);
    return {std::max(l1, smallest_l1_share), device_.l2_mib * 1048576 / device_blocks};
  }

  void compare(const CacheReplay& base, int dimension) {
    const CacheReplay neighbour = replay_caches(recorder_.trace(), share());
    std::map<std::int32_t, std::pair<double, double>> counts;  // all, common
    for (const auto& [sector, how] : base.touched) {
      const Allocation* allocation = memory_.find(sector * sector_bytes);
      if (allocation == nullptr) continue;
      auto& [all, common] = counts[allocation->index];
      all += 1;
      common += neighbour.touched.count(sector) != 0 ? 1 : 0;
    }
    for (const auto& [index, count] : counts)
      profile_.allocations[index].shared_with_neighbour[static_cast<std::size_t>(dimension)] =
          count.second / count.first;
    if (updates(hot_address_.place) > 0) ++hot_address_.neighbours;
    if (line_sectors(hot_line_.place) > 0) ++hot_line_.neighbours;
  }

  template <class Visit>
  void for_atomic_sectors(Visit visit) {
    const BlockTrace& trace = recorder_.trace();
    for (const TraceAccess& access : trace.accesses) {
      const bool atomic = access.kind == ObservedAccess::Kind::atomic || access.kind == ObservedAccess::Kind::reduction;
      for (std::uint32_t i = 0; atomic && i < access.sectors; ++i)
        visit(trace.sectors[access.first_sector + i] * sector_bytes / line_bytes, access.weight);
    }
  }

  // Of the middle block. Whether the others ask for the same is seen in those that are looked at.
  void find_hottest() {
    std::map<std::uint64_t, double> addresses, lines;
    for (const auto& [address, weight] : recorder_.trace().atomic_addresses) addresses[address] += weight;
    for_atomic_sectors([&](std::uint64_t line, double weight) { lines[line] += weight; });
    for (const auto& [counts, hot] : {std::pair(&addresses, &hot_address_), std::pair(&lines, &hot_line_)})
      for (const auto& [place, count] : *counts) {
        if (count <= hot->of_middle) continue;
        hot->of_middle = count;
        hot->place = place;
      }
  }

  double updates(std::uint64_t wanted) {
    double count = 0;
    for (const auto& [address, weight] : recorder_.trace().atomic_addresses)
      if (address == wanted) count += weight;
    return count;
  }

  double line_sectors(std::uint64_t wanted) {
    double count = 0;
    for_atomic_sectors([&](std::uint64_t line, double weight) { count += line == wanted ? weight : 0; });
    return count;
  }

  double spread() const {
    double low = counted_[0].instructions, high = low, low_sectors = counted_[0].l2_sectors, high_sectors = low_sectors;
    for (const BlockCounts& block : counted_) {
      low = std::min(low, block.instructions);
      high = std::max(high, block.instructions);
      low_sectors = std::min(low_sectors, block.l2_sectors);
      high_sectors = std::max(high_sectors, block.l2_sectors);
    }
    const double by_work = high > 0 ? (high - low) / high : 0;
    const double by_sectors = high_sectors > 0 ? (high_sectors - low_sectors) / high_sectors : 0;
    return std::max(by_work, by_sectors);
  }

  void finish() {
    const double count = static_cast<double>(counted_.size());
    for (InstructionProfile& sum : profile_.instructions)
      for (double* value :
           {&sum.executions, &sum.lanes, &sum.requests, &sum.sectors, &sum.fewest_sectors, &sum.missed_sectors,
            &sum.l1_cycles, &sum.wavefronts, &sum.fewest_wavefronts, &sum.same_address})
        *value /= count;
    for (double* value :
         {&profile_.warp_instructions, &profile_.issue_slots, &profile_.shared_wavefronts, &profile_.fewest_wavefronts,
          &profile_.shared_atomic_turns, &profile_.requests, &profile_.sectors, &profile_.l2_load_sectors,
          &profile_.l2_store_sectors, &profile_.far_sectors, &profile_.atomic_sectors, &profile_.chain_l2.cycles,
          &profile_.chain_dram.cycles})
      *value /= count;
    for (double& lanes : profile_.pipe_lanes) lanes /= count;
    for (auto& [shape, weight] : profile_.accesses) weight /= count;
    for (ChainProfile* chain : {&profile_.chain_l2, &profile_.chain_dram})
      for (double& slope : chain->slopes) slope /= count;
    for (std::size_t i = 0; i < chain_constants.size(); ++i) profile_.chain_base[i] = device_.*chain_constants[i];
    for (auto& [index, allocation] : profile_.allocations) {
      allocation.use.read /= count;
      allocation.use.written /= count;
    }
    profile_.hottest_updates = hot_address_.of_grid(far_blocks_, profile_.blocks);
    profile_.hottest_line_sectors = hot_line_.of_grid(far_blocks_, profile_.blocks);
    double longest = 0;
    for (const BlockCounts& block : counted_) longest = std::max(longest, block.chain_dram);
    if (profile_.chain_dram.cycles > 0) profile_.longest_chain_ratio = longest / profile_.chain_dram.cycles;
    profile_.sampled_blocks = static_cast<int>(counted_.size());
    profile_.spread = spread();
    profile_.extrapolated = recorder_.loops().cut_any();
    profile_.waited = recorder_.loops().gave_up();
  }

  const DeviceProfile& device_;
  DeviceMemory& memory_;
  const ProfiledLaunch& launch_;
  const EstimateOptions& options_;
  KernelProfile& profile_;
  BlockRecorder recorder_;
  std::vector<BlockCounts> counted_;
  HotPlace hot_address_, hot_line_;
  double far_blocks_ = 0;
};

}  // namespace

double l1_cycles(const DeviceProfile& device, const KernelCounts& counts) {
  double cycles = 0;
  for (const auto& [shape, weight] : counts.accesses) cycles += weight * l1_cycles_of(device, shape);
  return cycles;
}

double chain_cycles(const DeviceProfile& device, const KernelCounts& counts, const ChainProfile& chain) {
  double cycles = chain.cycles;
  for (std::size_t i = 0; i < chain_constants.size(); ++i)
    cycles += chain.slopes[i] * (device.*chain_constants[i] - counts.chain_base[i]);
  return std::max(cycles, 0.0);
}

Result<KernelProfile> profile_kernel(const DeviceProfile& device, DeviceMemory& memory, const ProfiledLaunch& launch,
                                     const EstimateOptions& options) {
  KW_CHECK(launch.module != nullptr);
  KW_TRY(const Program* program, launch.module->program(launch.arguments.kernel));
  const auto& block = launch.arguments.block;
  KernelProfile profile;
  profile.grid = launch.arguments.grid;
  profile.blocks = static_cast<double>(profile.grid[0]) * profile.grid[1] * profile.grid[2];
  const std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
  profile.warps = static_cast<std::uint32_t>((threads + warp_lanes - 1) / warp_lanes);
  KernelResources resources = launch.resources;
  if (!resources.known) {
    resources.registers = std::max(resources.registers, 32);
    resources.static_shared_bytes = static_cast<int>(program->static_shared_bytes);
  }
  if (profile.blocks < 1 || threads > 1024) return Error{"the launch has no blocks, or too large ones", "", {}};
  KW_TRY(profile.occupancy,
         occupancy(device.architecture, resources, static_cast<int>(threads), launch.arguments.dynamic_shared_bytes));
  profile.resident_blocks =
      std::min<double>(profile.occupancy.blocks_per_sm, std::ceil(profile.blocks / device.multiprocessors));
  profile.code = std::make_unique<StaticCode>(read_code(*program, device));
  Sampler sampler(device, memory, launch, options, profile);
  KW_TRY_VOID(sampler.run());
  return profile;
}

}  // namespace kw
