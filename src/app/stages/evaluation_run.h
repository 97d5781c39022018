#pragma once
// An evaluation as a person asks for it: which agents, which held-out tasks, judged by whom.

#include <optional>
#include <string>
#include <vector>

#include "app/evaluate/evaluation.h"
#include "app/evaluate/evaluation_page.h"
#include "app/evaluate/tester_score.h"
#include "kernel/judge/judge_session.h"

namespace kw {

// Filled from a configuration by evaluation_arguments().
struct EvaluateArguments {
  std::string model;
  std::vector<std::string> splits, exams;
  std::size_t tasks = 0;
  std::size_t optimizer_tasks = 0;  // kernels to improve, and as many to repair; 0: as many as tasks
  std::int64_t samples = 0;
  int turns = 0;
  double temperature = 0;
  std::uint64_t seed = 0;
  std::int64_t max_tokens = 0;
  bool constrain = true;
  std::string device;
  int threads = 0;
  JudgeSessionOptions judge;
  // What an answer is worth, whoever gave it: recorded beside what the judge said.
  std::optional<RewardShape> worth;
};

struct FinishedEvaluation {
  ModelEvaluation evaluation;
  std::optional<TesterScore> tester;
  std::vector<ReportConversation> gallery;
};

// Shows how far it is on standard error. Interrupted, it holds what was judged until then.
Result<FinishedEvaluation> evaluate_agents(const EvaluateArguments& arguments);

// What `evaluate --out` writes: every answer, and the figures.
nlohmann::ordered_json to_json(const FinishedEvaluation& finished);

}  // namespace kw
