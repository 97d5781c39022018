#pragma once
// Runs a compiled kernel on all its cases in the emulator and says whether it is right, and if not, what is wrong.

#include <string>
#include <vector>

#include "kernel/emulate/emulator.h"
#include "kernel/judge/case_book.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/judge/verdict.h"

namespace kw {

struct ExamineOptions {
  int threads = 1;
  // Warp instructions of the naive kernel for each question: what a kernel may use at most depends on it. Empty:
  // unknown.
  std::vector<std::uint64_t> naive_work;
  WorkBudget* budget = nullptr;  // of the whole judgement
  bool required_only = false;    // a first look before a GPU: cases that are optional are left to it
};

struct Examination {
  VerdictStatus status = VerdictStatus::internal_error;
  std::string summary;
  std::vector<CaseVerdict> cases;
  std::vector<VerdictFinding> findings;
  std::vector<std::string> flags;
  std::uint64_t thread_instructions = 0;
  // Of the distinct bytes of all inputs, those that were read in a run that was right: the largest over the cases with
  // ordinary inputs at a declared size. What a kernel must read at full size, too.
  double read_share = 0;
  bool blocks_wait = false;  // they take more instructions where they overlap: how long they wait nobody can tell
};

// build.plans[case.question] must be the plan of each case.
Examination examine(const Task& task, const KernelBuild& build, const LoadedModule& module, const CaseSet& cases,
                    const ExamineOptions& options);

}  // namespace kw
