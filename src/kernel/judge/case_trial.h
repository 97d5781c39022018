#pragma once
// A case, run once in one order: what came out, how far it is from the truth, and what the kernel did on the way.

#include "kernel/judge/case_book.h"
#include "kernel/judge/emulated_device.h"
#include "kernel/judge/output_check.h"

namespace kw {

struct Trial {
  PlanRun run;
  double read_share = 0;  // of the inputs' bytes; see Examination
  bool defined = false;   // the run ended, and every byte of the outputs was written
  WorstOutput worst;      // then

  bool right() const { return run.status == RunStatus::ok && defined && worst.comparison.ok; }
};

// An error is a plan that does not fit the emulated device, never the kernel's fault.
Result<Trial> try_case(const Task& task, const Case& one, const LaunchPlan& plan, EmulatedDevice& device,
                       const RunLimits& limits, const RunOptions& options, WorkBudget* budget);

}  // namespace kw
