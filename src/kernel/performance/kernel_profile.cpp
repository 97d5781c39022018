#include "kernel/performance/kernel_profile.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"
#include "kernel/performance/block_sample.h"
#include "kernel/performance/block_sharing.h"
#include "kernel/performance/known_work.h"

namespace kw {
namespace {

constexpr std::size_t parts_of_grid = 6;   // a random block from each
constexpr std::size_t most_random = 12;    // when those differ
constexpr std::size_t enough_random = 3;   // when they are equal
constexpr std::size_t heaviest_known = 3;  // of the executed blocks, that are looked at
constexpr double equal_blocks = 0.01;      // relative difference
constexpr double unequal_blocks = 0.1;
constexpr double much_longer = 1.3;  // a block than the average one

// A line that atomics of the first block ask for most, or an address; and whether other blocks do so too.
struct HotPlace {
  std::uint64_t place = 0;
  double of_base = 0;
  double neighbours = 0;  // that touch it too
  double far = 0;         // sum over the far blocks

  using Counts = std::vector<std::pair<std::uint64_t, float>>;
  void find(const Counts& counts) {
    std::map<std::uint64_t, double> sums;
    for (const auto& [each, weight] : counts) sums[each] += weight;
    for (const auto& [each, count] : sums) {
      if (count <= of_base) continue;
      of_base = count;
      place = each;
    }
  }
  double in(const Counts& counts) const {
    double sum = 0;
    for (const auto& [each, weight] : counts) sum += each == place ? weight : 0;
    return sum;
  }
  // Neighbours lie on both sides; far blocks stand for the whole grid.
  double of_grid(double far_blocks, double blocks) const {
    const double near = of_base * (1 + 2 * neighbours);
    return far_blocks > 0 ? std::max(near, far / far_blocks * blocks) : near;
  }
};

// Blocks at secret places, the first, the last and the heaviest known ones. Random ones stand for all that are not
// looked at, the others for themselves.
class KernelSample {
 public:
  KernelSample(const DeviceProfile& device, DeviceMemory& memory, const ProfiledLaunch& launch,
               const EstimateOptions& options, const LaunchContents& contents, KernelProfile& profile)
      : device_(device),
        options_(options),
        contents_(contents),
        profile_(profile),
        sampler_(device, memory, launch, options, contents.real, profile),
        sharing_(memory, sampler_, profile),
        random_(options.seed, static_cast<std::uint64_t>(profile.blocks)) {}

  Result<void> run() {
    const auto blocks = static_cast<std::uint64_t>(profile_.blocks);
    for (std::size_t i = 0; i < most_random && done_.size() < blocks; ++i) {
      const bool fresh = done_.insert(choose(i)).second;
      if (fresh) KW_TRY_VOID(add_random(last_chosen_));
      // The next one may cost as much again.
      if (2 * profile_.emulated_warp_instructions > options_.warp_instructions) break;
      const double differ = spread();
      if (random_blocks_.size() >= enough_random && differ < equal_blocks) break;
      if (i + 1 >= parts_of_grid && differ < unequal_blocks) break;
    }
    for (const std::uint64_t number : known_blocks(blocks)) KW_TRY_VOID(add_known(number));
    finish();
    return {};
  }

 private:
  // One from each part of the grid, in an order that looks at far parts first. Every dimension is cut into parts of its
  // own, in another order: work often depends on one of them (the rows of a triangle, for many heads).
  std::uint64_t choose(std::size_t i) {
    if (i % parts_of_grid == 0)
      for (std::uint64_t& shift : shifts_) shift = random_.next() % parts_of_grid;
    constexpr std::array<std::uint64_t, 3> strides{5, 1, 1};
    std::array<std::uint64_t, 3> at{};
    for (std::size_t d = 0; d < 3; ++d) {
      const std::uint64_t size = profile_.grid[d];
      const std::uint64_t part = (i * strides[d] + shifts_[d]) % parts_of_grid;
      const std::uint64_t low = size * part / parts_of_grid, high = size * (part + 1) / parts_of_grid;
      at[d] = std::min(size - 1, low + random_.next() % std::max<std::uint64_t>(1, high - low));
    }
    last_chosen_ = (at[2] * profile_.grid[1] + at[1]) * profile_.grid[0] + at[0];
    return last_chosen_;
  }

