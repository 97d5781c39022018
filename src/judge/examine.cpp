#include "judge/examine.h"

#include <algorithm>

#include <fmt/format.h>

#include "judge/allowed_work.h"
#include "judge/emulated_device.h"
#include "judge/wrong_answer.h"

namespace kw {
namespace {

constexpr std::uint64_t elsewhere_bytes = (5u << 20) + 256 * 7;
constexpr std::uint64_t other_warp_order = 0x5eed1;
constexpr std::uint64_t other_block_order = 0x5eed2;

VerdictStatus status_of(const PlanRun& run) {
  switch (run.status) {
    case RunStatus::ok:
      return VerdictStatus::correct;
    case RunStatus::race:
      return VerdictStatus::race;
    case RunStatus::timeout:
      return VerdictStatus::timeout;
    case RunStatus::unsupported:
      return VerdictStatus::unsupported;
    case RunStatus::rejected:
      return VerdictStatus::rejected;
    case RunStatus::launch_error:
      return VerdictStatus::launcher_error;
    case RunStatus::synchronization: {
      // On a GPU a deadlock is a kernel that never ends.
      const bool deadlock = std::any_of(run.findings.begin(), run.findings.end(), [](const EmulatorFinding& finding) {
        return finding.kind == FindingKind::barrier_deadlock;
      });
      return deadlock ? VerdictStatus::timeout : VerdictStatus::fault;
    }
    case RunStatus::fault:
    case RunStatus::uninitialised:
      return VerdictStatus::fault;
  }
  return VerdictStatus::internal_error;
}

VerdictFinding verdict_finding(const EmulatorFinding& finding) {
  VerdictFinding made;
  made.kind = name_of(finding.kind);
  made.severity = is_note(finding.kind) ? Severity::note : Severity::error;
  made.line = static_cast<int>(finding.line);
  made.column = static_cast<int>(finding.column);
  made.message = finding.message;
  made.advice = finding.advice.empty() ? std::string(advice_for(finding.kind)) : finding.advice;
  made.kernel = finding.kernel;
  made.occurrences = finding.occurrences;
  return made;
}

bool is_variable(const Allocation& allocation) { return allocation.name.rfind("__device__ ", 0) == 0; }

// What the module's variables held before the first run.
struct InitialState {
  std::vector<std::pair<int, std::string>> variables;  // index of the allocation, content
  HeldMemory held;

  // Nothing is kept when there is no memory for it; the judgement ends then anyway.
  InitialState(const DeviceMemory& memory, WorkBudget* budget) : held(budget) {
    for (const auto& allocation : memory.allocations()) {
      if (!is_variable(*allocation) || !held.add(allocation->bytes)) continue;
      variables.emplace_back(allocation->index,
                             std::string(reinterpret_cast<const char*>(allocation->data.get()), allocation->bytes));
    }
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [index, content] : variables) sum += content.size();
    return sum;
  }

  // Bytes that a run has left changed count as never written: a later run may overwrite them, but whatever depends on
  // them depends on how often the kernel was called. True when there are any.
  bool forget_changes(const DeviceMemory& memory) const {
    bool changed = false;
    for (const auto& [index, content] : variables) {
      Allocation& allocation = *memory.allocations()[static_cast<std::size_t>(index)];
      for (std::size_t i = 0; i < content.size(); ++i) {
        if (static_cast<char>(allocation.data[i]) == content[i]) continue;
        allocation.defined[i] = std::byte{0};
        allocation.fully_defined = false;
        changed = true;
      }
    }
    return changed;
  }
};

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

  bool run_one(const Case& one, const LaunchPlan& plan, std::int64_t warp_instructions, Examination& result) {
    given_plan_ = &plan;
    result_ = std::move(result);
    limits_.warp_instructions = warp_instructions;
    may_give_up_ = true;
    EmulatedDevice device(module_, build_.compiled.kernels, budget_);
    const bool ran = run_case(one, device, false);
    result = std::move(result_);
    return ran;
  }

