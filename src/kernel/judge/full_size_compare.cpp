// The part of a full-size check that says what an execution means: are the values right that it wrote?

#include <algorithm>

#include <fmt/format.h>

#include "kernel/judge/emulator_verdict.h"
#include "kernel/judge/full_size_run.h"
#include "kernel/judge/wrong_answer.h"

namespace kw {
namespace {

// What executed blocks have stored, sorted by address.
std::vector<AddressRange> stored_ranges(const std::map<std::size_t, std::map<std::uint64_t, BlockFootprint>>& seen) {
  std::vector<AddressRange> all;
  for (const auto& [step, blocks] : seen)
    for (const auto& [number, footprint] : blocks)
      all.insert(all.end(), footprint.stored.begin(), footprint.stored.end());
  std::sort(all.begin(), all.end(), [](const AddressRange& a, const AddressRange& b) { return a.begin < b.begin; });
  std::vector<AddressRange> joined;
  for (const AddressRange& range : all) {
    if (!joined.empty() && range.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, range.end);
    else
      joined.push_back(range);
  }
  return joined;
}

bool holds(const std::vector<AddressRange>& sorted, std::uint64_t address) {
  const auto behind =
      std::upper_bound(sorted.begin(), sorted.end(), address,
                       [](std::uint64_t place, const AddressRange& range) { return place < range.begin; });
  return behind != sorted.begin() && address < std::prev(behind)->end;
}

}  // namespace

FullSizeRun::Found FullSizeRun::judge_execution(Execution& execution, const std::vector<Target>& targets, bool whole) {
  switch (execution.status) {
    case RunStatus::ok:
      return compare_values(execution, targets, whole);
    case RunStatus::timeout:
      outcome_.too_much_work = true;
      return give_up(fmt::format("{} take more work to compute than a judgement may take",
                                 whole ? "the outputs" : "some elements"));
    case RunStatus::unsupported:
      return give_up(execution.unsupported + " is not emulated");
    default:
      break;
  }
  // A block that is run alone may wait for others, or read what they have not written.
  if (!whole && execution.status != RunStatus::fault) return Found::lost;
  outcome_.status = execution.status == RunStatus::race ? VerdictStatus::race : VerdictStatus::fault;
  for (const EmulatorFinding& each : execution.findings) {
    VerdictFinding made = verdict_finding(each);
    made.message += fmt::format(" (at {})", to_string(sized_.sizes));
    outcome_.findings.push_back(std::move(made));
  }
  return Found::settled;
}

FullSizeRun::Found FullSizeRun::compare_values(Execution& execution, const std::vector<Target>& targets, bool whole) {
  DeviceMemory& memory = *execution.plan.memory;
  const auto defined = [&](std::size_t output, std::int64_t element) {
    const Allocation& allocation = *memory.find(outputs_[output].begin);
    const std::size_t width = bytes_of(task_.outputs[output].dtype);
    const std::byte* marks = allocation.defined.get() + static_cast<std::size_t>(element) * width;
    return std::all_of(marks, marks + width, [](std::byte mark) { return mark == std::byte{1}; });
  };
  // A launcher may clear an output before a kernel writes it: of a part of the blocks only what they stored counts.
  const std::vector<AddressRange> stored = whole ? std::vector<AddressRange>() : stored_ranges(execution.seen);
  const auto is_written = [&](std::size_t output, std::int64_t element) {
    return defined(output, element) && (whole || holds(stored, address_of(output, element)));
  };
  for (const Target& target : targets)
    if (!is_written(target.output, target.element)) return Found::lost;  // another block than the one that was named
  for (std::size_t i = 0; i < truth_->places.size(); ++i) {
    const std::size_t width = bytes_of(task_.outputs[i].dtype), truth_width = bytes_of(truth_->truth[i].dtype);
    OutputTensor expected{truth_->truth[i].name, truth_->truth[i].dtype, {}, {}};
    ErrorBound bound{truth_->bounds[i].relative, truth_->bounds[i].absolute};
    auto unstable = truth_->bounds[i].unstable.begin();
    std::string bytes;
    std::vector<std::int64_t> elements;
    const Allocation& allocation = *memory.find(outputs_[i].begin);
    for (std::size_t k = 0; k < truth_->places[i].size(); ++k) {
      const std::int64_t element = truth_->places[i][k];
      while (unstable != truth_->bounds[i].unstable.end() && unstable->index < static_cast<std::int64_t>(k)) ++unstable;
      const bool written = is_written(i, element);
      if (!written && whole && execution.called_again)
        return settle(
            VerdictStatus::rejected,
            finding("keeps_state",
                    fmt::format("at {} {} depends on what an earlier launch left in a __device__ variable",
                                to_string(sized_.sizes), element_name(task_.outputs[i], sized_.sizes, element)),
                    "A result must depend on the inputs alone; keep intermediate values in scratch memory."));
      if (!written && whole)
        return settle(VerdictStatus::wrong, finding("unwritten_output",
                                                    fmt::format("{} is never written at {}",
                                                                element_name(task_.outputs[i], sized_.sizes, element),
                                                                to_string(sized_.sizes)),
                                                    "Compute every element at every size."));
      if (!written) continue;
      if (unstable != truth_->bounds[i].unstable.end() && unstable->index == static_cast<std::int64_t>(k))
        bound.unstable.push_back({static_cast<std::int64_t>(elements.size()), unstable->allowed});
      elements.push_back(element);
      bytes.append(reinterpret_cast<const char*>(allocation.data.get()) + static_cast<std::size_t>(element) * width,
                   width);
      expected.bytes.append(truth_->truth[i].bytes, k * truth_width, truth_width);
    }
    if (elements.empty()) continue;
    expected.shape = {static_cast<std::int64_t>(elements.size())};
    outcome_.audit.compared += elements.size();
    const Comparison compared = compare(expected, task_.outputs[i].dtype, bytes, bound);
    if (compared.ok) continue;
    // A sum that other blocks have a share in is not done yet, perhaps.
    const bool shared = std::any_of(execution.seen.begin(), execution.seen.end(), [](const auto& step) {
      return std::any_of(step.second.begin(), step.second.end(),
                         [](const auto& block) { return !block.second.updated.empty(); });
    });
    if (!whole && (shared || maps_.size() > 1)) return Found::lost;
    const std::int64_t element = elements[static_cast<std::size_t>(compared.worst)];
    return settle(
        VerdictStatus::wrong,
        finding("wrong_at_full_size",
                fmt::format(
                    "at {}{} {} is {:.6g} instead of {:.6g} ({} of {} compared elements are wrong); {:.3g} is allowed",
                    to_string(sized_.sizes), truth_->mix ? " with unusual inputs" : "",
                    element_name(task_.outputs[i], sized_.sizes, element), compared.got, compared.expected,
                    compared.wrong, compared.elements, compared.allowed),
                truth_->mix
                    ? std::string(advice_for(*truth_->mix))
                    : "Compute the same at every size; is an index, a count or a stride too narrow for this one?"));
  }
  return Found::right;
}

}  // namespace kw