  Result<void> add_random(std::uint64_t number) {
    KW_TRY(SampledBlock block, sampled(number));
    const bool first = random_blocks_.empty();
    if (first) {
      hot_address_.find(block.atomic_addresses);
      hot_line_.find(block.atomic_lines);
    } else {
      ++far_blocks_;
      hot_address_.far += hot_address_.in(block.atomic_addresses);
      hot_line_.far += hot_line_.in(block.atomic_lines);
    }
    if (random_blocks_.size() < 2)
      KW_TRY_VOID(sharing_.look_around(block, random_.next(), [&](const SampledBlock& other, bool next) {
        if (!first || !next) return;
        hot_address_.neighbours += hot_address_.in(other.atomic_addresses) > 0 ? 1 : 0;
        hot_line_.neighbours += hot_line_.in(other.atomic_lines) > 0 ? 1 : 0;
      }));
    block.replay = {};
    random_blocks_.push_back(std::move(block));
    return {};
  }

  Result<void> add_known(std::uint64_t number) {
    if (!done_.insert(number).second) return {};
    KW_TRY(SampledBlock block, sampled(number));
    block.replay = {};
    known_blocks_.push_back(std::move(block));
    return {};
  }

  // The first, the last and the heaviest of those that were executed.
  std::vector<std::uint64_t> known_blocks(std::uint64_t blocks) const {
    std::vector<std::uint64_t> numbers{0, blocks - 1};
    std::vector<ExecutedBlock> executed = contents_.executed;
    std::stable_sort(executed.begin(), executed.end(), [](const ExecutedBlock& a, const ExecutedBlock& b) {
      return a.warp_instructions > b.warp_instructions;
    });
    for (std::size_t i = 0; i < std::min(executed.size(), heaviest_known); ++i)
      if (executed[i].number < blocks) numbers.push_back(executed[i].number);
    return numbers;
  }

  // A block whose work is known has to come out at that.
  Result<SampledBlock> sampled(std::uint64_t number) {
    KW_TRY(SampledBlock block, sampler_.sample(number));
    const auto known = std::find_if(contents_.executed.begin(), contents_.executed.end(),
                                    [&](const ExecutedBlock& each) { return each.number == number; });
    if (known == contents_.executed.end() || known->warp_instructions == 0) return block;
    const auto truth = static_cast<double>(known->warp_instructions);
    if (agrees(block.counts.warp_instructions, truth)) return block;
    profile_.uneven = true;
    if (block.cut && truth <= static_cast<double>(2 * options_.warp_instructions)) {
      const double guessed = block.counts.warp_instructions;
      KW_TRY(block, sampler_.sample(number, true));
      cut_errors_.push_back(truth / std::max(guessed, 1.0));
      if (agrees(block.counts.warp_instructions, truth)) return block;
    }
    const double factor = truth / std::max(block.counts.warp_instructions, 1.0);
    if (block.cut) cut_errors_.push_back(factor);
    block.counts.scale(factor);
    profile_.doubt = std::max(profile_.doubt, std::min(std::abs(std::log(factor)) / 2, 1.0));
    return block;
  }

  double spread() const {
    std::vector<double> work, sectors;
    for (const SampledBlock& block : random_blocks_) {
      work.push_back(block.counts.warp_instructions);
      sectors.push_back(block.counts.l2_load_sectors + block.counts.l2_store_sectors);
    }
    return std::max(relative_range(work), relative_range(sectors));
  }

  // How far the average of the random blocks may be from that of all.
  double doubt_of_average() const {
    std::vector<std::pair<double, double>> work, sectors;
    for (const SampledBlock& block : random_blocks_) {
      const auto at = static_cast<double>(block.number);
      work.emplace_back(at, block.counts.warp_instructions);
      sectors.emplace_back(at, block.counts.l2_load_sectors + block.counts.l2_store_sectors);
    }
    return std::min(spread() / 2, 2 * std::max(error_of_mean(work), error_of_mean(sectors)));
  }