 private:
  AllowedWork allowed(const Case& one) const {
    std::optional<std::uint64_t> naive;
    if (one.question < naive_work_.size() && naive_work_[one.question] > 0) naive = naive_work_[one.question];
    return allowed_work(task_, one, naive, waits_);
  }

  const LaunchPlan& plan_of(const Case& one) const {
    return given_plan_ != nullptr ? *given_plan_ : build_.plans.at(one.question).plan;
  }

  void run_cases() {
    std::unique_ptr<EmulatedDevice> device;
    std::unique_ptr<InitialState> initial;
    for (std::size_t i = 0; i < cases_.cases.size(); ++i) {
      const Case& one = cases_.cases[i];
      const AllowedWork work = allowed(one);
      if (work.left_out || (one.optional && required_only_)) continue;
      if (budget_ != nullptr && !budget_->may_go_on()) return;
      limits_.warp_instructions = work.warp_instructions;
      may_give_up_ = work.may_give_up;
      beyond_us_ = work.beyond_us;
      const bool repeated = i > 0 && cases_.cases[i - 1].sizes == one.sizes;
      if (!repeated) {
        device = std::make_unique<EmulatedDevice>(module_, build_.compiled.kernels, budget_);
        if (const auto placed = module_.place_variables(device->memory()); !placed.ok()) return give_up(placed.error());
        initial = std::make_unique<InitialState>(device->memory(), budget_);
        charge_bytes(initial->bytes());
      }
      charge_bytes(repeated ? initial->bytes() : 0);
      const bool state = repeated && initial->forget_changes(device->memory());
      if (state) flag("keeps_state");
      const bool ran = run_case(one, *device, state);
      if (!ran && (!may_give_up_ || result_.status != VerdictStatus::correct)) return;
    }
  }

  // False when nothing more can be said: something is wrong, or it takes too long.
  bool run_case(const Case& one, EmulatedDevice& device, bool state) {
    const auto placed = device.place_buffers(plan_of(one), one.inputs);
    if (!placed.ok()) return give_up(placed.error()), false;
    // What a run did counts as checked only when its values were right: not when it was cut short.
    PathCoverage seen;
    watch_buffers(one, device, seen);
    RunOptions watched = options_;
    watched.observer = &seen;
    const auto ran = device.run(plan_of(one), one.inputs, limits_, watched);
    if (!ran.ok()) return give_up(ran.error()), false;
    result_.thread_instructions += ran->thread_instructions;
    if (ran->status == RunStatus::timeout && may_give_up_) return false;
    if (ran->status == RunStatus::timeout && beyond_us_)
      return give_up(
                 {fmt::format("{} takes more work than can be emulated, and there is no naive kernel to compare with",
                              to_string(one.sizes)),
                  "Give the task smaller sizes or a naive kernel, or judge it on a GPU.",
                  {}}),
             false;
    if (ran->status != RunStatus::ok) return fail(one, *ran, state), false;
    add_notes(*ran);
    if (!check_defined(one, *ran, state)) return false;
    if (check_values(one, *ran)) note_work(one, seen);
    return true;
  }

