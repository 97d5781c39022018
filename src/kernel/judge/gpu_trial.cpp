#include "kernel/judge/gpu_trial.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernel/gpu/device_session.h"
#include "kernel/judge/missing_time.h"
#include "kernel/judge/wrong_answer.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

// A right kernel takes microseconds for a small case and at most a few dozen milliseconds for a full size.
constexpr milliseconds case_limit{2000};
constexpr milliseconds full_size_limit{15000};
constexpr milliseconds load_limit{20000};

// What a fault is called where the emulator finds it.
std::string kind_of_fault(const std::string& text) {
  if (text.find("ILLEGAL_ADDRESS") != std::string::npos) return "out_of_bounds";
  if (text.find("MISALIGNED") != std::string::npos) return "misaligned";
  if (text.find("STACK") != std::string::npos) return "stack_overflow";
  return "device_fault";
}

bool is_poison(std::string_view bytes, std::int64_t element, std::size_t width) {
  char pattern[8];
  std::memcpy(pattern, &poison_word, 4);
  std::memcpy(pattern + 4, &poison_word, 4);
  const std::size_t at = static_cast<std::size_t>(element) * width;
  // Buffers begin at a multiple of a word.
  return std::memcmp(bytes.data() + at, pattern + at % 4, std::min(width, sizeof pattern - at % 4)) == 0;
}

}  // namespace

void GpuTrial::stage(const char* name) {
  const auto now = std::chrono::steady_clock::now();
  const double ms = std::chrono::duration<double, std::milli>(now - stage_start_).count();
  verdict_.stages_ms.emplace_back(name, ms);
  stage_start_ = now;
}

bool GpuTrial::stop(VerdictStatus status, std::string kind, std::string message, std::string advice) {
  verdict_.status = status;
  verdict_.summary = message;
  VerdictFinding finding;
  finding.kind = std::move(kind);
  finding.message = std::move(message);
  finding.advice = std::move(advice);
  const auto launches = subject_.build.plans.front().plan.launches();
  if (!launches.empty()) finding.line = launches.back()->where.line;
  add_finding(verdict_, std::move(finding));
  return false;
}

bool GpuTrial::refuse(GpuEnd end, const std::string& text, const std::string& where) {
  switch (end) {
    case GpuEnd::done:
      return true;
    case GpuEnd::fault:
      return stop(VerdictStatus::fault, kind_of_fault(text), fmt::format("{} at {}", text, where),
                  "Check every index against the size of its array, and the alignment of vector accesses.");
    case GpuEnd::timeout:
      return stop(VerdictStatus::timeout, "endless", fmt::format("the kernel did not end in time at {}", where),
                  "Look for loops without an end, and barriers or flags that not all threads reach.");
    case GpuEnd::refused:
      return stop(VerdictStatus::launcher_error, "launch_refused",
                  fmt::format("the driver refuses the launch at {}: {}", where, text),
                  "Check grid, block and shared memory against the device's limits.");
    case GpuEnd::no_memory:
      return stop(VerdictStatus::internal_error, "no_memory", fmt::format("the GPU has no memory left at {}", where));
    case GpuEnd::lost:
      break;
  }
  return stop(VerdictStatus::internal_error, "worker_lost", fmt::format("{} at {}", text, where));
}

bool GpuTrial::accept(const MemoryState& memory, const LaunchPlan& plan, const std::string& where) {
  if (memory.inputs_changed) {
    worker_.retire();
    return stop(VerdictStatus::fault, "input_overwritten", fmt::format("an input was overwritten at {}", where),
                "Inputs are read-only; write to the outputs or to scratch memory.");
  }
  if (memory.overrun_buffer < 0) return true;
  worker_.retire();
  const auto buffer = static_cast<std::size_t>(memory.overrun_buffer);
  return stop(VerdictStatus::fault, "out_of_bounds",
              fmt::format("memory beside '{}' was overwritten at {}",
                          buffer < plan.buffers.size() ? plan.buffers[buffer].name : "?", where),
              "Check the index of every store against the array's size.");
}

bool GpuTrial::load() {
  const SharedTurn turn(backend_.pool_->turns());
  const auto module = worker_.load_module(backend_.helpers_.module(), load_limit);
  if (!module.done())
    return stop(VerdictStatus::internal_error, "worker_lost", "the worker takes no device code: " + module.text);
  kernel_ = gpu_kernel(subject_.build.compiled, backend_.use_ptx_);
  const auto loaded = worker_.load_module(kernel_.module(), load_limit);
  if (loaded.end == GpuEnd::refused)
    return stop(VerdictStatus::unsupported, "module_refused", "the driver does not load it: " + loaded.text);
  return accept(loaded, "load");
}

