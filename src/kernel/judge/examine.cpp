#include "kernel/judge/examine.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/judge/allowed_work.h"
#include "kernel/judge/case_trial.h"
#include "kernel/judge/emulated_device.h"
#include "kernel/judge/emulator_verdict.h"
#include "kernel/judge/run_order.h"
#include "kernel/judge/variable_state.h"
#include "kernel/judge/wrong_answer.h"

namespace kw {
namespace {

// Locks and flags make blocks that overlap go round in loops; retries of a compare-and-swap are fewer.
constexpr double waiting_factor = 1.5;
constexpr std::uint64_t elsewhere_bytes = (5u << 20) + 256 * 7;

class Examiner {
 public:
  Examiner(const Task& task, const KernelBuild& build, const LoadedModule& module, const CaseSet& cases,
           const ExamineOptions& options)
      : task_(task),
        build_(build),
        module_(module),
        cases_(cases),
        naive_work_(options.naive_work),
        budget_(options.budget),
        required_only_(options.required_only) {
    options_.threads = options.threads;
    // Blocks that wait for each other use up instructions with waiting.
    for (const CompiledKernel& kernel : build.compiled.kernels) {
      const auto program = module.program(kernel.symbol);
      waits_ = waits_ || (program.ok() && (*program)->spins);
    }
  }

  Examination run() {
    result_.status = VerdictStatus::correct;
    run_cases();
    if (result_.status == VerdictStatus::correct) run_in_another_order();
    if (cases_.constant_outputs) flag("constant_task");
    if (result_.summary.empty()) result_.summary = fmt::format("right in all {} cases", result_.cases.size());
    return std::move(result_);
  }

 private:
  AllowedWork allowed(const Case& one) const {
    std::optional<std::uint64_t> naive;
    if (one.question < naive_work_.size() && naive_work_[one.question] > 0) naive = naive_work_[one.question];
    return allowed_work(task_, one, naive, waits_);
  }

  const LaunchPlan& plan_of(const Case& one) const { return build_.plans.at(one.question).plan; }

  bool is_left_out(const Case& one) const { return allowed(one).left_out || (one.optional && required_only_); }

  void run_cases() {
    compared_ = case_with_order();
    for (std::size_t i = 0; i < cases_.cases.size(); ++i) {
      const Case& one = cases_.cases[i];
      if (is_left_out(one)) continue;
      if (budget_ != nullptr && !budget_->may_go_on()) return;
      const AllowedWork work = allowed(one);
      limits_.warp_instructions = work.warp_instructions;
      may_give_up_ = work.may_give_up;
      beyond_us_ = work.beyond_us;
      const bool repeated = device_sizes_ != nullptr && *device_sizes_ == one.sizes;
      if (!repeated && !take_new_device(one)) return;
      charge_bytes(repeated ? variables_->bytes() : 0);
      const bool state = repeated && variables_->forget_changes(device_->memory());
      if (state) flag("keeps_state");
      const bool ran = run_case(one, state);
      if (!ran && (!may_give_up_ || result_.status != VerdictStatus::correct)) return;
      const bool last = i + 1 == cases_.cases.size() || cases_.cases[i + 1].sizes != one.sizes;
      if (ran && !repeated && last && !right_when_called_again(one)) return;
    }
  }

  // For the only case of its size: who leaves variables changed is called once more, however large the size is.
  bool right_when_called_again(const Case& one) {
    if (result_.status != VerdictStatus::correct || !variables_->forget_changes(device_->memory())) return true;
    flag("keeps_state");
    auto again = try_out(one, *device_, RunOrder());
    if (!again.ok()) return give_up(again.error()), false;
    if (again->right() || (again->run.status == RunStatus::timeout && may_give_up_)) return true;
    if (again->run.status != RunStatus::ok) return fail(one, again->run, true), false;
    return check_defined(one, again->run, true) && check_values(one, *again);
  }

