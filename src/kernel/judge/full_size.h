#pragma once
// The launches at a task's full sizes, prepared for the performance model: memory that costs nothing until it is
// touched, inputs that repeat a tile of values.

#include <vector>

#include "kernel/judge/full_size_truth.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/performance/performance.h"

namespace kw {

// Values of the scalar inputs alone; the tensors of a full size would take long to make.
Result<ScalarInputs> scalars_at(const Task& task, const Sizes& sizes, std::uint64_t seed);

// `plan` at `sizes`; all of them must outlive the candidate, and the budget, if there is one, the prepared plan.
PlanCandidate full_size_candidate(const Task& task, const SizedPlan& plan, const LoadedModule& module,
                                  const std::vector<CompiledKernel>& kernels, std::uint64_t seed,
                                  WorkBudget* budget = nullptr);

// Contents of a plan's inputs, in its order.
using InputContents = std::vector<std::shared_ptr<SharedPages>>;

// The same with real inputs, and with outputs and scratch memory that are undefined until they are written.
Result<PreparedPlan> prepare_with_real_inputs(const Task& task, const SizedPlan& plan, const LoadedModule& module,
                                              const std::vector<CompiledKernel>& kernels, const InputContents& inputs,
                                              WorkBudget* budget);

}  // namespace kw
