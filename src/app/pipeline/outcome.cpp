#include "app/pipeline/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/evaluate/paired_comparison.h"
#include "base/table.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

// Rewards of a task's attempts, by task. Answers without one (another program wrote the file) are left out.
std::map<std::string, TaskValues> rewards_of(const ModelEvaluation& evaluation) {
  std::map<std::string, TaskValues> rewards;
  for (const Attempt& attempt : attempts_of(evaluation))
    if (attempt.best.kind == QuestionKind::generate && attempt.best.reward)
      rewards[attempt.best.group + "/" + attempt.best.task].push_back(*attempt.best.reward);
  return rewards;
}

RateEstimate estimated_mean(const std::map<std::string, TaskValues>& by_task) {
  std::vector<TaskValues> tasks;
  std::vector<double> all;
  for (const auto& [name, values] : by_task) {
    tasks.push_back(values);
    all.insert(all.end(), values.begin(), values.end());
  }
  if (all.empty()) return {};
  return {mean(all), task_bootstrap_interval(tasks, mean)};
}

// Of kernels from nothing, all groups together.
const PairedComparison* whole_comparison(const std::vector<PairedComparison>& comparisons) {
  const PairedComparison* whole = nullptr;
  for (const PairedComparison& comparison : comparisons)
    if (comparison.kind == QuestionKind::generate && (whole == nullptr || comparison.group.empty()))
      whole = &comparison;
  return whole;
}

void add_p_values(StageOutcomeRow& row, const ModelEvaluation& before, const ModelEvaluation& after) {
  const auto comparisons = compare_evaluations(before, after);
  if (!comparisons.ok()) return;
  const PairedComparison* whole = whole_comparison(*comparisons);
  if (whole == nullptr) return;
  for (const PairedFigure& figure : whole->figures) {
    if (figure.name == "compiled") row.compiled.p_value = figure.p_value;
    if (figure.name == "correct") row.correct.p_value = figure.p_value;
    if (figure.name == "reward") row.reward.p_value = figure.p_value;
    if (figure.name == "speedup where both are right") row.speedup.p_value = figure.p_value;
    if (figure.name == "over PyTorch, both right" && row.over_pytorch) row.over_pytorch->p_value = figure.p_value;
  }
}

StageOutcomeRow row_of(const std::string& stage, int turns, const ModelEvaluation& evaluation) {
  StageOutcomeRow row;
  row.stage = stage;
  row.turns = turns;
  const std::vector<EvaluationRow> rows = evaluation_rows(evaluation, QuestionKind::generate, RowsBy::group);
  if (rows.empty()) return row;
  const EvaluationRow& whole = rows.back();
  row.tasks = whole.tasks;
  row.compiled.estimate = whole.compiled;
  row.correct.estimate = whole.correct;
  row.unsupported = whole.unsupported;
  row.speedup.estimate = whole.mean_speedup;
  if (whole.mean_speedup_pytorch) row.over_pytorch = OutcomeFigure{*whole.mean_speedup_pytorch, {}};
  row.reward.estimate = estimated_mean(rewards_of(evaluation));
  return row;
}

std::string stage_text(const std::string& stage) {
  if (stage == "start") return "before";
  if (stage == "sft") return "after SFT";
  return stage == "rl" ? "after RL" : stage;
}

std::string p_text(const OutcomeFigure& figure) {
  if (!figure.p_value) return "";
  return *figure.p_value < 0.0001 ? "< 0.0001" : fmt::format("{:.2g}", *figure.p_value);
}

}  // namespace

std::vector<StageOutcomeRow> outcome_rows(const std::vector<StageEvaluation>& stages) {
  int most_turns = 1;
  for (const StageEvaluation& stage : stages) most_turns = std::max(most_turns, stage.evaluation.settings.turns);
  std::vector<StageOutcomeRow> rows;
  for (const int turns : most_turns > 1 ? std::vector{1, most_turns} : std::vector{1}) {
    std::optional<ModelEvaluation> before;
    for (const StageEvaluation& stage : stages) {
      ModelEvaluation part = first_turns(stage.evaluation, turns);
      rows.push_back(row_of(stage.stage, turns, part));
      if (before) add_p_values(rows.back(), *before, part);
      before = std::move(part);
    }
  }
  return rows;
}

std::string outcome_text(const std::vector<StageOutcomeRow>& rows) {
  std::vector<std::string> headings{"held-out tasks", "",       "tasks", "compiled",           "correct", "p",
                                    "unsupported",    "reward", "p",     "speedup over naive", "p"};
  const bool pytorch =
      std::ranges::any_of(rows, [](const StageOutcomeRow& row) { return row.over_pytorch.has_value(); });
  if (pytorch) headings.insert(headings.end(), {"over PyTorch eager", "p"});
  std::vector<Align> alignment(headings.size(), Align::right);
  alignment[0] = alignment[1] = Align::left;
  Table table(headings, alignment);
  int turns = 0;
  for (const StageOutcomeRow& row : rows) {
    const std::string form = row.turns == turns ? ""
                             : row.turns == 1   ? "one answer"
                                                : fmt::format("{} turns", row.turns);
    turns = row.turns;
    const auto plain = [](const RateEstimate& estimate, const char* unit) {
      return fmt::format("{:.3f}{} [{:.3f}, {:.3f}]", estimate.value, unit, estimate.interval.low,
                         estimate.interval.high);
    };
    std::vector<std::string> cells{form,
                                   stage_text(row.stage),
                                   std::to_string(row.tasks),
                                   rate_text(row.compiled.estimate),
                                   rate_text(row.correct.estimate),
                                   p_text(row.correct),
                                   fmt::format("{:.1f} %", 100 * row.unsupported),
                                   plain(row.reward.estimate, ""),
                                   p_text(row.reward),
                                   row.speedup.estimate.value > 0 ? plain(row.speedup.estimate, " x") : "",
                                   p_text(row.speedup)};
    if (pytorch) {
      cells.push_back(row.over_pytorch ? plain(row.over_pytorch->estimate, " x") : "");
      cells.push_back(row.over_pytorch ? p_text(*row.over_pytorch) : "");
    }
    table.add(std::move(cells));
  }
  return table.text() + "intervals are 95 %; p: the same tasks, against the line before\n";
}

Json to_json(const StageOutcomeRow& row) {
  const auto figure = [](const OutcomeFigure& one) {
    return Json{{"value", one.estimate.value},
                {"low", one.estimate.interval.low},
                {"high", one.estimate.interval.high},
                {"p_value", one.p_value ? Json(*one.p_value) : Json()}};
  };
  return {{"stage", row.stage},
          {"turns", row.turns},
          {"tasks", row.tasks},
          {"compiled", figure(row.compiled)},
          {"correct", figure(row.correct)},
          {"unsupported", row.unsupported},
          {"reward", figure(row.reward)},
          {"speedup", figure(row.speedup)},
          {"speedup_pytorch", row.over_pytorch ? figure(*row.over_pytorch) : Json()}};
}

}  // namespace kw
