#include "app/evaluate/paired_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "app/evaluate/paired_tests.h"
#include "base/table.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_named = 10;

// What one evaluation has on one task.
struct TaskSide {
  std::int64_t attempts = 0, answers = 0, compiled = 0, correct = 0, unsupported = 0, faster = 0;
  std::array<std::int64_t, fast_thresholds.size()> fast{};
  double log_speedups = 0;
  std::int64_t timed = 0;
  std::array<std::int64_t, fast_thresholds.size()> fast_pytorch{};
  double log_over_pytorch = 0;
  std::int64_t beside_pytorch = 0;  // timed, and PyTorch too
  double reward = 0;
  std::int64_t rewarded = 0;
  std::optional<double> best_speedup;

  double share(std::int64_t count) const { return static_cast<double>(count) / static_cast<double>(attempts); }
};

using TaskKey = std::tuple<QuestionKind, std::string, std::string>;  // kind, group, task
using Sides = std::map<TaskKey, TaskSide>;

Sides sides_of(const ModelEvaluation& evaluation) {
  Sides sides;
  for (const Attempt& attempt : attempts_of(evaluation)) {
    const EvaluatedAnswer& best = attempt.best;
    TaskSide& side = sides[{best.kind, best.group, best.task}];
    ++side.attempts;
    side.answers += attempt.answers;
    side.compiled += best.compiled;
    side.correct += best.correct;
    side.unsupported += best.unsupported();
    side.faster += best.faster;
    if (best.reward) side.reward += *best.reward, ++side.rewarded;
    if (best.speedup_pytorch) {
      for (std::size_t i = 0; i < fast_thresholds.size(); ++i)
        side.fast_pytorch[i] += *best.speedup_pytorch > fast_thresholds[i];
      side.log_over_pytorch += std::log(*best.speedup_pytorch);
      ++side.beside_pytorch;
    }
    if (!best.speedup) continue;
    for (std::size_t i = 0; i < fast_thresholds.size(); ++i)
      side.fast[i] += best.speedup_low.value_or(*best.speedup) > fast_thresholds[i];
    side.log_speedups += std::log(*best.speedup);
    ++side.timed;
    side.best_speedup = std::max(side.best_speedup.value_or(0), *best.speedup);
  }
  return sides;
}

struct Pair {
  std::string task;
  TaskSide a, b;
};

struct Values {
  std::vector<double> a, b;
};

Interval difference_interval(const Values& values) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < values.a.size(); ++i) differences.push_back(values.b[i] - values.a[i]);
  return bootstrap_interval(differences, mean, 0.95, 2000);
}

std::vector<double> differences_of(const Values& values) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < values.a.size(); ++i) differences.push_back(values.b[i] - values.a[i]);
  return differences;
}

PairedFigure share_figure(const std::string& name, const Values& values) {
  PairedFigure figure;
  figure.name = name;
  figure.tasks = static_cast<std::int64_t>(values.a.size());
  figure.a = mean(values.a);
  figure.b = mean(values.b);
  figure.difference = difference_interval(values);
  const auto is_yes_or_no = [](double share) { return share == 0 || share == 1; };
  if (std::all_of(values.a.begin(), values.a.end(), is_yes_or_no) &&
      std::all_of(values.b.begin(), values.b.end(), is_yes_or_no)) {
    std::int64_t only_a = 0, only_b = 0;
    for (std::size_t i = 0; i < values.a.size(); ++i) {
      only_a += values.a[i] > values.b[i];
      only_b += values.b[i] > values.a[i];
    }
    figure.test = "McNemar, exact";
    figure.p_value = mcnemar_exact(only_a, only_b);
  } else {
    figure.test = "paired permutation";
    figure.p_value = paired_permutation(differences_of(values));
  }
  return figure;
}

// Of logarithms.
PairedFigure speedup_figure(const std::string& name, const Values& logs) {
  PairedFigure figure;
  figure.name = name;
  figure.ratio = true;
  figure.tasks = static_cast<std::int64_t>(logs.a.size());
  figure.a = std::exp(mean(logs.a));
  figure.b = std::exp(mean(logs.b));
  const Interval interval = difference_interval(logs);
  figure.difference = {std::exp(interval.low), std::exp(interval.high)};
  figure.test = "Wilcoxon signed ranks";
  figure.p_value = wilcoxon_signed_rank(differences_of(logs));
  return figure;
}

