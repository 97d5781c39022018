#include "kernel/judge/output_check.h"

#include <fmt/format.h>

#include "kernel/judge/emulator_verdict.h"
#include "kernel/judge/wrong_answer.h"

namespace kw {

std::optional<OutputFault> find_undefined(const Task& task, const Case& one, const PlanRun& run, bool state,
                                          int launch_line) {
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const UndefinedBytes& undefined = run.undefined[i];
    if (undefined.count == 0) continue;
    const TensorSpec& output = task.outputs[i];
    const auto width = bytes_of(output.dtype);
    OutputFault fault;
    fault.output = output.name;
    VerdictFinding& finding = fault.finding;
    finding.line = static_cast<int>(undefined.line);
    const std::string place =
        element_name(output, one.sizes, static_cast<std::int64_t>(undefined.first_offset / width));
    const auto elements = static_cast<std::int64_t>((undefined.count + width - 1) / width);
    if (state) {
      finding.kind = "keeps_state";
      finding.message = place + " depends on what an earlier launch left in a __device__ variable";
      finding.advice = "A result must depend on the inputs alone; keep intermediate values in scratch memory.";
      fault.status = VerdictStatus::rejected;
    } else if (undefined.line != 0 && run.stray_shuffle) {
      finding = verdict_finding(*run.stray_shuffle);
      finding.message += fmt::format("; {} depends on it (stored at line {})", place, undefined.line);
      fault.status = VerdictStatus::fault;
    } else if (undefined.line != 0) {
      finding.kind = "uninitialised_output";
      finding.message = fmt::format(
          "{} gets a value that was computed from memory or registers that nobody has written ({} elements)", place,
          elements);
      finding.advice = "Initialise shared memory, scratch memory and accumulators before they are read.";
      fault.status = VerdictStatus::fault;
    } else {
      finding.kind = "unwritten_output";
      finding.message =
          fmt::format("{} and {} more elements are never written at {}", place, elements - 1, to_string(one.sizes));
      if (elements == 1) finding.message = fmt::format("{} is never written at {}", place, to_string(one.sizes));
      finding.advice = "Check the grid size (round up), the bounds check and the tail.";
      finding.line = launch_line;
      fault.status = VerdictStatus::wrong;
    }
    return fault;
  }
  return std::nullopt;
}

WorstOutput worst_output(const Task& task, const Case& one, const PlanRun& run) {
  WorstOutput worst;
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    const Comparison each = compare(one.truth[i], task.outputs[i].dtype, run.outputs[i], one.bounds[i]);
    const Comparison& known = worst.comparison;
    const bool worse = i == 0 || (known.ok && !each.ok) ||
                       (known.ok == each.ok && each.error * known.allowed > known.error * each.allowed);
    if (worse) worst = {each, i};
  }
  return worst;
}

}  // namespace kw