  // Memory for the cases of one size, at places of their own.
  bool take_new_device(const Case& one) {
    device_sizes_ = &one.sizes;
    device_ = std::make_unique<EmulatedDevice>(module_, build_.compiled.kernels, budget_);
    const auto placed = module_.place_variables(device_->memory());
    if (!placed.ok()) return give_up(placed.error()), false;
    variables_ = std::make_unique<VariableState>(device_->memory(), budget_);
    charge_bytes(variables_->bytes());
    return move_arrays(*device_, bytes_before_arrays(one.seed));
  }

  bool move_arrays(EmulatedDevice& device, std::uint64_t bytes) {
    if (bytes == 0) return true;
    // Nearly always untouched: to clear so many bytes for each size was a fifth of what a right kernel costs here.
    const auto moved = device.memory().allocate_blank(bytes, "elsewhere", MemoryAccessRight::read_only);
    if (!moved.ok()) give_up(moved.error());
    return moved.ok();
  }

  // False when nothing more can be said: something is wrong, or it takes too long.
  bool run_case(const Case& one, bool state) {
    // Whoever is wrong already is told about in the order that his source has.
    const bool natural = &one == compared_ || result_.status != VerdictStatus::correct;
    RunOrder order = natural ? RunOrder() : order_for(one.seed);
    // Blocks that wait for blocks that come much later do little but wait; one case is run so all the same.
    if (waits_) order.blocks = 0;
    auto trial = try_out(one, *device_, order);
    if (!trial.ok()) return give_up(trial.error()), false;
    if (trial->run.status == RunStatus::timeout && may_give_up_) return false;
    if (!order.natural() && !trial->right()) {
      // What is wrong in every order is told about in the natural one.
      auto plain = try_in_order(one, state);
      if (!plain.ok()) return give_up(plain.error()), false;
      const bool only_waited = waits_ && trial->run.status == RunStatus::timeout;
      if (plain->right() && !only_waited) return blame_order(one, *trial, state), false;
      trial = std::move(plain);
      if (trial->run.status == RunStatus::timeout && may_give_up_) return false;
    }
    const PlanRun& run = trial->run;
    result_.thread_instructions += run.thread_instructions;
    if (run.status == RunStatus::timeout && beyond_us_)
      return give_up(
                 {fmt::format("{} takes more work than can be emulated, and there is no naive kernel to compare with",
                              to_string(one.sizes)),
                  "Give the task smaller sizes or a naive kernel, or judge it on a GPU.",
                  {}}),
             false;
    if (run.status != RunStatus::ok) return fail(one, run, state), false;
    add_notes(run, order);
    if (!check_defined(one, run, state)) return false;
    if (!check_values(one, *trial)) return true;
    result_.read_share = std::max(result_.read_share, trial->read_share);
    if (&one == compared_) {
      compared_instructions_ = run.warp_instructions;
      compared_outputs_ = std::move(trial->run.outputs);
    }
    return true;
  }

  Result<Trial> try_out(const Case& one, EmulatedDevice& device, const RunOrder& order) const {
    return try_case(task_, one, plan_of(one), device, limits_, order.apply(options_), budget_);
  }

  // In the order that a reader of the source has in mind, in memory as new, unless what earlier runs left matters.
  Result<Trial> try_in_order(const Case& one, bool state) {
    if (state) {
      variables_->forget_changes(device_->memory());
      return try_out(one, *device_, RunOrder());
    }
    EmulatedDevice fresh(module_, build_.compiled.kernels, budget_);
    return try_out(one, fresh, RunOrder());
  }

  // Right in the natural order and not in another.
  void blame_order(const Case& one, const Trial& trial, bool state) {
    flag("order_dependent");
    if (trial.run.status != RunStatus::ok) return fail(one, trial.run, state);
    const std::size_t i = trial.worst.output;
    std::string what = element_name(task_.outputs[i], one.sizes, trial.worst.comparison.worst);
    std::string got = fmt::format("{} instead of {}", trial.worst.comparison.got, trial.worst.comparison.expected);
    if (!trial.defined) {
      const auto fault = find_undefined(task_, one, trial.run, state, launch_line(one));
      what = fault->output;
      got = fault->finding.message;
    }
    add_case(one, task_.outputs[i].name, trial.worst.comparison.error, trial.worst.comparison.allowed, false);
    blame_order(one, what, got);
  }

