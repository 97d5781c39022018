#pragma once
// What is known of a kernel before anybody has judged it: which code it becomes, and the time that the performance
// model gives for it. That costs a fraction of a verdict and says nothing about whether the kernel is right, so it
// decides which kernels get a verdict, never which one is the best.

#include <string>

#include "kernel/judge/judge.h"
#include "kernel/task/task.h"

namespace kw {

struct KernelLook {
  // Two kernels with equal names of their code launch the same machine code in the same way, so one verdict serves
  // both. Empty: it cannot be built, and the verdict will say why.
  std::string code = {};
  double modelled_us = 0;  // geometric mean over the train sizes; 0: not known
  double input_bytes = 0;  // that it reads, each once, over all train sizes; 0: not known

  bool built() const { return !code.empty(); }
  bool operator==(const KernelLook&) const = default;
};

// A change that reads less of the inputs leaves work out, and is no faster kernel but a wrong one. (The numbers are of
// sampled blocks.)
bool reads_less(const KernelLook& changed, const KernelLook& before);

// `model` false: its code alone.
KernelLook look_at_kernel(CompileService& service, const JudgeOptions& judging, const Task& task,
                          const std::string& kernel, bool model);

}  // namespace kw
