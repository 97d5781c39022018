#pragma once
// Two evaluations of the same tasks: is B better than A? Tasks are paired, so that hard and easy tasks do not blur the
// difference. Also for one turn against several: then the same budget of answers should have been spent.

#include <optional>
#include <string>
#include <vector>

#include "app/evaluate/evaluation_rows.h"

namespace kw {

struct PairedFigure {
  std::string name;
  std::int64_t tasks = 0;  // pairs
  double a = 0, b = 0;
  bool ratio = false;   // the difference is b / a, of geometric means; else b - a
  bool points = false;  // of reward, no share
  bool less_is_better = false;
  Interval difference;  // 95 %, by tasks
  double p_value = 1;
  std::string test;  // by which
};

struct PairedComparison {
  QuestionKind kind = QuestionKind::generate;
  std::string group;  // empty: all
  std::int64_t tasks = 0;
  double answers_a = 0, answers_b = 0;  // a task: the budget that was spent
  std::vector<PairedFigure> figures;
  std::vector<std::string> regressions;   // tasks that A solved and B did not
  std::vector<std::string> improvements;  // the other way round
};

// One for each kind and group that both have, and one over all groups where there are several. An error when they have
// no task in common.
Result<std::vector<PairedComparison>> compare_evaluations(const ModelEvaluation& a, const ModelEvaluation& b);

std::string comparison_text(const ModelEvaluation& a, const ModelEvaluation& b,
                            const std::vector<PairedComparison>& comparisons);
nlohmann::ordered_json to_json(const PairedComparison& comparison);

}  // namespace kw