  void blame_order(const Case& one, const std::string& what, const std::string& got) {
    VerdictFinding finding;
    finding.kind = "order_dependent";
    finding.line = launch_line(one);
    finding.message = fmt::format(
        "{} is right in one order of warps and blocks and place of arrays and wrong in another ({})", what, got);
    finding.advice = "Nothing may depend on which warp or block runs first; order them with barriers or launches.";
    result_.status = VerdictStatus::race;
    result_.summary = finding.message;
    result_.findings.push_back(std::move(finding));
  }

  void fail(const Case& one, const PlanRun& run, bool state) {
    // A wrong answer that was found before says more than a later overrun.
    if (result_.status == VerdictStatus::wrong && run.status == RunStatus::timeout) return;
    result_.status = status_of(run);
    for (const EmulatorFinding& finding : run.findings) result_.findings.push_back(verdict_finding(finding));
    if (state && run.status == RunStatus::uninitialised) {
      result_.status = VerdictStatus::rejected;
      for (VerdictFinding& finding : result_.findings) {
        finding.kind = "keeps_state";
        finding.message = "uses what an earlier launch left in a __device__ variable: " + finding.message;
        finding.advice = "A result must depend on the inputs alone; keep intermediate values in scratch memory.";
      }
    }
    if (run.status == RunStatus::unsupported)
      result_.summary = fmt::format("{} is not emulated; the kernel needs a GPU to be judged", run.unsupported);
    else if (const auto worst =
                 std::find_if(result_.findings.begin(), result_.findings.end(),
                              [](const VerdictFinding& found) { return found.severity == Severity::error; });
             worst != result_.findings.end())
      result_.summary = worst->message;  // notes of earlier launches may stand before it
    add_case(one, "", 0, 0, false);
  }

  // Notes of runs that went well; each once. Which of two lines that meet is named depends on the order: another order
  // adds what is of a new kind only.
  void add_notes(const PlanRun& run, const RunOrder& order) {
    for (const EmulatorFinding& finding : run.findings) {
      const VerdictFinding made = verdict_finding(finding);
      const bool known =
          std::any_of(result_.findings.begin(), result_.findings.end(), [&](const VerdictFinding& other) {
            return other.kind == made.kind && (other.line == made.line || !order.natural());
          });
      if (!known) result_.findings.push_back(made);
    }
  }

  bool check_defined(const Case& one, const PlanRun& run, bool state) {
    auto fault = find_undefined(task_, one, run, state, launch_line(one));
    if (!fault) return true;
    result_.status = fault->status;
    result_.summary = fault->finding.message;
    result_.findings.push_back(std::move(fault->finding));
    add_case(one, fault->output, 0, 0, false);
    return false;
  }

  int launch_line(const Case& one) const {
    const auto launches = plan_of(one).launches();
    return launches.empty() ? build_.kernel_file->launcher.line : launches.back()->where.line;
  }

  bool check_values(const Case& one, const Trial& trial) {
    const Comparison& worst = trial.worst.comparison;
    const std::size_t worst_place = trial.worst.output;
    const TensorSpec& output = task_.outputs[worst_place];
    add_case(one, output.name, worst.error, worst.allowed, worst.ok);
    if (worst.ok) return true;
    const bool first = result_.status == VerdictStatus::correct;
    result_.status = VerdictStatus::wrong;
    if (!first) return false;
    WrongAnswer wrong{task_, one, output, worst, trial.run.outputs[worst_place]};
    VerdictFinding finding = describe(wrong);
    if (finding.kind == "reduced_precision") flag("reduced_precision");
    finding.line = line_that_stored(wrong, worst_place);
    if (finding.line == 0) finding.line = launch_line(one);
    result_.summary = finding.message;
    result_.findings.push_back(std::move(finding));
    return false;
  }

  // Which line wrote the wrong element: the run is repeated in fresh memory, looking.
  int line_that_stored(const WrongAnswer& wrong, std::size_t output) {
    EmulatedDevice fresh(module_, build_.compiled.kernels, budget_);
    return find_storing_line(fresh, plan_of(wrong.one), wrong, output, limits_);
  }

