// The part of the judge that knows the naive kernel and models times.

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "base/hash.h"
#include "kernel/judge/emulated_device.h"
#include "kernel/judge/floor.h"
#include "kernel/judge/full_size.h"
#include "kernel/judge/full_size_run.h"
#include "kernel/judge/gpu_times.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/missing_time.h"
#include "kernel/judge/task_entry.h"

namespace kw {
namespace {

constexpr std::int64_t most_naive_work = 20'000'000;
constexpr const char* rough_time = "rough_time";
constexpr const char* below_roofline = "below_roofline";

struct Means {
  double time = 0, low = 0, high = 0, slow = 0, naive = 0;
  bool naive_known = true;
};

// The plan as it was executed to check its values.
PlanCandidate executed_candidate(const FullSizeRun& run, const SizedPlan& plan) {
  PlanCandidate candidate;
  candidate.sizes = to_string(plan.sizes);
  candidate.prepare = [&run] { return run.prepare_for_model(); };
  return candidate;
}

void add_hint(Verdict& verdict, std::string kind, std::string message) {
  VerdictFinding hint;
  hint.kind = std::move(kind);
  hint.severity = Severity::note;
  hint.message = std::move(message);
  add_finding(verdict, std::move(hint));
}

// Of the inputs' bytes at a size.
double loaded_share(const SizedPlan& plan, double loaded_bytes) {
  double bytes = 0;
  for (const Buffer& buffer : plan.plan.buffers)
    if (buffer.kind == Buffer::Kind::input) bytes += static_cast<double>(buffer.bytes);
  return bytes > 0 ? std::clamp(loaded_bytes / bytes, 0.0, 1.0) : 0;
}

void add_flag(Verdict& verdict, const char* flag) {
  if (std::find(verdict.flags.begin(), verdict.flags.end(), flag) == verdict.flags.end()) verdict.flags.push_back(flag);
}

// Which blocks and iterations the model looks at must not be known to whoever writes a kernel, and be the same for the
// same code.
// Of the fingerprint: the compiler puts a random number into some names of the PTX.
std::uint64_t secret_seed(const std::string& secret, const KernelBuild& build) {
  return std::stoull(Sha256().add(secret).add("times").add(build.compiled.ptx_fingerprint).hex().substr(0, 15), nullptr,
                     16);
}

// No modelled time is below what the task needs at least. A floor above the naive kernel's time would be a wrong one.
void raise_to_floor(const Floor& floor, const std::optional<double>& naive_us, SizedTime& time, double& slow_us,
                    Verdict& verdict) {
  if (naive_us && floor.us > *naive_us) return;
  time.limit_us = floor.us;
  time.limit = floor.what;
  if (time.time_us >= floor.us) return;
  add_flag(verdict, below_roofline);
  add_hint(verdict, below_roofline,
           fmt::format("the modelled time at {} was {:.2f} us, but {} take {:.2f} us: that is taken instead",
                       to_string(time.sizes), time.time_us, floor.what, floor.us));
  const double factor = floor.us / time.time_us;
  time.time_us = floor.us;
  time.interval_us.low = floor.us;
  time.interval_us.high *= factor;
  slow_us = std::max(slow_us, floor.us);
}

}  // namespace

std::vector<std::uint64_t> Judge::naive_work(TaskEntry& entry, int set) {
  std::lock_guard lock(entry.naive_mutex);
  auto& known = entry.naive_work.at(static_cast<std::size_t>(set));
  if (known) return *known;
  known.emplace();
  const Task& task = entry.book.task();
  const auto questions = entry.book.questions(set);
  if (task.naive.empty() || !questions.ok()) return *known;
  BuildOptions build_options;
  build_options.architecture = options_.profile.architecture;
  // Whether a case is left out must not depend on private inputs: for that the naive kernel gets always the same.
  std::vector<std::vector<InputTensor>> inputs;
  for (const Case& question : **questions) {
    auto open_inputs = make_inputs(task, question.sizes, full_size_seed);
    const bool open = question.optional && open_inputs.ok();
    inputs.push_back(open ? std::move(open_inputs).value() : question.inputs);
    build_options.plans.push_back({question.sizes, scalar_values(inputs.back())});
  }
  const KernelBuild build = build_kernel(service_, task, task.naive, task.naive_file, build_options);
  if (!build.built()) return *known;
  const auto module = LoadedModule::load(build.compiled.ptx, task.naive_file);
  if (!module.ok()) return *known;
  RunLimits limits;
  limits.warp_instructions = most_naive_work;
  for (const Case& question : **questions) {
    EmulatedDevice device(*module, build.compiled.kernels);
    const auto ran = device.run(build.plans[question.question].plan, inputs[question.question], limits, {});
    known->push_back(ran.ok() ? ran->warp_instructions : 0);
  }
  return *known;
}

Judge::NaiveTimes Judge::naive_times(TaskEntry& entry) {
  std::lock_guard lock(entry.naive_mutex);
  if (entry.naive) return *entry.naive;
  const Task& task = entry.book.task();
  NaiveTimes& known = entry.naive.emplace();
  known.us.resize(task.sizes_train.size());
  known.loaded_share.resize(task.sizes_train.size());
  const auto without = [&](const std::string& problem) {
    known.problem = problem;
    return known;
  };
  if (task.naive.empty()) return without("the task has no naive kernel");
  BuildOptions build_options;
  build_options.architecture = options_.profile.architecture;
  for (const Sizes& sizes : task.sizes_train) {
    const auto scalars = scalars_at(task, sizes, full_size_seed);
    if (!scalars.ok()) return without(scalars.error().message);
    build_options.plans.push_back({sizes, *scalars});
  }
  const KernelBuild build = build_kernel(service_, task, task.naive, task.naive_file, build_options);
  if (!build.built()) return without("the naive kernel was not built: " + build.problem.message);
  const auto module = LoadedModule::load(build.compiled.ptx, task.naive_file);
  if (!module.ok()) return without("the naive kernel cannot be emulated: " + module.error().message);
  for (std::size_t i = 0; i < build.plans.size(); ++i) {
    const auto made = estimate(
        options_.profile, {full_size_candidate(task, build.plans[i], *module, build.compiled.kernels, full_size_seed)});
    if (made.ok()) {
      known.us[i] = made->us;
      known.loaded_share[i] = loaded_share(build.plans[i], made->input_bytes);
    } else {
      known.problem =
          "the naive kernel cannot be timed at " + to_string(build.plans[i].sizes) + ": " + made.error().message;
    }
  }
  return known;
}

void Judge::explain_time(const KernelBuild& build, const LoadedModule& module, const Task& task,
                         std::size_t first_timed_plan, WorkBudget& budget, Verdict& verdict) {
  EstimateOptions estimating;
  estimating.budget = &budget;
  estimating.seed = secret_seed(options_.secret, build);
  const auto made = estimate(options_.profile,
                             {full_size_candidate(task, build.plans.at(first_timed_plan), module,
                                                  build.compiled.kernels, full_size_seed, &budget)},
                             estimating);
  if (!made.ok()) return;
  verdict.limiter = made->limiter;
  verdict.terms = made->terms;
  verdict.hot_lines = made->hot_lines;
  if (!verdict.times.empty()) verdict.times.front().limiter = made->limiter;
}

void Judge::add_times(TaskEntry& entry, const KernelBuild& build, const std::vector<std::unique_ptr<FullSizeRun>>& runs,
                      std::size_t first_timed_plan, WorkBudget& budget, Verdict& verdict, double checked_share) {
  const Task& task = entry.book.task();
  const auto start = std::chrono::steady_clock::now();
  const auto naive = naive_times(entry);
  budget.forgive(std::chrono::steady_clock::now() - start);
  EstimateOptions estimating;
  estimating.budget = &budget;
  estimating.seed = secret_seed(options_.secret, build);
  const DeviceCeiling ceiling = ceiling_of(options_.profile);
  Means logs;
  for (std::size_t i = first_timed_plan; i < build.plans.size(); ++i) {
    const auto made =
        estimate(options_.profile, {executed_candidate(*runs.at(i - first_timed_plan), build.plans[i])}, estimating);
    if (!made.ok()) {
      set_no_time(verdict,
                  "the time at " + to_string(build.plans[i].sizes) + " cannot be modelled: " + made.error().message,
                  made.error().advice);
      return;
    }
    if (!made->unknown.empty()) {
      set_no_time(verdict, "the kernel's time cannot be modelled: " + made->unknown, "Judge it on a GPU.");
      return;
    }
    for (const std::string& note : made->notes) {
      add_hint(verdict, rough_time, "the time at " + to_string(build.plans[i].sizes) + " is rough: " + note);
      add_flag(verdict, rough_time);
    }
    SizedTime time{build.plans[i].sizes,
                   made->us,
                   {made->low_us, made->high_us},
                   naive.us[i - first_timed_plan],
                   made->limiter,
                   {},
                   {}};
    double slow_us = made->slow_us;
    const double share = std::min(checked_share, naive.loaded_share[i - first_timed_plan]);
    raise_to_floor(floor_of(task, time.sizes, ceiling, share), time.naive_us, time, slow_us, verdict);
    logs.slow += std::log(slow_us);
    logs.time += std::log(time.time_us);
    logs.low += std::log(time.interval_us.low);
    logs.high += std::log(time.interval_us.high);
    logs.naive_known = logs.naive_known && time.naive_us.has_value();
    if (time.naive_us) logs.naive += std::log(*time.naive_us);
    verdict.times.push_back(std::move(time));
    if (i != first_timed_plan) continue;
    verdict.limiter = made->limiter;
    verdict.terms = made->terms;
    verdict.hot_lines = made->hot_lines;
  }
  if (verdict.times.empty()) return;
  const auto count = static_cast<double>(verdict.times.size());
  verdict.time_source = "modelled";
  note_share_of_limit(verdict);
  verdict.time_us = std::exp(logs.time / count);
  verdict.time_interval_us = Interval{std::exp(logs.low / count), std::exp(logs.high / count)};
  if (logs.naive_known)
    // What the sampled blocks leave open is not paid for.
    verdict.speedup_naive = std::exp((logs.naive - logs.slow) / count);
  else if (!task.naive.empty())
    add_hint(verdict, "no_speedup", "there is no speedup: " + naive.problem);
}

}  // namespace kw