PairedComparison comparison_of(QuestionKind kind, const std::string& group, const std::vector<Pair>& pairs) {
  PairedComparison made;
  made.kind = kind;
  made.group = group;
  made.tasks = static_cast<std::int64_t>(pairs.size());
  Values compiled, correct, unsupported, solved, faster, both_right, over_pytorch, useful, reward;
  std::array<Values, fast_thresholds.size()> fast, fast_pytorch;
  for (const Pair& pair : pairs) {
    const auto& [task, a, b] = pair;
    made.answers_a += static_cast<double>(a.answers) / static_cast<double>(pairs.size());
    made.answers_b += static_cast<double>(b.answers) / static_cast<double>(pairs.size());
    const auto add = [](Values& values, double of_a, double of_b) {
      values.a.push_back(of_a);
      values.b.push_back(of_b);
    };
    add(compiled, a.share(a.compiled), b.share(b.compiled));
    add(correct, a.share(a.correct), b.share(b.correct));
    add(unsupported, a.share(a.unsupported), b.share(b.unsupported));
    add(solved, a.correct > 0 ? 1 : 0, b.correct > 0 ? 1 : 0);
    add(faster, a.share(a.faster), b.share(b.faster));
    for (std::size_t i = 0; i < fast.size(); ++i) {
      add(fast[i], a.share(a.fast[i]), b.share(b.fast[i]));
      add(fast_pytorch[i], a.share(a.fast_pytorch[i]), b.share(b.fast_pytorch[i]));
    }
    if (a.rewarded > 0 && b.rewarded > 0)
      add(reward, a.reward / static_cast<double>(a.rewarded), b.reward / static_cast<double>(b.rewarded));
    if (a.timed > 0 && b.timed > 0)
      add(both_right, a.log_speedups / static_cast<double>(a.timed), b.log_speedups / static_cast<double>(b.timed));
    if (a.beside_pytorch > 0 && b.beside_pytorch > 0)
      add(over_pytorch, a.log_over_pytorch / static_cast<double>(a.beside_pytorch),
          b.log_over_pytorch / static_cast<double>(b.beside_pytorch));
    // Who gets no right kernel, or a slower one, keeps the naive one.
    add(useful, std::log(std::max(1.0, a.best_speedup.value_or(1))),
        std::log(std::max(1.0, b.best_speedup.value_or(1))));
    if (a.correct > 0 && b.correct == 0) made.regressions.push_back(task);
    if (b.correct > 0 && a.correct == 0) made.improvements.push_back(task);
  }
  made.figures.push_back(share_figure("compiled", compiled));
  made.figures.push_back(share_figure(kind == QuestionKind::repair ? "repaired" : "correct", correct));
  made.figures.push_back(share_figure("unsupported", unsupported));
  made.figures.back().less_is_better = true;
  const bool several = std::any_of(pairs.begin(), pairs.end(),
                                   [](const Pair& pair) { return pair.a.attempts > 1 || pair.b.attempts > 1; });
  if (several) made.figures.push_back(share_figure("correct at least once", solved));
  if (kind == QuestionKind::improve) made.figures.push_back(share_figure("made faster", faster));
  if (!both_right.a.empty()) made.figures.push_back(speedup_figure("speedup where both are right", both_right));
  made.figures.push_back(speedup_figure("best speedup, naive where none", useful));
  for (std::size_t i = 0; i < fast.size(); ++i)
    made.figures.push_back(share_figure(fmt::format("fast_{}", fast_thresholds[i]), fast[i]));
  if (!over_pytorch.a.empty()) {
    made.figures.push_back(speedup_figure("over PyTorch, both right", over_pytorch));
    for (std::size_t i = 0; i < fast_pytorch.size(); ++i)
      made.figures.push_back(share_figure(fmt::format("fast_{}, PyTorch", fast_thresholds[i]), fast_pytorch[i]));
  }
  if (!reward.a.empty()) {
    made.figures.push_back(share_figure("reward", reward));
    made.figures.back().points = true;
  }
  return made;
}

std::string figure_text(const PairedFigure& figure, double value) {
  if (figure.points) return fmt::format("{:.3f}", value);
  return figure.ratio ? fmt::format("{:.3f} x", value) : fmt::format("{:.1f} %", 100 * value);
}

std::string change_text(const PairedFigure& figure, double change) {
  if (figure.points) return fmt::format("{:+.3f}", change);
  return figure.ratio ? fmt::format("{:.3f}", change) : fmt::format("{:+.1f}", 100 * change);
}

}  // namespace

