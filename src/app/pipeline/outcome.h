#pragma once
// What training changed: the agents before, after SFT and after RL on the same held-out tasks, each figure with its
// interval and the p-value of its difference to the stage before. A conversation's first turn is the single answer, so
// one evaluation says both.

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

#include "app/evaluate/evaluation.h"
#include "app/evaluate/rates.h"

namespace kw {

struct OutcomeFigure {
  RateEstimate estimate;
  std::optional<double> p_value;  // against the row before; none: there is none, or it has no tasks in common
};

struct StageOutcomeRow {
  std::string stage;  // "start", "sft", "rl"
  int turns = 1;      // 1: the single answer
  std::int64_t tasks = 0;
  OutcomeFigure compiled, correct, reward, speedup;  // over naive, geometric mean of right kernels
  std::optional<OutcomeFigure> over_pytorch;         // likewise; only where PyTorch was timed
  double unsupported = 0;                            // share that could not be checked: not right
};

struct StageEvaluation {
  std::string stage;
  ModelEvaluation evaluation;
};

// Kernels from nothing; first the single answers of all stages, then their conversations where there are any.
std::vector<StageOutcomeRow> outcome_rows(const std::vector<StageEvaluation>& stages);

std::string outcome_text(const std::vector<StageOutcomeRow>& rows);
nlohmann::ordered_json to_json(const StageOutcomeRow& row);

}  // namespace kw
