#include "kernel/judge/case_trial.h"

#include <algorithm>
#include <optional>

#include "kernel/judge/read_marks.h"

namespace kw {
namespace {

std::vector<AddressRange> inputs_of(const LaunchPlan& plan, const EmulatedDevice& device) {
  std::vector<AddressRange> ranges;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == Buffer::Kind::input)
      ranges.push_back({device.address_of(i), device.address_of(i) + plan.buffers[i].bytes});
  return ranges;
}

// What the launcher copies is read, too.
void mark_copies(const LaunchPlan& plan, const EmulatedDevice& device, ReadMarks& marks) {
  for (const LaunchStep& step : plan.steps) {
    const auto* copy = std::get_if<MemoryCopy>(&step);
    if (copy == nullptr || copy->source.buffer == DevicePointer::null_buffer) continue;
    const auto buffer = static_cast<std::size_t>(copy->source.buffer);
    if (plan.buffers[buffer].kind == Buffer::Kind::input)
      marks.mark(device.address_of(buffer) + static_cast<std::uint64_t>(copy->source.offset_bytes), copy->bytes);
  }
}

}  // namespace

Result<Trial> try_case(const Task& task, const Case& one, const LaunchPlan& plan, EmulatedDevice& device,
                       const RunLimits& limits, const RunOptions& options, WorkBudget* budget) {
  KW_TRY_VOID(device.place_buffers(plan, one.inputs));
  Trial trial;
  RunOptions watched = options;
  std::optional<ReadMarks> marks;
  if (one.kind == InputKind::ordinary && !one.hidden) {
    marks.emplace(inputs_of(plan, device));
    mark_copies(plan, device, *marks);
    watched.observer = &*marks;
  }
  KW_TRY(trial.run, device.run(plan, one.inputs, limits, watched));
  if (marks) trial.read_share = marks->share();
  if (trial.run.status != RunStatus::ok) return trial;
  trial.defined = std::all_of(trial.run.undefined.begin(), trial.run.undefined.end(),
                              [](const UndefinedBytes& undefined) { return undefined.count == 0; });
  if (!trial.defined) return trial;
  // Looked at one by one; what is over the budget is seen by whoever charges next.
  for (const std::string& output : trial.run.outputs)
    if (budget != nullptr)
      static_cast<void>(budget->charge(WorkKind::memory_bytes, 2 * output.size(), 2 * output.size()));
  trial.worst = worst_output(task, one, trial.run);
  return trial;
}

}  // namespace kw
