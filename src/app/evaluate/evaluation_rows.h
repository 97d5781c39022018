#pragma once
// Figures of an evaluation, all with how well they are known. The unit is an attempt: one answer, or, where there are
// several turns, one conversation with the best kernel that came of it. What the judge could not check is not right,
// and its share stands beside every figure; only what the judge itself failed at is left out and counted.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "app/evaluate/evaluation.h"
#include "app/evaluate/rates.h"

namespace kw {

// Of a sample or conversation: its best answer, right ones by speed, else the last one that compiled, else the last.
struct Attempt {
  EvaluatedAnswer best;
  std::int64_t answers = 1;
};
// In the order of first appearance. Of the kinds that are asked for; all without the answers that are not judged.
std::vector<Attempt> attempts_of(const ModelEvaluation& evaluation);

inline constexpr std::array<double, 4> fast_thresholds = {1.0, 1.2, 1.5, 2.0};

struct EvaluationRow {
  std::string label;
  std::int64_t tasks = 0;
  std::int64_t attempts = 0;
  std::int64_t unjudged = 0;
  double unsupported = 0;          // share of attempts whose best kernel could not be checked: none of them is right
  RateEstimate compiled, correct;  // shares of attempts
  std::int64_t k = 1;              // the fewest attempts that a task has
  double pass_at_k = 0;
  std::array<double, 4> fast{};  // share that is right and at least that much faster than naive
  std::optional<std::array<double, 4>> fast_pytorch;
  std::optional<double> median_speedup;              // over naive, of the right ones with a time
  RateEstimate mean_speedup;                         // geometric; 0: no times
  std::optional<RateEstimate> mean_speedup_pytorch;  // likewise, over PyTorch eager
  RateEstimate faster;                               // improve: than the kernel that was shown
  std::optional<RateEstimate> reward;                // mean, where it was recorded
  double mean_tokens = 0;
};

enum class RowsBy : std::uint8_t { group, tier, family };

// Rows of one kind of question; the last one is over everything where there are several.
std::vector<EvaluationRow> evaluation_rows(const ModelEvaluation& evaluation, QuestionKind kind, RowsBy by);

// For the terminal.
std::string evaluation_text(const ModelEvaluation& evaluation);
// "87.5 % [82.1, 91.4]"
std::string rate_text(const RateEstimate& estimate);

nlohmann::ordered_json to_json(const EvaluationRow& row);
// {"generate": {"group": [...], "tier": [...], "family": [...]}, ...}
nlohmann::ordered_json summary_json(const ModelEvaluation& evaluation);

}  // namespace kw
