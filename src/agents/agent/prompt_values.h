#pragma once
// What a prompt can say about a task, a kernel and its verdict: the values of prompts/README.md. Texts that come from a
// kernel (its lines, the compiler's words about it) are cut, put on one line and freed of hidden characters.

#include <optional>
#include <string>
#include <vector>

#include "agents/agent/strategies.h"
#include "agents/agent/template.h"
#include "base/agent_role.h"
#include "kernel/judge/verdict.h"
#include "kernel/task/task.h"

namespace kw {

// A kernel of this conversation that came before the current one.
struct TriedKernel {
  std::vector<Strategy> strategies;
  VerdictStatus status = VerdictStatus::correct;
  std::optional<double> speedup;
};

struct PromptRequest {
  AgentRole role = AgentRole::generator;
  const Task* task = nullptr;        // must outlive the call, as must the verdict
  std::string level;                 // Generator: how far to go; may be empty
  std::optional<double> target;      // speedup over the naive kernel
  std::string kernel;                // Optimizer and Tester
  const Verdict* verdict = nullptr;  // Optimizer
  std::vector<TriedKernel> tried;    // Optimizer
  std::string device;                // Optimizer: what it runs on, in words; may be empty
  bool short_answers = false;        // Optimizer: it is told that constants alone are an answer (constant_answer.h)
};

// Every value is there, empty where it does not apply, so that a template can be checked without knowing a task.
TemplateValues prompt_values(const PromptRequest& request);

// x:f32[rows,cols]>y:f32[rows,cols]
std::string compact_signature(const Task& task);
// The PyTorch text without `def reference(...)`, and without `return` where that is all.
std::string compact_operation(const Task& task);
// `correct 2.1x dram bandwidth` and the costly lines, `22 29%`; or `fault` and the findings, `12 out_of_bounds`. What a
// Tester learns to predict.
std::string compact_verdict(const Verdict& verdict);

// What the tiny model's vocabulary must hold as one token each.
std::vector<std::string> compact_keywords();

// The kernel as a model sees it: no comments, hidden characters or forbidden constructs; the same lines.
std::string kernel_for_prompt(const std::string& kernel);

}  // namespace kw
