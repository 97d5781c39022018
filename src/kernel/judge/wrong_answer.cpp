#include "kernel/judge/wrong_answer.h"

#include <cmath>

#include <fmt/format.h>

#include "kernel/emulate/store_watch.h"

namespace kw {
namespace {

// In units of the bound: an error this much beyond it, and no more, is what a coarser type would give.
constexpr double coarse_type_low = 1;
constexpr double coarse_type_high = 100;

std::string which_elements(const WrongAnswer& wrong) {
  const Comparison& found = wrong.comparison;
  if (found.wrong == found.elements) return "every element is wrong";
  std::string text = fmt::format("{} of {} elements are wrong", found.wrong, found.elements);
  const std::int64_t span = found.last_wrong - found.first_wrong + 1;
  const bool contiguous = span == found.wrong && found.wrong > 1;
  if (contiguous && found.last_wrong + 1 == found.elements) {
    text += fmt::format(", all from element {} to the end: a tail that is not handled?", found.first_wrong);
  } else if (contiguous) {
    text += fmt::format(", elements {} to {}", found.first_wrong, found.last_wrong);
  } else if (const auto shape = wrong.output.shape_at(wrong.one.sizes); shape.ok() && shape->size() >= 2) {
    // All in the last columns?
    const std::int64_t columns = shape->back();
    std::int64_t first_column = columns, rows_touched = 0, last_row = -1;
    for (std::int64_t i = found.first_wrong; i <= found.last_wrong; ++i) {
      const double got = element_at(wrong.output.dtype, wrong.bytes, i);
      const OutputTensor& truth = wrong.one.truth[static_cast<std::size_t>(&wrong.output - wrong.task.outputs.data())];
      const ErrorBound& bound = wrong.one.bounds[static_cast<std::size_t>(&wrong.output - wrong.task.outputs.data())];
      const double expected = element_at(truth.dtype, truth.bytes, i);
      if (std::abs(got - expected) <= bound.allowed_for(expected)) continue;
      first_column = std::min(first_column, i % columns);
      if (i / columns != last_row) ++rows_touched;
      last_row = i / columns;
    }
    if (first_column > 0 && (columns - first_column) * rows_touched == found.wrong)
      text += fmt::format(", all in the last {} of {} columns", columns - first_column, columns);
    else
      text += fmt::format(", in {} rows", rows_touched);
  }
  return text;
}

}  // namespace

std::string element_name(const TensorSpec& tensor, const Sizes& sizes, std::int64_t index) {
  const auto shape = tensor.shape_at(sizes);
  std::string text;
  if (!shape.ok() || (shape->size() == 1 && shape->front() == 1)) return tensor.name;
  for (auto extent = shape->rbegin(); extent != shape->rend(); ++extent) {
    text = fmt::format("[{}]", index % *extent) + text;
    index /= *extent;
  }
  return tensor.name + text;
}

VerdictFinding describe(const WrongAnswer& wrong) {
  const Comparison& found = wrong.comparison;
  VerdictFinding finding;
  finding.kind = "wrong_result";
  finding.message =
      fmt::format("{} is {:.7g}, should be {:.7g} (error {:.2g}, allowed {:.2g}) at {}{}; {}",
                  element_name(wrong.output, wrong.one.sizes, found.worst), found.got, found.expected, found.error,
                  found.allowed, to_string(wrong.one.sizes),
                  wrong.one.kind == InputKind::ordinary ? "" : fmt::format(" with {} inputs", name_of(wrong.one.kind)),
                  which_elements(wrong));
  finding.advice = "Compare the index arithmetic and the formula with the reference.";
  if (found.not_finite) {
    finding.kind = "not_finite";
    finding.advice =
        "NaN or infinity where the reference is finite: look for 0/0, overflow (subtract the maximum before exp), "
        "a missing epsilon, or memory that is read before it is written.";
  } else if (wrong.one.kind != InputKind::ordinary) {
    finding.advice = advice_for(wrong.one.kind);
  } else if (found.all_zero) {
    finding.message += "; the output is all zeros";
    finding.advice = "Does the kernel that computes it run, and does it store its result?";
  } else if (is_floating_point(wrong.output.dtype) && found.error > coarse_type_low * found.allowed &&
             found.error < coarse_type_high * found.allowed && found.wrong * 20 > found.elements) {
    finding.kind = "reduced_precision";
    finding.advice =
        "The error is what a coarser type would give: compute in the task's dtype (accumulate in float), without "
        "half, bfloat16 or TF32 in between.";
  } else if (wrong.one.hidden) {
    finding.advice = "Nothing may be fixed to the sizes of the task's file.";
  }
  return finding;
}

int find_storing_line(EmulatedDevice& device, const LaunchPlan& plan, const WrongAnswer& wrong, std::size_t output,
                      const RunLimits& limits) {
  // Outputs get the same address each time; where, is known after a first run.
  if (!device.run(plan, wrong.one.inputs, limits, {}).ok()) return 0;
  std::size_t buffer = 0, seen = 0;
  for (; buffer < plan.buffers.size(); ++buffer)
    if (plan.buffers[buffer].kind == Buffer::Kind::output && seen++ == output) break;
  if (buffer == plan.buffers.size()) return 0;
  const auto width = static_cast<std::uint32_t>(bytes_of(wrong.output.dtype));
  StoreWatch watch(device.address_of(buffer) + static_cast<std::uint64_t>(wrong.comparison.worst) * width, width);
  RunOptions options;
  options.observer = &watch;
  if (!device.run(plan, wrong.one.inputs, limits, options).ok()) return 0;
  return static_cast<int>(watch.line());
}

}  // namespace kw