  void watch_buffers(const Case& one, const EmulatedDevice& device, PathCoverage& seen) {
    std::vector<AddressRange> inputs, outputs;
    const auto& buffers = plan_of(one).buffers;
    input_bytes_ = output_bytes_ = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].kind == Buffer::Kind::scratch) continue;
      const bool input = buffers[i].kind == Buffer::Kind::input;
      const std::uint64_t begin = device.address_of(i);
      (input ? inputs : outputs).push_back({begin, begin + buffers[i].bytes});
      (input ? input_bytes_ : output_bytes_) += static_cast<double>(buffers[i].bytes);
    }
    seen.watch(std::move(inputs), std::move(outputs));
  }

  void note_work(const Case& one, const PathCoverage& seen) {
    CheckedWork& work = result_.work;
    work.coverage.merge(seen);
    if (input_bytes_ > 0)
      work.loaded_ratio = std::min(work.loaded_ratio, static_cast<double>(seen.loaded_bytes()) / input_bytes_);
    work.stored_ratio = std::min(work.stored_ratio, static_cast<double>(seen.stored_bytes()) / output_bytes_);
    const KernelLaunch& last = *plan_of(one).launches().back();
    const double blocks = static_cast<double>(last.grid.x) * last.grid.y * last.grid.z;
    work.storing_share = std::min(work.storing_share, static_cast<double>(seen.storing_blocks()) / blocks);
    std::vector<std::uint64_t> starts;
    for (const auto& [block, address] : seen.first_stores()) starts.push_back(address);
    std::sort(starts.begin(), starts.end());
    work.blocks_apart = work.blocks_apart && std::adjacent_find(starts.begin(), starts.end()) == starts.end();
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

  // Notes of runs that went well; each once.
  void add_notes(const PlanRun& run) {
    for (const EmulatorFinding& finding : run.findings) {
      const VerdictFinding made = verdict_finding(finding);
      const bool known =
          std::any_of(result_.findings.begin(), result_.findings.end(),
                      [&](const VerdictFinding& other) { return other.kind == made.kind && other.line == made.line; });
      if (!known) result_.findings.push_back(made);
    }
  }

  bool check_defined(const Case& one, const PlanRun& run, bool state) {
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      const UndefinedBytes& undefined = run.undefined[i];
      if (undefined.count == 0) continue;
      const TensorSpec& output = task_.outputs[i];
      const auto width = bytes_of(output.dtype);
      VerdictFinding finding;
      finding.line = static_cast<int>(undefined.line);
      const std::string place =
          element_name(output, one.sizes, static_cast<std::int64_t>(undefined.first_offset / width));
      const auto elements = static_cast<std::int64_t>((undefined.count + width - 1) / width);
      if (state) {
        finding.kind = "keeps_state";
        finding.message = place + " depends on what an earlier launch left in a __device__ variable";
        finding.advice = "A result must depend on the inputs alone; keep intermediate values in scratch memory.";
        result_.status = VerdictStatus::rejected;
      } else if (undefined.line != 0 && run.stray_shuffle) {
        finding = verdict_finding(*run.stray_shuffle);
        finding.message += fmt::format("; {} depends on it (stored at line {})", place, undefined.line);
        result_.status = VerdictStatus::fault;
      } else if (undefined.line != 0) {
        finding.kind = "uninitialised_output";
        finding.message = fmt::format(
            "{} gets a value that was computed from memory or registers that nobody has written ({} elements)", place,
            elements);
        finding.advice = "Initialise shared memory, scratch memory and accumulators before they are read.";
        result_.status = VerdictStatus::fault;
      } else {
        finding.kind = "unwritten_output";
        finding.message =
            fmt::format("{} and {} more elements are never written at {}", place, elements - 1, to_string(one.sizes));
        if (elements == 1) finding.message = fmt::format("{} is never written at {}", place, to_string(one.sizes));
        finding.advice = "Check the grid size (round up), the bounds check and the tail.";
        finding.line = launch_line(one);
        result_.status = VerdictStatus::wrong;
      }
      result_.summary = finding.message;
      result_.findings.push_back(std::move(finding));
      add_case(one, output.name, 0, 0, false);
      return false;
    }
    return true;
  }

  int launch_line(const Case& one) const {
    const auto launches = plan_of(one).launches();
    return launches.empty() ? build_.kernel_file->launcher.line : launches.back()->where.line;
  }

  bool check_values(const Case& one, const PlanRun& run) {
    Comparison worst;
    std::size_t worst_output = 0;
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      charge_bytes(2 * run.outputs[i].size());
      const Comparison each = compare(one.truth[i], task_.outputs[i].dtype, run.outputs[i], one.bounds[i]);
      const bool worse = i == 0 || (worst.ok && !each.ok) ||
                         (worst.ok == each.ok && each.error * worst.allowed > worst.error * each.allowed);
      if (worse) {
        worst = each;
        worst_output = i;
      }
    }
    const TensorSpec& output = task_.outputs[worst_output];
    add_case(one, output.name, worst.error, worst.allowed, worst.ok);
    if (worst.ok) return true;
    const bool first = result_.status == VerdictStatus::correct;
    result_.status = VerdictStatus::wrong;
    if (!first) return false;
    WrongAnswer wrong{task_, one, output, worst, run.outputs[worst_output]};
    VerdictFinding finding = describe(wrong);
    if (finding.kind == "reduced_precision") flag("reduced_precision");
    finding.line = line_that_stored(wrong, worst_output);
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
    for (const Case& one : cases_.cases) {
      for (const KernelLaunch* launch : plan_of(one).launches()) {
        const std::uint64_t blocks = std::uint64_t{launch->grid.x} * launch->grid.y * launch->grid.z;
        const std::uint64_t threads = std::uint64_t{launch->block.x} * launch->block.y * launch->block.z;
        if (blocks > 1 && found == nullptr) found = &one;
        if (blocks > 1 && threads > 32) return &one;
      }
      if (found == nullptr && &one == &cases_.cases.back()) found = &one;
    }
    return found;
  }

  void run_in_another_order() {
    const Case* one = case_with_order();
    if (one == nullptr) return;
    limits_.warp_instructions = allowed(*one).warp_instructions;
    EmulatedDevice first(module_, build_.compiled.kernels, budget_), second(module_, build_.compiled.kernels, budget_);
    RunOptions shuffled = options_;
    shuffled.warp_order_seed = other_warp_order;
    shuffled.block_order_seed = other_block_order;
    shuffled.copies_land_early = true;
    // At other addresses too: where an array lies must not matter.
    const auto moved = second.memory().allocate(elsewhere_bytes, "elsewhere", MemoryAccessRight::read_write);
    if (!moved.ok()) return give_up(moved.error());
    const auto before = first.run(plan_of(*one), one->inputs, limits_, options_);
    const auto after = second.run(plan_of(*one), one->inputs, limits_, shuffled);
    if (!before.ok() || !after.ok()) return give_up(before.ok() ? after.error() : before.error());
    if (after->status != RunStatus::ok) return fail(*one, *after, false);
    for (std::size_t i = 0; i < after->outputs.size(); ++i) {
      if (after->outputs[i] == before->outputs[i]) continue;
      const Comparison other = compare(one->truth[i], task_.outputs[i].dtype, after->outputs[i], one->bounds[i]);
      flag("order_dependent");
      if (other.ok) continue;  // sums that atomics add up in any order: right each time, if not the same
      VerdictFinding finding;
      finding.kind = "order_dependent";
      finding.line = launch_line(*one);
      finding.message = fmt::format(
          "{} is right in one order of warps and blocks and place of arrays and wrong in another ({} instead of {})",
          element_name(task_.outputs[i], one->sizes, other.worst), other.got, other.expected);
      finding.advice = "Nothing may depend on which warp or block runs first; order them with barriers or launches.";
      result_.status = VerdictStatus::race;
      result_.summary = finding.message;
      result_.findings.push_back(std::move(finding));
      return;
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
  bool may_give_up_ = false;                // that the case that is running takes too long says nothing
  bool beyond_us_ = false;                  // it says nothing, and nothing else can be said
  const LaunchPlan* given_plan_ = nullptr;  // of a case that is not among the questions
  RunLimits limits_;
  RunOptions options_;
  double input_bytes_ = 0, output_bytes_ = 0;  // of the case that is running
  Examination result_;
};

}  // namespace

bool examine_case(const Task& task, const KernelBuild& build, const LoadedModule& module, const Case& one,
                  const LaunchPlan& plan, std::int64_t warp_instructions, WorkBudget* budget, Examination& result) {
  const CaseSet none;
  ExamineOptions options;
  options.budget = budget;
  return Examiner(task, build, module, none, options).run_one(one, plan, warp_instructions, result);
}

Examination examine(const Task& task, const KernelBuild& build, const LoadedModule& module, const CaseSet& cases,
                    const ExamineOptions& options) {
  return Examiner(task, build, module, cases, options).run();
}

}  // namespace kw
