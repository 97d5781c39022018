#pragma once
// What a run that has ended left in its outputs: everything written, from values that exist, and close to the truth.

#include <optional>
#include <string>

#include "kernel/judge/case_book.h"
#include "kernel/judge/emulated_device.h"
#include "kernel/judge/verdict.h"

namespace kw {

struct OutputFault {
  VerdictStatus status = VerdictStatus::wrong;
  VerdictFinding finding;
  std::string output;
};

// The first output with bytes that were never written, or computed from what nobody has written. `state`: an earlier
// run has left variables changed. `launch_line`: where to look for an output that no kernel writes.
std::optional<OutputFault> find_undefined(const Task& task, const Case& one, const PlanRun& run, bool state,
                                          int launch_line);

struct WorstOutput {
  Comparison comparison;
  std::size_t output = 0;
};
WorstOutput worst_output(const Task& task, const Case& one, const PlanRun& run);

}  // namespace kw
