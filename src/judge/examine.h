#pragma once
// Runs a compiled kernel on all its cases in the emulator and says whether it is right, and if not, what is wrong.

#include <string>
#include <vector>

#include "emulate/emulator.h"
#include "judge/case_book.h"
#include "judge/kernel_build.h"
#include "judge/verdict.h"

namespace kw {

struct ExamineOptions {
  int threads = 1;
  std::int64_t warp_instructions =
      10'000'000;  // of one run of the launcher: far beyond any honest kernel at these sizes
};

struct Examination {
  VerdictStatus status = VerdictStatus::internal_error;
  std::string summary;
  std::vector<CaseVerdict> cases;
  std::vector<VerdictFinding> findings;
  std::vector<std::string> flags;
  std::uint64_t thread_instructions = 0;
};

// build.plans[case.question] must be the plan of each case.
Examination examine(const Task& task, const KernelBuild& build, const LoadedModule& module, const CaseSet& cases,
                    const ExamineOptions& options);

}  // namespace kw