  void add(const SampledBlock& block, double weight) {
    profile_.add(block.counts, weight);
    for (std::size_t i = 0; i < profile_.instructions.size(); ++i) {
      const InstructionProfile& one = block.instructions[i];
      if (one.executions == 0) continue;
      InstructionProfile& sum = profile_.instructions[i];
      for (const auto member :
           {&InstructionProfile::executions, &InstructionProfile::lanes, &InstructionProfile::requests,
            &InstructionProfile::sectors, &InstructionProfile::fewest_sectors, &InstructionProfile::missed_sectors,
            &InstructionProfile::l1_cycles, &InstructionProfile::wavefronts, &InstructionProfile::fewest_wavefronts,
            &InstructionProfile::same_address})
        sum.*member += weight * one.*member;
    }
  }

  void finish() {
    // Loops of other blocks are cut as wrongly as those of the known ones.
    double wrong = 1;
    for (const double each : cut_errors_) wrong = std::max(wrong, each);
    if (wrong > 1) {
      for (SampledBlock& block : random_blocks_)
        if (block.cut) block.counts.scale(wrong);
      profile_.doubt = std::max(profile_.doubt, std::min(std::log(wrong) / 2, 1.0));
    }
    if (sampler_.uneven_loops()) {
      profile_.uneven = true;
      profile_.doubt = std::max(profile_.doubt, device_.uncertainty_extrapolated);
    }
    profile_.instructions.resize(profile_.code->instructions.size());
    const double random = static_cast<double>(random_blocks_.size()), known = static_cast<double>(known_blocks_.size());
    for (const SampledBlock& block : random_blocks_) add(block, (profile_.blocks - known) / random / profile_.blocks);
    for (const SampledBlock& block : known_blocks_) add(block, 1 / profile_.blocks);
    for (std::size_t i = 0; i < chain_constants.size(); ++i) profile_.chain_base[i] = device_.*chain_constants[i];
    sharing_.finish();
    profile_.hottest_updates = hot_address_.of_grid(far_blocks_, profile_.blocks);
    profile_.hottest_line_sectors = hot_line_.of_grid(far_blocks_, profile_.blocks);
    profile_.sampled_blocks = static_cast<int>(random + known);
    profile_.doubt = std::max(profile_.doubt, doubt_of_average());
    note_longest();
    believe_known_work();
  }

  void note_longest() {
    const SampledBlock* longest = nullptr;
    for (const auto* list : {&random_blocks_, &known_blocks_})
      for (const SampledBlock& block : *list)
        if (longest == nullptr || block.counts.chain_dram.cycles > longest->counts.chain_dram.cycles) longest = &block;
    const double average = profile_.chain_dram.cycles;
    if (longest == nullptr || average <= 0) return;
    profile_.longest_chain_ratio = longest->counts.chain_dram.cycles / average;
    if (profile_.longest_chain_ratio < much_longer || profile_.blocks < 2) return;
    KernelCounts alone = profile_;
    static_cast<BlockCounts&>(alone) = longest->counts;
    alone.grid = {1, 1, 1};
    alone.blocks = alone.resident_blocks = alone.longest_chain_ratio = 1;
    alone.hottest_updates = alone.hottest_line_sectors = 0;
    profile_.longest_block = std::make_shared<const KernelCounts>(std::move(alone));
  }

  // Blocks that were executed may tell of more work than the sample does.
  void believe_known_work() {
    const double sampled = profile_.blocks * profile_.warp_instructions;
    const double factor = more_work(contents_.executed, sampled);
    if (factor <= 1) return;
    static_cast<BlockCounts&>(profile_).scale(factor);
    for (InstructionProfile& each : profile_.instructions) each.executions *= factor;
    profile_.uneven = true;
    profile_.doubt = std::max(profile_.doubt, std::min(factor - 1, 1.0));
  }

  const DeviceProfile& device_;
  const EstimateOptions& options_;
  const LaunchContents& contents_;
  KernelProfile& profile_;
  BlockSampler sampler_;
  BlockSharing sharing_;
  Random random_;
  std::set<std::uint64_t> done_;
  std::array<std::uint64_t, 3> shifts_{};
  std::uint64_t last_chosen_ = 0;
  std::vector<SampledBlock> random_blocks_, known_blocks_;
  std::vector<double> cut_errors_;  // of known blocks: true / extrapolated instructions
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
                                     const EstimateOptions& options, const LaunchContents& contents) {
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
  KernelSample sample(device, memory, launch, options, contents, profile);
  KW_TRY_VOID(sample.run());
  return profile;
}

}  // namespace kw
