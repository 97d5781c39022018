#include "app/run_report/training_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace kw {
namespace {

// composition, then what else there is by name.
std::vector<std::string> groups_of(const std::vector<NamedEvaluation>& evaluations, QuestionKind kind) {
  std::set<std::string> names;
  for (const NamedEvaluation& one : evaluations)
    for (const EvaluatedAnswer& answer : one.evaluation.answers)
      if (answer.kind == kind) names.insert(answer.group);
  std::vector<std::string> groups(names.begin(), names.end());
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& name) { return name == "composition"; });
  return groups;
}

ModelEvaluation part_of(const ModelEvaluation& evaluation, QuestionKind kind, const std::string& group) {
  ModelEvaluation part;
  part.settings = evaluation.settings;
  for (const EvaluatedAnswer& answer : evaluation.answers)
    if (answer.kind == kind && answer.group == group) part.answers.push_back(answer);
  return part;
}

std::optional<PairedComparison> compared(const ModelEvaluation& a, const ModelEvaluation& b) {
  auto comparisons = compare_evaluations(a, b);
  if (!comparisons.ok() || comparisons->empty()) return {};
  return std::move(comparisons->front());
}

RateEstimate useful_speedup(const ModelEvaluation& evaluation) {
  std::map<std::string, double> best;
  for (const Attempt& attempt : attempts_of(evaluation)) {
    double& speedup = best.emplace(attempt.best.task, 1.0).first->second;
    speedup = std::max(speedup, attempt.best.speedup.value_or(1));
  }
  std::vector<TaskValues> tasks;
  for (const auto& [task, speedup] : best) tasks.push_back({speedup});
  return estimated_geometric_mean(tasks);
}

constexpr std::size_t most_groups = 6;

}  // namespace

std::vector<StageResults> stage_results(const std::vector<NamedEvaluation>& evaluations) {
  std::vector<StageResults> all;
  using enum QuestionKind;
  for (const QuestionKind kind : {generate, improve, repair})
    for (const std::string& group : groups_of(evaluations, kind)) {
      if (all.size() == most_groups) return all;
      StageResults results;
      results.kind = kind;
      results.group = group;
      for (const NamedEvaluation& one : evaluations) {
        ModelEvaluation part = part_of(one.evaluation, kind, group);
        const auto rows = evaluation_rows(part, kind, RowsBy::group);
        if (rows.empty()) continue;
        results.names.push_back(one.name);
        results.rows.push_back(rows.front());
        results.useful_speedups.push_back(useful_speedup(part));
        results.evaluations.push_back(std::move(part));
      }
      if (results.rows.empty()) continue;
      for (std::size_t i = 0; i < results.evaluations.size(); ++i)
        results.to_last.push_back(i + 1 < results.evaluations.size()
                                      ? compared(results.evaluations[i], results.evaluations.back())
                                      : std::nullopt);
      all.push_back(std::move(results));
    }
  return all;
}

std::optional<TurnResults> turn_results(const ModelEvaluation& evaluation) {
  TurnResults results;
  std::map<std::pair<std::string, std::string>, std::set<std::int64_t>> samples;  // of a task
  for (const EvaluatedAnswer& answer : evaluation.answers) {
    results.turns = std::max(results.turns, answer.turn + 1);
    samples[{answer.group, answer.task}].insert(answer.sample);
  }
  if (results.turns < 2) return {};
  results.conversation = evaluation;
  for (const EvaluatedAnswer& answer : evaluation.answers) {
    if (answer.turn > 0) continue;
    results.first.answers.push_back(answer);
    const auto& of_task = samples[{answer.group, answer.task}];
    const auto place = static_cast<std::size_t>(std::distance(of_task.begin(), of_task.find(answer.sample)));
    const auto turns = static_cast<std::size_t>(results.turns);
    if (place >= of_task.size() / turns * turns) continue;  // not enough for a whole budget
    results.same_budget.answers.push_back(answer);
    results.same_budget.answers.back().sample = static_cast<std::int64_t>(place / turns);
  }
  results.from_first = compared(results.first, evaluation);
  if (!results.same_budget.answers.empty()) results.from_same_budget = compared(results.same_budget, evaluation);
  return results;
}

const PairedFigure* figure_of(const std::optional<PairedComparison>& comparison, std::string_view name) {
  if (!comparison) return nullptr;
  for (const PairedFigure& figure : comparison->figures)
    if (figure.name == name) return &figure;
  return nullptr;
}

std::string p_text(double p_value) {
  // The spaces do not break: a p-value is one word.
  return p_value < 0.0001 ? std::string("p\u00a0<\u00a00.0001") : fmt::format("p\u00a0=\u00a0{:.2g}", p_value);
}

}  // namespace kw