Result<std::vector<PairedComparison>> compare_evaluations(const ModelEvaluation& a, const ModelEvaluation& b) {
  const Sides of_a = sides_of(a), of_b = sides_of(b);
  std::map<std::pair<QuestionKind, std::string>, std::vector<Pair>> parts;
  std::map<QuestionKind, std::vector<Pair>> all;
  for (const auto& [key, side] : of_a) {
    const auto found = of_b.find(key);
    if (found == of_b.end()) continue;
    const auto& [kind, group, task] = key;
    const Pair pair{task, side, found->second};
    parts[{kind, group}].push_back(pair);
    all[kind].push_back(pair);
  }
  if (parts.empty())
    return Error{"the two evaluations have no task in common", "evaluate both with the same --split and --seed", {}};
  std::vector<PairedComparison> comparisons;
  for (const auto& [kind, pairs] : all) {
    std::size_t groups = 0;
    for (const auto& [place, part] : parts)
      if (place.first == kind) {
        comparisons.push_back(comparison_of(kind, place.second, part));
        ++groups;
      }
    if (groups > 1) comparisons.push_back(comparison_of(kind, "", pairs));
  }
  return comparisons;
}

std::string comparison_text(const ModelEvaluation& a, const ModelEvaluation& b,
                            const std::vector<PairedComparison>& comparisons) {
  const auto side = [](const ModelEvaluation& evaluation) {
    const EvaluationSettings& settings = evaluation.settings;
    return fmt::format("{}, {} x {} turns, temperature {}, {}", settings.model, settings.samples, settings.turns,
                       settings.temperature, settings.judge);
  };
  std::string text = fmt::format("A: {}\nB: {}\n", side(a), side(b));
  if (a.settings.judge != b.settings.judge) text += "they were judged differently: times do not compare\n";
  for (const PairedComparison& comparison : comparisons) {
    text += fmt::format("\n{}, {}: {} tasks in both\n", name_of(comparison.kind),
                        comparison.group.empty() ? "all groups" : comparison.group, comparison.tasks);
    if (std::abs(comparison.answers_a - comparison.answers_b) > 0.005)
      text += fmt::format("answers a task: {:.2f} by A, {:.2f} by B\n", comparison.answers_a, comparison.answers_b);
    Table table(
        {"", "tasks", "A", "B", "difference", "95 %", "p", "test"},
        {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right, Align::left});
    for (const PairedFigure& figure : comparison.figures) {
      const Interval& range = figure.difference;
      table.add(
          {figure.name, std::to_string(figure.tasks), figure_text(figure, figure.a), figure_text(figure, figure.b),
           figure.ratio ? change_text(figure, figure.b / figure.a) + " x" : change_text(figure, figure.b - figure.a),
           fmt::format("[{}, {}]", change_text(figure, range.low), change_text(figure, range.high)),
           fmt::format("{:.2g}", figure.p_value), figure.test});
    }
    text += table.text();
    const auto names = [&](const char* what, const std::vector<std::string>& list) {
      if (list.empty()) return;
      text += fmt::format("{} {}:", list.size(), what);
      for (std::size_t i = 0; i < std::min(list.size(), most_named); ++i) text += " " + list[i];
      text += list.size() > most_named ? " ...\n" : "\n";
    };
    names("regressions (A right, B not)", comparison.regressions);
    names("improvements (B right, A not)", comparison.improvements);
  }
  return text;
}

Json to_json(const PairedComparison& comparison) {
  Json figures = Json::array();
  for (const PairedFigure& figure : comparison.figures)
    figures.push_back({{"name", figure.name},
                       {"tasks", figure.tasks},
                       {"a", figure.a},
                       {"b", figure.b},
                       {"difference", figure.ratio ? figure.b / figure.a : figure.b - figure.a},
                       {"ratio", figure.ratio},
                       {"low", figure.difference.low},
                       {"high", figure.difference.high},
                       {"p_value", figure.p_value},
                       {"test", figure.test}});
  return {{"kind", name_of(comparison.kind)},
          {"group", comparison.group},
          {"tasks", comparison.tasks},
          {"answers_a", comparison.answers_a},
          {"answers_b", comparison.answers_b},
          {"figures", figures},
          {"regressions", comparison.regressions},
          {"improvements", comparison.improvements}};
}

}  // namespace kw
