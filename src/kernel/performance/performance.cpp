#include "kernel/performance/performance.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "kernel/performance/hot_lines.h"
#include "kernel/performance/plan_profile.h"
#include "kernel/performance/unmodelled.h"

namespace kw {
namespace {

constexpr double scaled_uncertainty = 0.3;  // added when the time comes from smaller sizes
constexpr double incomplete_uncertainty = 1.0;

struct PlanTime {
  TimeEstimate estimate;
  bool complete = true;
};

// Kernels add to the table of terms in proportion to what they contribute.
void add_terms(std::vector<TimeTerm>& sum, const std::vector<TimeTerm>& more) {
  for (const TimeTerm& term : more) {
    auto known = std::find_if(sum.begin(), sum.end(), [&](const TimeTerm& other) { return other.name == term.name; });
    if (known == sum.end())
      sum.push_back(term);
    else
      known->us += term.us;
  }
}

void finish(const DeviceProfile& profile, PlanTime& plan, const std::map<std::string, double>& limited_us,
            double overhead_us, double dram_bytes, double doubt, std::size_t hot_lines) {
  TimeEstimate& estimate = plan.estimate;
  double largest = overhead_us;
  estimate.limiter = "launch overhead";
  for (const auto& [limiter, us] : limited_us) {
    if (us <= largest) continue;
    largest = us;
    estimate.limiter = limiter;
  }
  estimate.terms.push_back({"launch overhead", overhead_us});
  std::stable_sort(estimate.terms.begin(), estimate.terms.end(),
                   [](const TimeTerm& a, const TimeTerm& b) { return a.us > b.us; });
  std::erase_if(estimate.terms, [&](const TimeTerm& term) { return term.us < 1e-3 * estimate.us; });
  if (estimate.us > 0) estimate.dram_fraction = dram_bytes / (estimate.us * 1e3) / profile.dram_gb_per_s;
  const double relative = 1 + profile.uncertainty + doubt;
  estimate.low_us = estimate.us / relative;
  estimate.high_us = estimate.us * relative;
  std::stable_sort(estimate.hot_lines.begin(), estimate.hot_lines.end(),
                   [](const HotLine& a, const HotLine& b) { return a.share > b.share; });
  if (estimate.hot_lines.size() > hot_lines) estimate.hot_lines.resize(hot_lines);
  const auto longest = std::max_element(estimate.kernels.begin(), estimate.kernels.end(),
                                        [](const KernelEstimate& a, const KernelEstimate& b) { return a.us < b.us; });
  if (longest != estimate.kernels.end()) {
    estimate.occupancy = longest->occupancy;
    estimate.waves = longest->waves;
  }
}

KernelEstimate describe(const KernelProfile& profile, const KernelTime& time, const ProfiledLaunch& launch) {
  KernelEstimate kernel;
  kernel.name = launch.name.empty() ? launch.arguments.kernel : launch.name;
  kernel.launches = 0;
  kernel.limiter = time.limiter;
  kernel.terms = time.terms;
  kernel.occupancy = profile.occupancy.fraction();
  kernel.dram_bytes = time.dram_bytes;
  kernel.l2_bytes = time.l2_bytes;
  kernel.warp_instructions = profile.blocks * profile.warp_instructions;
  if (profile.fewest_wavefronts > 0)
    kernel.shared_conflict_degree = profile.shared_wavefronts / profile.fewest_wavefronts;
  if (profile.requests > 0) kernel.sectors_per_request = profile.sectors / profile.requests;
  kernel.emulated_warp_instructions = profile.emulated_warp_instructions;
  kernel.extrapolated = profile.extrapolated;
  return kernel;
}

// A later kernel may read what an earlier one has read.
double input_bytes(const DeviceMemory& memory, const PlanProfile& profiled) {
  std::map<std::int32_t, double> most;
  for (const KernelProfile& kernel : profiled.kernels)
    for (const auto& [index, allocation] : kernel.allocations)
      if (memory.allocations()[static_cast<std::size_t>(index)]->right == MemoryAccessRight::read_only)
        most[index] = std::max(most[index], read_bytes(kernel, allocation));
  double sum = 0;
  for (const auto& [index, bytes] : most) sum += bytes;
  return sum;
}

Result<PlanTime> time_plan(const DeviceProfile& profile, PreparedPlan& plan, const EstimateOptions& options) {
  PlanTime result;
  TimeEstimate& estimate = result.estimate;
  KW_TRY(const PlanProfile profiled, profile_plan(profile, plan, options));
  const PlanCounts& counted = profiled.counts;
  const std::vector<StepTime> times = step_times(profile, counted);
  std::map<std::string, double> limited_us;
  double overhead_us = 0, dram_bytes = 0, doubt = 0, sample_doubt_us = 0;
  auto add_other = [&](const char* what, double us) {
    estimate.us += us;
    limited_us[what] += us;
    add_terms(estimate.terms, {{what, us}});
  };
  if (counted.allocations > 0) add_other("allocations", profile.allocation_us);
  for (std::size_t i = 0; i < counted.steps.size(); ++i) {
    const PlanStep& step = counted.steps[i];
    if (step.kernel < 0) {
      add_other("transfers", times[i].us);
      continue;
    }
    const auto number = static_cast<std::size_t>(step.kernel);
    const KernelProfile& counts = profiled.kernels[number];
    const KernelTime& time = times[i].kernel;
    const bool new_kernel = number == estimate.kernels.size();
    if (new_kernel) {
      estimate.kernels.push_back(describe(counts, time, std::get<ProfiledLaunch>(plan.steps[step.launch])));
      estimate.kernels.back().waves =
          counts.blocks / (static_cast<double>(counts.occupancy.blocks_per_sm) * profile.multiprocessors);
    }
    KernelEstimate& kernel = estimate.kernels[number];
    kernel.launches += 1;
    kernel.us += times[i].us;
    estimate.us += times[i].us;
    overhead_us += times[i].overhead_us;
    limited_us[time.limiter] += time.us;
    dram_bytes += time.dram_bytes;
    add_terms(estimate.terms, time.terms);
    if (!new_kernel) continue;
    for (HotLine& line : find_hot_lines(profile, counts, time, kernel.name, options.hot_lines))
      estimate.hot_lines.push_back(std::move(line));
    if (counts.extrapolated) doubt = std::max(doubt, profile.uncertainty_extrapolated);
    doubt = std::max(doubt, counts.doubt);
    // In proportion to what the kernel adds.
    sample_doubt_us += counts.doubt * times[i].us;
    if (counts.uneven)
      estimate.notes.push_back(kernel.name + ": its blocks or iterations differ from those that were looked at first");
    if (const std::string what = unmodelled_work(profile, std::get<ProfiledLaunch>(plan.steps[step.launch]), counts);
        !what.empty())
      estimate.unknown = kernel.name + " does " + what;
    if (counts.waited) {
      doubt = std::max(doubt, incomplete_uncertainty);
      estimate.notes.push_back(kernel.name + ": a loop that waits for other blocks was left early");
    }
    if (counts.stopped) {
      doubt = std::max(doubt, incomplete_uncertainty);
      estimate.notes.push_back(kernel.name +
                               ": the threads of a sampled block waited for each other for ever; the time is too low");
    }
    // A kernel could recognise made-up contents, and end there before it has worked.
    if (counts.trapped) estimate.unknown = kernel.name + " trapped, or failed an assertion, where it was to be timed";
    if (!counts.complete) {
      doubt = std::max(doubt, incomplete_uncertainty);
      result.complete = false;
      estimate.notes.push_back(kernel.name + ": its blocks did not end within the budget; the time is too low");
    }
  }
  estimate.input_bytes = input_bytes(*plan.memory, profiled);
  // Shares were of each kernel; make them shares of the plan.
  for (HotLine& line : estimate.hot_lines)
    for (const KernelEstimate& kernel : estimate.kernels)
      if (kernel.name == line.kernel && estimate.us > 0) {
        line.share *= kernel.us / estimate.us;
        break;
      }
  finish(profile, result, limited_us, overhead_us, dram_bytes, doubt, options.hot_lines);
  estimate.slow_us = std::min(estimate.us + sample_doubt_us, estimate.high_us);
  return result;
}

void scale(TimeEstimate& estimate, double factor) {
  estimate.us *= factor;
  estimate.slow_us *= factor * (1 + scaled_uncertainty);
  estimate.low_us *= factor / (1 + scaled_uncertainty);
  estimate.high_us *= factor * (1 + scaled_uncertainty);
  for (TimeTerm& term : estimate.terms) term.us *= factor;
  for (KernelEstimate& kernel : estimate.kernels) kernel.us *= factor;
}

}  // namespace

Result<TimeEstimate> estimate_plan(const DeviceProfile& profile, PreparedPlan& plan, const EstimateOptions& options) {
  KW_TRY(PlanTime result, time_plan(profile, plan, options));
  return std::move(result.estimate);
}

Result<TimeEstimate> estimate(const DeviceProfile& profile, const std::vector<PlanCandidate>& candidates,
                              const EstimateOptions& options) {
  if (candidates.empty()) return Error{"there is no plan to estimate", "", {}};
  std::vector<std::pair<std::size_t, PlanTime>> timed;
  PlanTime largest;
  for (std::size_t i = 0; i < candidates.size() && timed.size() < 2; ++i) {
    KW_TRY(PreparedPlan plan, candidates[i].prepare());
    KW_TRY(PlanTime time, time_plan(profile, plan, options));
    if (i == 0) {
      if (time.complete) return std::move(time.estimate);
      largest = time;
    }
    if (time.complete) timed.emplace_back(i, std::move(time));
  }
  if (timed.empty()) return std::move(largest.estimate);
  const double overhead = profile.launch_us;
  double exponent = 1;
  const auto& [index, base] = timed[0];
  const double work = std::max(candidates[index].work, 1e-30);
  if (timed.size() == 2) {
    const double ratio = work / std::max(candidates[timed[1].first].work, 1e-30);
    const double times =
        std::max(base.estimate.us - overhead, 1e-3) / std::max(timed[1].second.estimate.us - overhead, 1e-3);
    if (ratio > 1) exponent = std::clamp(std::log(times) / std::log(ratio), 0.3, 1.5);
  }
  TimeEstimate result = base.estimate;
  scale(result, std::pow(candidates[0].work / work, exponent));
  result.notes.push_back(fmt::format("timed at {} and scaled to {} with exponent {:.2f}", candidates[index].sizes,
                                     candidates[0].sizes, exponent));
  return result;
}

}  // namespace kw
