#include "judge/full_size_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/random.h"
#include "judge/full_size.h"

namespace kw {
namespace {

// How much the whole launch stores is told from a few blocks. Where they store too little, more are looked at: blocks
// at an edge may have next to nothing to do, and of eight most can be such blocks by chance.
constexpr std::size_t random_blocks[] = {8, 64, 512};
constexpr std::int64_t block_budget = 31'250;  // warp instructions
// Of what was stored or loaded in the checked runs. Blocks at the edge do less, and a few blocks are not all.
constexpr double enough = 0.5;
constexpr std::uint64_t sixteen_bits = 65536;

std::vector<std::uint64_t> choose_blocks(std::uint64_t blocks, std::size_t count, Random& random) {
  std::vector<std::uint64_t> chosen;
  for (std::size_t i = 0; i < count && chosen.size() < blocks; ++i)
    chosen.push_back(static_cast<std::uint64_t>(random.integer(0, static_cast<std::int64_t>(blocks) - 1)));
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

class FullSizeCheck {
 public:
  FullSizeCheck(const Task& task, const KernelBuild& build, const LoadedModule& module, const CheckedWork& checked,
                std::uint64_t seed, WorkBudget* budget)
      : task_(task), build_(build), module_(module), checked_(checked), random_(seed), budget_(budget) {}

  std::optional<VerdictFinding> run(const SizedPlan& sized) {
    sized_ = &sized;
    std::optional<VerdictFinding> finding;
    for (const std::size_t count : random_blocks) {
      count_ = count;
      finding = run_blocks();
      if (!finding || finding->kind != "skips_work") break;
    }
    return finding;
  }

 private:
  std::optional<VerdictFinding> run_blocks() {
    PlanCandidate candidate =
        full_size_candidate(task_, *sized_, module_, build_.compiled.kernels, random_.next(), budget_);
    auto prepared = candidate.prepare();
    // What cannot be prepared gets no time either.
    if (!prepared.ok()) return std::nullopt;
    find_ranges(*prepared);
    auto step = sized_->plan.steps.begin();
    for (const ProfiledStep& profiled : prepared->steps) {
      while (step != sized_->plan.steps.end() && !std::holds_alternative<KernelLaunch>(*step)) ++step;
      if (const auto* launch = std::get_if<ProfiledLaunch>(&profiled)) {
        if (auto finding = run_launch(*prepared, *launch, std::get<KernelLaunch>(*step++))) return finding;
      }
    }
    return compare_work();
  }

  void find_ranges(const PreparedPlan& prepared) {
    inputs_.clear();
    outputs_.clear();
    input_bytes_ = output_bytes_ = 0;
    for (const auto& allocation : prepared.memory->allocations()) {
      const AddressRange range{allocation->base, allocation->base + allocation->bytes};
      if (allocation->name.rfind("input ", 0) == 0) {
        inputs_.push_back(range);
        input_bytes_ += static_cast<double>(allocation->bytes);
      } else if (allocation->name.rfind("output ", 0) == 0) {
        outputs_.push_back(range);
        output_bytes_ += static_cast<double>(allocation->bytes);
      }
    }
    stored_ = loaded_ = 0;
    partial_ = false;
  }

  std::optional<VerdictFinding> run_launch(PreparedPlan& prepared, const ProfiledLaunch& launch,
                                           const KernelLaunch& planned) {
    const auto& grid = launch.arguments.grid;
    const std::uint64_t blocks = std::uint64_t{grid[0]} * grid[1] * grid[2];
    RunOptions options;
    options.profiling = true;
    PathCoverage seen;
    options.observer = &seen;
    options.budget = budget_;
    RunLimits limits;
    const std::int64_t budget = block_budget * static_cast<std::int64_t>(count_);
    limits.warp_instructions = budget;
    // The last block has an edge; and an index that was kept in 16 bits comes round again.
    if (blocks > count_) {
      options.only_blocks = {blocks - 1};
      if (blocks > sixteen_bits) options.only_blocks.push_back(blocks - 1 - sixteen_bits);
      seen.watch({}, outputs_);
      const auto last = module_.run(*prepared.memory, launch.arguments, limits, options);
      if (!last.ok()) return not_run();
      if (auto finding = same_place_twice(seen, planned)) return finding;
    }
    options.only_blocks = choose_blocks(blocks, count_, random_);
    seen.watch(inputs_, outputs_);
    const auto ran = module_.run(*prepared.memory, launch.arguments, limits, options);
    if (!ran.ok()) return not_run();
    const auto places = checked_.coverage.missing(seen);
    if (!places.empty()) return new_path(places.front(), planned);
    const bool cut = ran->status == RunStatus::timeout ||
                     ran->statistics.warp_instructions + 1 >= static_cast<std::uint64_t>(budget);
    partial_ = partial_ || cut;
    const double scale = static_cast<double>(blocks) / static_cast<double>(options.only_blocks.size());
    stored_ += scale * static_cast<double>(seen.stored_bytes());
    loaded_ += scale * static_cast<double>(seen.loaded_bytes());
    return cut ? std::nullopt : same_place_twice(seen, planned);
  }

  std::optional<VerdictFinding> not_run() {
    partial_ = true;
    return std::nullopt;
  }

  VerdictFinding finding(std::string kind, int line, std::string message, std::string advice) const {
    VerdictFinding made;
    made.kind = std::move(kind);
    made.line = line;
    made.message = std::move(message);
    made.advice = std::move(advice);
    return made;
  }

  std::optional<VerdictFinding> new_path(const PathCoverage::Place& place, const KernelLaunch& planned) const {
    VerdictFinding made =
        finding("unchecked_path", static_cast<int>(place.line),
                fmt::format("at {} the kernel does what it does at no size whose values can be checked here ({} {})",
                            to_string(sized_->sizes), place.form, place.condition ? "goes another way" : "is executed"),
                "Let large sizes take the same path as small ones, or judge it on a GPU.");
    made.kernel = planned.kernel;
    if (made.line == 0) made.line = planned.where.line;
    return made;
  }

  std::optional<VerdictFinding> same_place_twice(const PathCoverage& seen, const KernelLaunch& planned) const {
    if (!checked_.blocks_apart) return std::nullopt;
    std::vector<std::uint64_t> starts;
    for (const auto& [block, address] : seen.first_stores()) starts.push_back(address);
    std::sort(starts.begin(), starts.end());
    if (std::adjacent_find(starts.begin(), starts.end()) == starts.end()) return std::nullopt;
    return finding(
        "global_race", planned.where.line,
        fmt::format("at {} two blocks of '{}' write to the same elements", to_string(sized_->sizes), planned.kernel),
        "Is an index too narrow for this size?");
  }

  std::optional<VerdictFinding> compare_work() const {
    if (partial_) return std::nullopt;
    const int line = sized_->plan.launches().back()->where.line;
    if (checked_.storing_share >= 0.9 && checked_.stored_ratio >= 0.99 && checked_.stored_ratio < 1e299 &&
        stored_ < enough * output_bytes_)
      return finding("skips_work", line,
                     fmt::format("at {} only {:.0f} % of the output is written", to_string(sized_->sizes),
                                 100 * stored_ / output_bytes_),
                     "Compute every element at every size.");
    if (checked_.loaded_ratio >= 0.99 && checked_.loaded_ratio < 1e299 && loaded_ < enough * input_bytes_)
      return finding("skips_work", line,
                     fmt::format("at {} only {:.0f} % of the inputs are read", to_string(sized_->sizes),
                                 100 * loaded_ / input_bytes_),
                     "Compute every element from its inputs at every size.");
    return std::nullopt;
  }

  const Task& task_;
  const KernelBuild& build_;
  const LoadedModule& module_;
  const CheckedWork& checked_;
  Random random_;
  WorkBudget* budget_;
  const SizedPlan* sized_ = nullptr;
  std::size_t count_ = 0;  // of blocks that are looked at
  std::vector<AddressRange> inputs_, outputs_;
  double input_bytes_ = 0, output_bytes_ = 0, stored_ = 0, loaded_ = 0;
  bool partial_ = false;  // a launch was cut short: nothing can be said about how much it does
};

}  // namespace

std::optional<VerdictFinding> check_full_size(const Task& task, const KernelBuild& build, const LoadedModule& module,
                                              const SizedPlan& full_size, const CheckedWork& checked,
                                              std::uint64_t secret_seed, WorkBudget* budget) {
  return FullSizeCheck(task, build, module, checked, secret_seed, budget).run(full_size);
}

}  // namespace kw
