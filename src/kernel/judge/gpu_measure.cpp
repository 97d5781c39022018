// The part of a trial that measures: against the naive kernel, alone on the GPU.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernel/counters/advice.h"
#include "kernel/gpu/clock_state.h"
#include "kernel/judge/floor.h"
#include "kernel/judge/gpu_times.h"
#include "kernel/judge/gpu_trial.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds load_limit{20000};
constexpr milliseconds start_limit{3000};
constexpr milliseconds profile_limit{20000};
// Of the device's peak: what is faster than this with every byte from memory has not moved the bytes.
constexpr double believable = 0.93;
constexpr double slow_ms = 400;  // from here on one round has to do
constexpr double budget_ms = 9;  // for a size, beyond the least number of rounds

}  // namespace

bool GpuTrial::measure() {
  for (std::size_t i = 0; i < subject_.task.sizes_train.size(); ++i)
    if (!measure_size(i)) return false;
  summarise_times(verdict_);
  const auto& flags = verdict_.flags;
  if (std::find(flags.begin(), flags.end(), "below_roofline") != flags.end()) {
    verdict_.speedup_naive.reset();
    verdict_.speedup_pytorch.reset();
    verdict_.speedup_pytorch_interval.reset();
    verdict_.speedup_pytorch_tf32.reset();
    verdict_.share_of_limit.reset();
    verdict_.speedup_interval.reset();
    verdict_.faster_than_naive = false;
  }
  MeasuredOn on;
  on.device = backend_.facts().name;
  on.driver_version = backend_.facts().driver_version;
  on.worker = backend_.facts().protection;
  if (const auto state = read_clock_state(backend_.facts().uuid); state.ok()) {
    on.sm_clock_mhz = state->sm_clock_mhz;
    on.memory_clock_mhz = state->memory_clock_mhz;
    on.temperature_c = state->temperature_c;
    on.throttled = state->throttled;
  }
  verdict_.measured_on = on;
  return true;
}

// The floor of the device that is there, whatever its name.
void GpuTrial::note_floor(SizedTime& time) {
  DeviceCeiling ceiling = ceiling_of(backend_.facts());
  ceiling.dram_gb_per_s = std::max(ceiling.dram_gb_per_s, subject_.dram_gb_per_s);
  const Floor floor = floor_of(subject_.task, time.sizes, ceiling, subject_.loaded_share);
  // A floor above the naive kernel's time would be a wrong one.
  if (time.naive_us && floor.us > *time.naive_us) return;
  time.limit_us = floor.us;
  time.limit = floor.what;
  if (time.time_us >= believable * floor.us) return;
  verdict_.flags.push_back("below_roofline");
  VerdictFinding finding;
  finding.kind = "below_roofline";
  finding.severity = Severity::note;
  finding.message = fmt::format("{:.2f} us were measured at {}, but {} take {:.2f} us", time.time_us,
                                to_string(time.sizes), floor.what, floor.us);
  add_finding(verdict_, std::move(finding));
}

bool GpuTrial::measure_size(std::size_t train_size) {
  const auto& full = subject_.full.at(train_size);
  const std::string where = to_string(full->sizes);
  const auto& naive = subject_.naive;
  auto plan = gpu_plan(plan_of_size(train_size), kernel_.kernels);
  if (!plan.ok()) return stop(VerdictStatus::fault, "out_of_bounds", plan.error().message);
  TimeRequest request;
  request.inputs = full->inputs->id();
  request.seed = next_seed();
  request.candidate = {kernel_.id, std::move(plan).value()};
  request.samples = full->timed_samples;
  request.budget_ms = budget_ms;
  const double about_ms = about_us_.at(train_size) / 1000;
  if (about_ms > slow_ms) request.least_rounds = request.most_rounds = request.input_sets = 1;
  const auto limit =
      (start_limit + milliseconds(static_cast<int>(100 * about_ms + 30 * budget_ms)) + data_.naive_limit(train_size)) *
      backend_.options_.patience;
  const auto lay_out = [&] {
    auto done = worker_.load_inputs(*full->inputs, load_limit);
    if (done.done() && naive != nullptr && naive->plans[train_size]) {
      done = worker_.load_module(naive->kernel.module(), load_limit);
      request.baseline = TimedPlan{naive->kernel.id, *naive->plans[train_size]};
    }
    return done.done() ? worker_.lay_out_timing(request, limit) : done;
  };
  stage("between");
  const bool ahead = full->input_bytes + full->output_bytes <= backend_.options_.laid_out_ahead_bytes;
  auto laid_out = GpuAnswer<Nothing>{GpuEnd::no_memory, {}, {}};
  if (ahead) {
    // What need not be alone: everybody else waits for the turn that is.
    const SharedTurn turn(backend_.pool_->turns());
    laid_out = lay_out();
  }
  if (laid_out.end != GpuEnd::no_memory && !accept(laid_out, where)) return false;
  stage("load, lay out");
  GpuAnswer<TimeReply> answer;
  {
    const AloneTurn turn(backend_.pool_->turns());
    stage("wait to be alone");
    if (!laid_out.done()) laid_out = lay_out();
    if (!accept(laid_out, where)) return false;
    answer = worker_.time(limit);
    stage("alone on the GPU");
    static constexpr const char* names[] = {"timer: lay out", "timer: clocks", "timer: warm up",
                                            "timer: graphs",  "timer: rounds", "timer: look after"};
    for (std::size_t i = 0; i < std::min(answer.value.spent_ms.size(), std::size(names)); ++i)
      verdict_.stages_ms.emplace_back(names[i], answer.value.spent_ms[i]);
  }
  if (!accept(answer, where) || !accept(answer.value.memory, plan_of_size(train_size), where)) return false;
  if (answer.value.candidate_us.empty())
    return stop(VerdictStatus::internal_error, "worker_lost", "the worker measured nothing");
  if (!answer.value.baseline_us.empty()) data_.note_naive_us(train_size, median(answer.value.baseline_us));
  if (!check_timed_outputs(*full, answer.value)) return false;

  SizedTime time = sized_time(full->sizes, answer.value);
  if (full->pytorch) {
    time.pytorch_us = full->pytorch->us;
    time.pytorch_interval_us = full->pytorch->interval_us;
  }
  if (full->pytorch_tf32) {
    time.pytorch_tf32_us = full->pytorch_tf32->us;
    time.pytorch_tf32_interval_us = full->pytorch_tf32->interval_us;
  }
  if (backend_.rates_.to_device_gb_per_s > 0 && backend_.rates_.to_host_gb_per_s > 0)
    time.transfer_us = static_cast<double>(full->input_bytes) / backend_.rates_.to_device_gb_per_s / 1000 +
                       static_cast<double>(full->output_bytes) / backend_.rates_.to_host_gb_per_s / 1000;
  note_floor(time);
  verdict_.times.push_back(std::move(time));
  return true;
}