bool GpuTrial::compare_all(const Case& one, const std::vector<std::string>& outputs) {
  Comparison worst;
  std::size_t worst_output = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].size() / bytes_of(subject_.task.outputs[i].dtype) !=
        one.truth[i].bytes.size() / bytes_of(one.truth[i].dtype))
      return stop(VerdictStatus::internal_error, "worker_lost", "the worker's outputs have a wrong size");
    const Comparison each = compare(one.truth[i], subject_.task.outputs[i].dtype, outputs[i], one.bounds[i]);
    const bool worse = i == 0 || (worst.ok && !each.ok) ||
                       (worst.ok == each.ok && each.error * worst.allowed > worst.error * each.allowed);
    if (!worse) continue;
    worst = each;
    worst_output = i;
  }
  const TensorSpec& output = subject_.task.outputs[worst_output];
  verdict_.cases.push_back(
      {one.sizes, one.hidden, one.seed, one.kind, output.name, worst.error, worst.allowed, worst.ok});
  if (worst.ok) return true;
  if (is_poison(outputs[worst_output], worst.worst, bytes_of(output.dtype)))
    return stop(
        VerdictStatus::wrong, "unwritten_output",
        fmt::format("{} is never written at {}", element_name(output, one.sizes, worst.worst), to_string(one.sizes)),
        "Check the grid size (round up), the bounds check and the tail.");
  const VerdictFinding found = describe(WrongAnswer{subject_.task, one, output, worst, outputs[worst_output]});
  if (found.kind == "reduced_precision") verdict_.flags.push_back(found.kind);
  return stop(VerdictStatus::wrong, found.kind, found.message, found.advice);
}

bool GpuTrial::run_together(const std::vector<const Case*>& cases, std::vector<RunReply>& replies) {
  std::vector<RunRequest> requests;
  for (const Case* one : cases) {
    auto translated = gpu_plan(subject_.build.plans.at(one->question).plan, kernel_.kernels);
    if (!translated.ok()) return stop(VerdictStatus::fault, "out_of_bounds", translated.error().message);
    const auto pack = data_.pack_of(subject_.set, *one);
    if (!accept(in_turn([&] { return worker_.load_inputs(*pack, load_limit); }), "load")) return false;
    RunRequest request;
    request.slot = kernel_.id;
    request.inputs = pack->id();
    request.plan = std::move(translated).value();
    request.placement_seed = next_seed();
    requests.push_back(std::move(request));
  }
  auto ran = in_turn([&] { return worker_.run(requests, case_limit * backend_.options_.patience); });
  if (!accept(ran, cases.size() == 1 ? to_string(cases.front()->sizes) : "a small size")) return false;
  replies = std::move(ran.value);
  return true;
}

bool GpuTrial::accept_case(const Case& one, const RunReply& reply) {
  const bool state = state_left_;
  const LaunchPlan& plan = subject_.build.plans.at(one.question).plan;
  if (!accept(reply.memory, plan, to_string(one.sizes))) return false;
  state_left_ = state_left_ || reply.memory.state_left;
  if (reply.outputs.size() != subject_.task.outputs.size())
    return stop(VerdictStatus::internal_error, "worker_lost", "the worker's answer lacks outputs");
  return compare_all(one, reply.outputs) || (state && blame_kept_state(one));
}

bool GpuTrial::run_cases(const std::vector<const Case*>& cases) {
  std::vector<RunReply> replies;
  if (!run_together(cases, replies)) return false;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (!accept_case(*cases[i], replies[i])) return false;
  return true;
}

bool GpuTrial::blame_kept_state(const Case& one) {
  // As new, in a module that was just loaded, is it right?
  Verdict before = verdict_;
  {
    const SharedTurn turn(backend_.pool_->turns());
    worker_.forget_module(kernel_.id);
  }
  state_left_ = false;
  const bool right = load() && run_cases({&one});
  verdict_ = std::move(before);
  if (!right) return false;
  verdict_.findings.pop_back();
  return stop_for_kept_state(to_string(one.sizes));
}

bool GpuTrial::stop_for_kept_state(const std::string& where) {
  verdict_.flags.push_back("keeps_state");
  return stop(VerdictStatus::rejected, "keeps_state",
              fmt::format("the result at {} depends on what an earlier launch left in a __device__ variable", where),
              "A result must depend on the inputs alone; keep intermediate values in scratch memory.");
}

// A kernel that counts its calls, or remembers that it was checked, is asked again.
bool GpuTrial::run_again() {
  const auto& cases = subject_.cases.cases;
  if (cases.empty()) return true;
  const std::size_t before = verdict_.cases.size();
  const bool right = run_cases({&cases[subject_.seed % cases.size()]});
  verdict_.cases.resize(before);
  if (!right) verdict_.flags.push_back("changes_its_mind");
  return right;
}

