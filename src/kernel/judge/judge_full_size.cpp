// The part of the judge that looks at the sizes where a kernel is timed: are its values right there?

#include <algorithm>
#include <chrono>
#include <numeric>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/log.h"
#include "kernel/judge/full_size.h"
#include "kernel/judge/full_size_run.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/missing_time.h"
#include "kernel/judge/task_entry.h"

namespace kw {
namespace {

constexpr std::uint64_t audited_one_in = 50;  // of all verdicts, chosen in secret
// A kernel of which everything has to be executed is asked with some of the unusual inputs, drawn for it, not with all.
constexpr std::uint64_t dear_check = 15'000'000;  // warp instructions

// The relative part of each output's bound where everything is checked.
std::vector<double> small_bounds(const CaseSet& cases) {
  std::vector<double> relative;
  for (const Case& one : cases.cases) {
    relative.resize(one.bounds.size());
    for (std::size_t i = 0; i < one.bounds.size() && one.kind == InputKind::ordinary; ++i)
      relative[i] = std::max(relative[i], one.bounds[i].relative);
  }
  return relative;
}

// Have elements been seen whose truth jumps? Equal values, which part when they are nudged, do not count.
bool outputs_may_jump(const CaseSet& cases) {
  return std::any_of(cases.cases.begin(), cases.cases.end(), [](const Case& one) {
    if (one.kind == InputKind::patterned || one.kind == InputKind::extreme) return false;
    return std::any_of(one.bounds.begin(), one.bounds.end(),
                       [](const ErrorBound& bound) { return !bound.unstable.empty(); });
  });
}

// Takes over what was found. False unless it is right.
bool take_outcome(FullSizeOutcome outcome, Verdict& verdict) {
  verdict.audit.push_back(std::move(outcome.audit));
  for (VerdictFinding& finding : outcome.findings) add_finding(verdict, std::move(finding));
  if (outcome.status == VerdictStatus::correct) return true;
  verdict.status = outcome.status;
  verdict.full_size = outcome.status == VerdictStatus::unsupported ? "unchecked" : "checked";
  verdict.summary = verdict.findings.empty() ? "wrong at full size" : verdict.findings.back().message;
  return false;
}

}  // namespace

bool Judge::TaskEntry::gets_unusual_inputs(double share) const {
  const std::string drawn = Sha256().add(secret).add(identity).add("unusual inputs").hex().substr(0, 8);
  return static_cast<double>(std::stoull(drawn, nullptr, 16)) < share * 0x1p32;
}

void Judge::TaskEntry::prepare_truths(const CaseSet& cases, double unusual_share) {
  std::set<InputKind> fair;
  for (const Case& one : cases.cases)
    if (gets_unusual_inputs(unusual_share)) fair.insert(one.kind);
  truths.prepare(outputs_may_jump(cases), small_bounds(cases), std::move(fair));
}

// Secret elements of every train size are computed and compared.
std::vector<std::unique_ptr<FullSizeRun>> Judge::check_full_sizes(TaskEntry& entry, const KernelBuild& build,
                                                                  const LoadedModule& module,
                                                                  std::size_t first_timed_plan, std::string_view text,
                                                                  WorkBudget& budget, Verdict& verdict) {
  const std::uint64_t seed = std::stoull(Sha256().add(options_.secret).add(text).hex().substr(0, 15), nullptr, 16);
  const bool audit = options_.audit || (seed >> 8) % audited_one_in == 0;
  std::vector<std::unique_ptr<FullSizeRun>> runs;
  std::vector<std::uint64_t> costs;  // of each size, in units of the budget
  for (std::size_t i = first_timed_plan; i < build.plans.size(); ++i) {
    const auto answering = std::chrono::steady_clock::now();
    const auto truth = entry.truths.at(i - first_timed_plan);
    budget.forgive(std::chrono::steady_clock::now() - answering);
    if (!truth.ok()) {
      verdict.full_size = "unchecked";
      set_no_time(verdict, "the values at full size are unchecked: " + truth.error().message, truth.error().advice);
      return {};
    }
    auto run =
        std::make_unique<FullSizeRun>(entry.book.task(), build, module, build.plans[i], *truth, seed + i, &budget);
    const std::uint64_t before = budget.spent();
    FullSizeOutcome outcome = run->check(audit);
    costs.push_back(budget.spent() - before);
    if (outcome.too_much_work && too_heavy(entry, i - first_timed_plan)) {
      verdict.audit.push_back(std::move(outcome.audit));
      verdict.full_size = "unchecked";
      verdict.flags.push_back("unchecked_path");
      set_no_time(
          verdict,
          fmt::format("the values at {} are unchecked: the task takes more work there than a judgement may take",
                      to_string(build.plans[i].sizes)),
          "Judge it on a GPU, or declare smaller train sizes.");
      return {};
    }
    if (!take_outcome(std::move(outcome), verdict)) return {};
    runs.push_back(std::move(run));
  }
  if (!check_unusual_inputs(entry, build, module, first_timed_plan, costs, seed, budget, verdict)) return {};
  verdict.full_size = "checked";
  return runs;
}

bool Judge::check_unusual_inputs(TaskEntry& entry, const KernelBuild& build, const LoadedModule& module,
                                 std::size_t first_timed_plan, const std::vector<std::uint64_t>& costs,
                                 std::uint64_t seed, WorkBudget& budget, Verdict& verdict) {
  const std::size_t mixes = all_input_mixes.size();
  // The size that took least work comes first; which mix, is drawn.
  std::vector<std::size_t> sizes(build.plans.size() - first_timed_plan);
  std::iota(sizes.begin(), sizes.end(), std::size_t{0});
  std::stable_sort(sizes.begin(), sizes.end(), [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
  const std::uint64_t checked = std::accumulate(costs.begin(), costs.end(), std::uint64_t{0});
  std::uint64_t spent = 0;
  for (std::size_t k = 0; k < sizes.size() * mixes && spent <= dear_check; ++k) {
    const std::size_t train_size = sizes[k / mixes];
    const InputMix mix = all_input_mixes[(k + seed) % mixes];
    // The times have to be modelled, too, which takes about as much as the checks did.
    if (budget.left() < checked + checked / 2 + 2 * costs[train_size]) {
      verdict.audit.back().assumed.push_back(
          fmt::format("unusual inputs change nothing at {}: to try them there takes too much work",
                      to_string(build.plans[first_timed_plan + train_size].sizes)));
      return true;
    }
    const auto answering = std::chrono::steady_clock::now();
    const auto truth = entry.truths.unusual(train_size, mix);
    budget.forgive(std::chrono::steady_clock::now() - answering);
    if (!truth.ok())
      log_event(LogLevel::debug, "no_unusual_inputs",
                {{"task", entry.book.task().name}, {"reason", truth.error().message}});
    if (!truth.ok() || *truth == nullptr) continue;
    FullSizeRun run(entry.book.task(), build, module, build.plans[first_timed_plan + train_size], *truth,
                    seed ^ (k + 1), &budget);
    if (!take_outcome(run.check(false), verdict)) return false;
    spent += verdict.audit.back().warp_instructions;
  }
  return true;
}

bool Judge::too_heavy(TaskEntry& entry, std::size_t train_size) {
  std::lock_guard lock(entry.naive_mutex);
  if (const auto known = entry.too_heavy.find(train_size); known != entry.too_heavy.end()) return known->second;
  bool& heavy = entry.too_heavy[train_size];
  const Task& task = entry.book.task();
  const Sizes& sizes = task.sizes_train.at(train_size);
  const auto scalars = scalars_at(task, sizes, full_size_seed);
  const auto truth = entry.truths.at(train_size);
  if (task.naive.empty() || !scalars.ok() || !truth.ok()) return heavy;
  BuildOptions build_options;
  build_options.architecture = options_.profile.architecture;
  build_options.plans.push_back({sizes, *scalars});
  const KernelBuild build = build_kernel(service_, task, task.naive, task.naive_file, build_options);
  if (!build.built()) return heavy;
  const auto module = LoadedModule::load(build.compiled.ptx, task.naive_file);
  if (!module.ok()) return heavy;
  // Half of a judgement's work: the kernel's other checks take some, too.
  WorkLimits limits = work_limits(options_.limits);
  limits.units /= 2;
  WorkBudget budget(limits);
  heavy = FullSizeRun(task, build, *module, build.plans.front(), *truth, 1, &budget).check(false).too_much_work;
  return heavy;
}

}  // namespace kw
