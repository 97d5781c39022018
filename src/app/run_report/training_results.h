#pragma once
// What a run was good for: before against after, one turn against several, each difference with its interval and its
// p-value from tests that pair the tasks.

#include <string>
#include <vector>

#include "app/evaluate/paired_comparison.h"
#include "app/run_report/run_parts.h"

namespace kw {

// Of one kind of question and one group of tasks.
struct StageResults {
  QuestionKind kind = QuestionKind::generate;
  std::string group;
  std::vector<std::string> names;             // of the evaluations that have it
  std::vector<ModelEvaluation> evaluations;   // this part of them
  std::vector<EvaluationRow> rows;            // of each
  std::vector<RateEstimate> useful_speedups;  // best of a task; where none is right or faster, the naive one's: 1
  std::vector<std::optional<PairedComparison>> to_last;  // from each to the last; none for the last itself
};

// The headline's first: from nothing, `composition`.
std::vector<StageResults> stage_results(const std::vector<NamedEvaluation>& evaluations);

// One answer against a conversation, and against as many first answers as the conversation has turns.
struct TurnResults {
  int turns = 1;
  ModelEvaluation first, same_budget, conversation;              // same_budget: empty where there are too few samples
  std::optional<PairedComparison> from_first, from_same_budget;  // to the conversation
};
std::optional<TurnResults> turn_results(const ModelEvaluation& evaluation);

// The figure of this name; null: there is none.
const PairedFigure* figure_of(const std::optional<PairedComparison>& comparison, std::string_view name);
// "p = 0.012", "p < 0.0001"
std::string p_text(double p_value);

}  // namespace kw
