// The part of a full-size check that executes chosen blocks of a launch plan, and hands on to the performance model
// what was executed.

#include <algorithm>

#include "kernel/judge/full_size_run.h"
#include "kernel/judge/variable_state.h"

namespace kw {
namespace {

constexpr double budget_part = 0.7;  // of what is left of the judgement's

Result<void> carry_out(const ProfiledTransfer& transfer, DeviceMemory& memory) {
  if (transfer.kind == ProfiledTransfer::Kind::set) return memory.fill(transfer.target, transfer.value, transfer.bytes);
  return memory.copy(transfer.target, transfer.source, transfer.bytes);
}

}  // namespace

Result<FullSizeRun::Execution> FullSizeRun::execute(const Selection& selection) const {
  Execution execution;
  KW_TRY(execution.plan, prepare());
  DeviceMemory& memory = *execution.plan.memory;
  KW_TRY_VOID(module_.place_variables(memory));
  const VariableState variables(memory, budget_);
  KW_TRY_VOID(run_steps(selection, execution));
  if (execution.status != RunStatus::ok || !variables.forget_changes(memory)) return execution;
  // Who leaves variables changed is called once more, without what they hold.
  execution.called_again = true;
  for (const AddressRange& output : outputs_) KW_TRY_VOID(memory.poison(output.begin, output.end - output.begin));
  KW_TRY_VOID(run_steps(selection, execution));
  return execution;
}

Result<void> FullSizeRun::run_steps(const Selection& selection, Execution& execution) const {
  DeviceMemory& memory = *execution.plan.memory;
  for (std::size_t i = 0; i < execution.plan.steps.size(); ++i) {
    if (const auto* transfer = std::get_if<ProfiledTransfer>(&execution.plan.steps[i])) {
      KW_TRY_VOID(carry_out(*transfer, memory));
      continue;
    }
    const auto selected = selection.find(i);
    if (selected == selection.end() || (!selected->second.all && selected->second.blocks.empty())) continue;
    const auto& launch = std::get<ProfiledLaunch>(execution.plan.steps[i]);
    FootprintRecorder recorder(
        memory, selected->second.all ? FootprintRecorder::Depth::count : FootprintRecorder::Depth::whole);
    RunOptions options;
    options.look_for_races = false;
    options.observer = &recorder;
    // A part of the judgement's account: the times have to be modelled too, and the other sizes looked at.
    std::optional<WorkBudget> part;
    if (budget_ != nullptr)
      part.emplace(WorkLimits{static_cast<std::uint64_t>(static_cast<double>(budget_->left()) * budget_part),
                              budget_->memory_left(), budget_->wall_left()});
    options.budget = part ? &*part : nullptr;
    options.only_blocks.assign(selected->second.blocks.begin(), selected->second.blocks.end());
    RunLimits limits;
    limits.warp_instructions = static_cast<std::int64_t>(std::max(left() - execution.instructions, 1.0));
    KW_TRY(const RunResult ran, module_.run(memory, launch.arguments, limits, options));
    if (part && !budget_->charge(WorkKind::instructions, part->amount_of(WorkKind::instructions), part->spent()))
      return budget_->exceeded_error();
    execution.instructions += static_cast<double>(ran.statistics.warp_instructions);
    execution.seen[i] = recorder.take();
    if (ran.status == RunStatus::ok) continue;
    execution.status = ran.status;
    execution.findings = ran.findings;
    execution.unsupported = ran.unsupported;
    return {};
  }
  return {};
}

void FullSizeRun::remember(const Selection& selection, const Execution& execution) {
  double output_bytes = 0;
  for (const AddressRange& output : outputs_) output_bytes += static_cast<double>(output.end - output.begin);
  for (const auto& [step, selected] : selection) {
    Selected& known = executed_[step];
    known.all = known.all || selected.all;
    known.blocks.insert(selected.blocks.begin(), selected.blocks.end());
  }
  outcome_.audit.blocks_run = 0;
  for (const auto& [step, blocks] : execution.seen)
    for (const auto& [number, footprint] : blocks) {
      double stored = 0;
      for (const AddressRange& range : footprint.stored)
        for (const AddressRange& output : outputs_)
          if (range.begin >= output.begin && range.end <= output.end)
            stored += static_cast<double>(range.end - range.begin);
      blocks_[step][number] = {number, footprint.warp_instructions, stored / output_bytes};
    }
  for (const auto& [step, blocks] : blocks_) outcome_.audit.blocks_run += blocks.size();
  outcome_.audit.warp_instructions = static_cast<std::uint64_t>(spent_);
  outcome_.audit.method = "the blocks that write secret elements were executed";
}

Result<PreparedPlan> FullSizeRun::prepare_for_model() const {
  KW_TRY(PreparedPlan plan, prepare());
  plan.executed.resize(plan.steps.size());
  for (const auto& [step, blocks] : blocks_)
    for (const auto& [number, block] : blocks) plan.executed[step].push_back(block);
  auto done = std::make_shared<std::size_t>(0);
  DeviceMemory* memory = plan.memory.get();
  auto steps = std::make_shared<std::vector<ProfiledStep>>(plan.steps);
  plan.reach = [this, memory, steps, done](std::size_t step) -> Result<void> {
    memory->discard_writes();
    for (; *done < step; ++*done) {
      if (const auto* transfer = std::get_if<ProfiledTransfer>(&(*steps)[*done])) {
        KW_TRY_VOID(carry_out(*transfer, *memory));
        continue;
      }
      const auto selected = executed_.find(*done);
      if (selected == executed_.end() || (!selected->second.all && selected->second.blocks.empty())) continue;
      RunOptions options;
      options.look_for_races = false;
      options.budget = budget_;
      options.only_blocks.assign(selected->second.blocks.begin(), selected->second.blocks.end());
      RunLimits limits;
      limits.warp_instructions = static_cast<std::int64_t>(most_instructions);
      KW_TRY_VOID(module_.run(*memory, std::get<ProfiledLaunch>((*steps)[*done]).arguments, limits, options));
    }
    return memory->keep_writes();
  };
  return plan;
}

}  // namespace kw