bool GpuTrial::compare_sample(const FullSizeCase& full, const Positions& places,
                              const std::vector<std::string>& outputs, std::size_t first,
                              const std::vector<OutputTensor>& truth, double slack, const char* when) {
  for (std::size_t i = 0; i < subject_.task.outputs.size(); ++i) {
    const TensorSpec& output = subject_.task.outputs[i];
    const std::string& bytes = outputs.at(first + i);
    if (bytes.size() != places[i].size() * bytes_of(output.dtype))
      return stop(VerdictStatus::internal_error, "worker_lost", "the worker's outputs have a wrong size");
    const ErrorBound bound{full.bounds[i].relative * slack, full.bounds[i].absolute * slack};
    const Comparison found = compare(truth[i], output.dtype, bytes, bound);
    if (slack == 1 && !full.mix)  // a mix is none of the kinds that a case can have
      verdict_.cases.push_back(
          {full.sizes, false, full.seed, InputKind::ordinary, output.name, found.error, found.allowed, found.ok});
    if (found.ok) continue;
    const std::string element = element_name(output, full.sizes, places[i][static_cast<std::size_t>(found.worst)]);
    if (is_poison(bytes, found.worst, bytes_of(output.dtype)))
      return stop(VerdictStatus::wrong, "unwritten_output",
                  fmt::format("{} is never written at {}{}", element, to_string(full.sizes), when),
                  "Check that the grid covers the full size.");
    return stop(VerdictStatus::wrong, found.not_finite ? "not_finite" : "wrong_result",
                fmt::format("{} is {:.7g}, should be {:.7g} (error {:.2g}, allowed {:.2g}) at {}{}; {} of {} sampled "
                            "elements are wrong",
                            element, found.got, found.expected, found.error, found.allowed, to_string(full.sizes), when,
                            found.wrong, found.elements),
                full.mix ? std::string(advice_for(*full.mix))
                         : "It was right at small sizes: look for 32-bit overflow, limits of the grid, and anything "
                           "that depends on size.");
  }
  return true;
}

bool GpuTrial::run_full_size(const FullSizeCase& full, std::size_t train_size, double& time_us) {
  const std::string where = to_string(full.sizes);
  const LaunchPlan& plan = plan_of_size(train_size);
  auto translated = gpu_plan(plan, kernel_.kernels);
  if (!translated.ok()) return stop(VerdictStatus::fault, "out_of_bounds", translated.error().message);
  if (!accept(in_turn([&] { return worker_.load_inputs(*full.inputs, load_limit); }), "load")) return false;
  RunRequest request;
  request.slot = kernel_.id;
  request.inputs = full.inputs->id();
  request.plan = std::move(translated).value();
  request.placement_seed = next_seed();
  request.samples = full.samples;
  const auto ran = in_turn([&] { return worker_.run({request}, full_size_limit * backend_.options_.patience); });
  if (!accept(ran, where)) return false;
  const RunReply& reply = ran.value.front();
  if (!accept(reply.memory, plan, where)) return false;
  state_left_ = state_left_ || reply.memory.state_left;
  if (reply.outputs.size() != subject_.task.outputs.size())
    return stop(VerdictStatus::internal_error, "worker_lost", "the worker's answer lacks outputs");
  time_us = reply.time_us;
  return compare_sample(full, full.places, reply.outputs, 0, full.truth, 1, full.mix ? " with unusual inputs" : "");
}

bool GpuTrial::run_full_sizes() {
  about_us_.assign(subject_.full.size(), 0);
  double unusual_us = 0;
  for (const auto& [train_size, unusual] : subject_.unusual)
    if (!run_full_size(*unusual, train_size, unusual_us)) return false;
  for (std::size_t i = 0; i < subject_.full.size(); ++i)
    if (!run_full_size(*subject_.full[i], i, about_us_[i])) return false;
  return true;
}

// All that is checked before anything is timed.
bool GpuTrial::check() {
  if (!load()) return false;
  stage("load the module");
  std::vector<const Case*> cases;
  for (const Case& one : subject_.cases.cases) cases.push_back(&one);
  if (one_by_one_) {
    for (const Case* one : cases)
      if (!run_cases({one})) return false;
  } else if (!run_cases(cases)) {
    return false;
  }
  stage("GPU, small cases");
  if (!run_full_sizes()) return false;
  if (state_left_) {
    // Once more: what it has left behind is noise now.
    const std::size_t before = verdict_.cases.size();
    if (!run_full_sizes()) {
      if (verdict_.status != VerdictStatus::wrong) return false;
      verdict_.findings.pop_back();
      return stop_for_kept_state("full size");
    }
    verdict_.cases.resize(before);
    verdict_.flags.push_back("leaves_state");
  }
  stage("GPU, full size");
  return run_again();
}

Verdict GpuTrial::run(Verdict verdict) {
  verdict_ = std::move(verdict);
  verdict_.cases.clear();
  const bool right = check();
  if (right) verdict_.summary = fmt::format("right in all {} cases", verdict_.cases.size());
  if (!subject_.full_size) verdict_.flags.push_back("small_only");
  if (right && subject_.want_time && subject_.full_size && measure()) {
    stage("GPU, measure");
    run_again();
    stage("GPU, check again");
  }
  if (verdict_.status != VerdictStatus::correct) forget_times(verdict_);
  if (verdict_.status == VerdictStatus::correct && subject_.want_counters && !verdict_.times.empty()) profile();
  if (worker_.is_usable()) {
    const SharedTurn turn(backend_.pool_->turns());
    worker_.forget_module(kernel_.id);
  }
  return std::move(verdict_);
}

}  // namespace kw