  void add_case(const Case& one, const std::string& output, double error, double allowed, bool ok) {
    result_.cases.push_back({one.sizes, one.hidden, one.seed, one.kind, output, error, allowed, ok});
  }

  // The cheapest case in which there is an order to change.
  const Case* case_with_order() const {
    const Case* found = nullptr;
    const Case* last = nullptr;
    for (const Case& one : cases_.cases) {
      if (is_left_out(one)) continue;
      for (const KernelLaunch* launch : plan_of(one).launches()) {
        const std::uint64_t blocks = std::uint64_t{launch->grid.x} * launch->grid.y * launch->grid.z;
        const std::uint64_t threads = std::uint64_t{launch->block.x} * launch->block.y * launch->block.z;
        if (blocks > 1 && found == nullptr) found = &one;
        if (blocks > 1 && threads > 32) return &one;
      }
      last = &one;
    }
    return found != nullptr ? found : last;
  }

  // The same case in two orders: whatever is right must be the same, up to sums that atomics add up in any order.
  void run_in_another_order() {
    if (compared_ == nullptr || compared_outputs_.empty()) return;
    const Case& one = *compared_;
    limits_.warp_instructions = allowed(one).warp_instructions;
    EmulatedDevice other(module_, build_.compiled.kernels, budget_);
    // At other addresses too: where an array lies must not matter.
    if (!move_arrays(other, elsewhere_bytes)) return;
    const auto after = other.run(plan_of(one), one.inputs, limits_, opposite_order().apply(options_));
    if (!after.ok()) return give_up(after.error());
    if (after->status != RunStatus::ok) return fail(one, *after, false);
    result_.blocks_wait = waits_ || static_cast<double>(after->warp_instructions) >
                                        waiting_factor * static_cast<double>(compared_instructions_);
    for (std::size_t i = 0; i < after->outputs.size(); ++i) {
      if (after->outputs[i] == compared_outputs_[i]) continue;
      const Comparison found = compare(one.truth[i], task_.outputs[i].dtype, after->outputs[i], one.bounds[i]);
      flag("order_dependent");
      if (found.ok) continue;  // sums that atomics add up in any order: right each time, if not the same
      return blame_order(one, element_name(task_.outputs[i], one.sizes, found.worst),
                         fmt::format("{} instead of {}", found.got, found.expected));
    }
  }

  // Looked at one by one; what is over the budget is seen by whoever charges next.
  void charge_bytes(std::uint64_t bytes) {
    if (budget_ != nullptr) static_cast<void>(budget_->charge(WorkKind::memory_bytes, bytes, bytes));
  }

  void flag(const std::string& name) {
    if (std::find(result_.flags.begin(), result_.flags.end(), name) == result_.flags.end())
      result_.flags.push_back(name);
  }

  void give_up(const Error& error) {
    result_.status = VerdictStatus::unsupported;
    result_.summary = "the emulator cannot run this: " + error.message;
    VerdictFinding finding;
    finding.kind = "unsupported";
    finding.message = result_.summary;
    finding.advice = error.advice;
    finding.line = error.where.line;
    result_.findings.push_back(std::move(finding));
  }

  const Task& task_;
  const KernelBuild& build_;
  const LoadedModule& module_;
  const CaseSet& cases_;
  const std::vector<std::uint64_t>& naive_work_;
  WorkBudget* const budget_;
  const bool required_only_;
  bool waits_ = false;
  bool may_give_up_ = false;  // that the case that is running takes too long says nothing
  bool beyond_us_ = false;    // it says nothing, and nothing else can be said
  RunLimits limits_;
  RunOptions options_;
  std::unique_ptr<EmulatedDevice> device_;    // of the cases of one size
  std::unique_ptr<VariableState> variables_;  // on it
  const Sizes* device_sizes_ = nullptr;
  const Case* compared_ = nullptr;             // the case that is run in two orders
  std::vector<std::string> compared_outputs_;  // in the natural one
  std::uint64_t compared_instructions_ = 0;
  Examination result_;
};

}  // namespace

Examination examine(const Task& task, const KernelBuild& build, const LoadedModule& module, const CaseSet& cases,
                    const ExamineOptions& options) {
  return Examiner(task, build, module, cases, options).run();
}

}  // namespace kw