// Counters of the hardware at the first train size. A kernel that is right stays right without them.
void GpuTrial::profile() {
  const auto& full = subject_.full.at(0);
  auto plan = gpu_plan(plan_of_size(0), kernel_.kernels);
  if (!plan.ok()) return;
  RunRequest request;
  request.slot = kernel_.id;
  request.inputs = full->inputs->id();
  request.plan = std::move(plan).value();
  request.placement_seed = next_seed();
  const AloneTurn turn(backend_.pool_->turns());
  if (!worker_.load_inputs(*full->inputs, load_limit).done()) return;
  const auto report = worker_.profile(request, profile_limit);
  if (!report.done()) {
    VerdictFinding finding;
    finding.kind = "no_counters";
    finding.severity = Severity::note;
    finding.message = "the hardware's counters could not be read: " + report.text;
    add_finding(verdict_, std::move(finding));
    return;
  }
  verdict_.counters = report.value.kernels;
  const auto launches = plan_of_size(0).launches();
  for (std::size_t i = 0; i < std::min(launches.size(), verdict_.counters.size()); ++i)
    verdict_.counters[i].kernel = launches[i]->kernel;
  // Of the kernel that takes longest.
  const auto longest =
      std::max_element(verdict_.counters.begin(), verdict_.counters.end(),
                       [](const KernelCounters& a, const KernelCounters& b) { return a.duration_us < b.duration_us; });
  if (longest == verdict_.counters.end()) return;
  const CounterAdvice advice = advise(*longest);
  if (advice.limiter != "unknown") verdict_.measured_limiter = advice.limiter;
  for (const std::string& sentence : advice.sentences) {
    VerdictFinding finding;
    finding.kind = "counters";
    finding.severity = Severity::note;
    finding.kernel = longest->kernel;
    finding.message = sentence;
    add_finding(verdict_, std::move(finding));
  }
}

// The outputs that the last timed runs left must be those of the naive kernel for the same inputs: nothing may be
// skipped once it is only the time that is looked at.
bool GpuTrial::check_timed_outputs(const FullSizeCase& full, const TimeReply& reply) {
  const std::size_t outputs = subject_.task.outputs.size();
  const std::size_t sets = reply.candidate_outputs.size() / std::max<std::size_t>(outputs, 1);
  if (sets == 0) return stop(VerdictStatus::internal_error, "worker_lost", "the worker's answer lacks outputs");
  for (std::size_t set = 0; set < sets; ++set) {
    std::vector<OutputTensor> truth = full.timed_truth;
    double slack = 1.0001;  // set 0 has the inputs of the case itself
    if (set > 0) {
      if (reply.baseline_outputs.size() != reply.candidate_outputs.size()) break;
      slack = 8;  // the naive kernel may be far off; this is about work that is not done
      for (std::size_t i = 0; i < outputs; ++i)
        truth[i] = {truth[i].name, subject_.task.outputs[i].dtype, truth[i].shape,
                    reply.baseline_outputs[set * outputs + i]};
    }
    if (!compare_sample(full, full.timed_places, reply.candidate_outputs, set * outputs, truth, slack,
                        " in a timed run"))
      return false;
  }
  return true;
}

}  // namespace kw
