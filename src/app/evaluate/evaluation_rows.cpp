#include "app/evaluate/evaluation_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/progress.h"
#include "base/table.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

std::string label_of(const EvaluatedAnswer& answer, RowsBy by) {
  switch (by) {
    case RowsBy::group:
      return answer.group;
    case RowsBy::tier:
      return fmt::format("tier {}", answer.tier);
    case RowsBy::family:
      return answer.family;
  }
  return "";
}

std::string_view name_of(RowsBy by) {
  switch (by) {
    case RowsBy::group:
      return "group";
    case RowsBy::tier:
      return "tier";
    case RowsBy::family:
      return "family";
  }
  return "";
}

bool better(const EvaluatedAnswer& a, const EvaluatedAnswer& b) {
  const auto rank = [](const EvaluatedAnswer& answer) {
    return std::tuple(answer.correct, answer.correct ? answer.speedup.value_or(0) : 0, answer.compiled, answer.turn);
  };
  return rank(a) > rank(b);
}

EvaluationRow row_of(std::string label, const std::vector<const Attempt*>& attempts) {
  EvaluationRow row;
  row.label = std::move(label);
  std::map<std::string, std::vector<const EvaluatedAnswer*>> tasks;
  std::vector<double> speedups, claimed, pytorch;
  double tokens = 0;
  for (const Attempt* attempt : attempts) {
    const EvaluatedAnswer& best = attempt->best;
    tasks[best.group + "/" + best.task].push_back(&best);
    tokens += static_cast<double>(best.tokens);
    row.unsupported += best.unsupported() ? 1 : 0;
    if (best.speedup) speedups.push_back(*best.speedup);
    if (best.speedup) claimed.push_back(best.speedup_low.value_or(*best.speedup));
    if (best.speedup_pytorch) pytorch.push_back(*best.speedup_pytorch);
  }
  row.tasks = static_cast<std::int64_t>(tasks.size());
  row.attempts = static_cast<std::int64_t>(attempts.size());
  if (attempts.empty()) return row;
  row.mean_tokens = tokens / static_cast<double>(attempts.size());
  row.unsupported /= static_cast<double>(attempts.size());

  std::vector<TaskValues> compiled, correct, faster, task_speedups, over_pytorch, rewards;
  bool rewarded = false;
  std::size_t k = attempts.size();
  for (const auto& [name, answers] : tasks) {
    k = std::min(k, answers.size());
    for (auto* list : {&compiled, &correct, &faster, &task_speedups, &over_pytorch, &rewards}) list->emplace_back();
    for (const EvaluatedAnswer* answer : answers) {
      compiled.back().push_back(answer->compiled ? 1 : 0);
      correct.back().push_back(answer->correct ? 1 : 0);
      faster.back().push_back(answer->faster ? 1 : 0);
      if (answer->speedup) task_speedups.back().push_back(*answer->speedup);
      if (answer->speedup_pytorch) over_pytorch.back().push_back(*answer->speedup_pytorch);
      if (answer->reward) rewards.back().push_back(*answer->reward), rewarded = true;
    }
  }
  row.compiled = estimated_share(compiled);
  row.correct = estimated_share(correct);
  row.faster = estimated_share(faster);
  row.mean_speedup = estimated_geometric_mean(task_speedups);
  if (rewarded) row.reward = estimated_mean(rewards);
  row.k = static_cast<std::int64_t>(k);
  for (const TaskValues& task : correct)
    row.pass_at_k +=
        pass_at_k(static_cast<std::int64_t>(task.size()), std::count(task.begin(), task.end(), 1.0), row.k) /
        static_cast<double>(correct.size());
  for (std::size_t i = 0; i < fast_thresholds.size(); ++i)
    row.fast[i] = fast_share(claimed, row.attempts, fast_thresholds[i]);
  if (!speedups.empty()) row.median_speedup = median(speedups);
  if (!pytorch.empty()) {
    row.mean_speedup_pytorch = estimated_geometric_mean(over_pytorch);
    row.fast_pytorch.emplace();
    for (std::size_t i = 0; i < fast_thresholds.size(); ++i)
      (*row.fast_pytorch)[i] = fast_share(pytorch, row.attempts, fast_thresholds[i]);
  }
  return row;
}

std::string speedup_text(const RateEstimate& speedup) {
  return fmt::format("{:.2f} x [{:.2f}, {:.2f}]", speedup.value, speedup.interval.low, speedup.interval.high);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string table_of(const std::vector<EvaluationRow>& rows, QuestionKind kind, const std::string& heading) {
  const bool several = std::any_of(rows.begin(), rows.end(), [](const EvaluationRow& row) { return row.k > 1; });
  const bool pytorch = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.fast_pytorch; });
  std::vector<std::string> headings{heading, "tasks", "compiled", kind == QuestionKind::repair ? "repaired" : "correct",
                                    "unsupported"};
  if (several) headings.push_back("pass@k");
  if (kind == QuestionKind::improve) headings.push_back("made faster");
  for (const double p : fast_thresholds) headings.push_back(fmt::format("fast_{}", p));
  headings.insert(headings.end(), {"median", "mean speedup"});
  if (pytorch) headings.insert(headings.end(), {"over PyTorch", "fast_1 PyTorch"});
  std::vector<Align> alignment(headings.size(), Align::right);
  alignment[0] = Align::left;
  Table table(headings, alignment);
  for (const EvaluationRow& row : rows) {
    std::vector<std::string> cells{row.label, std::to_string(row.tasks), rate_text(row.compiled),
                                   rate_text(row.correct), percent(row.unsupported)};
    if (several) cells.push_back(fmt::format("{} (k = {})", percent(row.pass_at_k), row.k));
    if (kind == QuestionKind::improve) cells.push_back(rate_text(row.faster));
    for (const double share : row.fast) cells.push_back(percent(share));
    cells.push_back(row.median_speedup ? fmt::format("{:.2f} x", *row.median_speedup) : "");
    cells.push_back(row.mean_speedup.value > 0 ? speedup_text(row.mean_speedup) : "");
    if (pytorch) {
      cells.push_back(row.mean_speedup_pytorch ? speedup_text(*row.mean_speedup_pytorch) : "");
      cells.push_back(row.fast_pytorch ? percent(row.fast_pytorch->front()) : "");
    }
    table.add(std::move(cells));
  }
  return table.text();
}

std::string_view title_of(QuestionKind kind) {
  switch (kind) {
    case QuestionKind::generate:
      return "Kernels from nothing";
    case QuestionKind::improve:
      return "Right naive kernels to be made faster";
    case QuestionKind::repair:
      return "Broken kernels to be repaired";
  }
  return "";
}

constexpr std::array all_kinds = {QuestionKind::generate, QuestionKind::improve, QuestionKind::repair};

}  // namespace

std::string rate_text(const RateEstimate& estimate) {
  return fmt::format("{} [{:.1f}, {:.1f}]", percent(estimate.value), 100 * estimate.interval.low,
                     100 * estimate.interval.high);
}

std::vector<Attempt> attempts_of(const ModelEvaluation& evaluation) {
  std::vector<Attempt> attempts;
  std::map<std::tuple<std::string, std::string, QuestionKind, std::int64_t>, std::size_t> places;
  for (const EvaluatedAnswer& answer : evaluation.answers) {
    if (!answer.judged()) continue;
    const auto [place, is_new] =
        places.emplace(std::tuple(answer.group, answer.task, answer.kind, answer.sample), attempts.size());
    if (is_new) {
      attempts.push_back({answer, 1});
      continue;
    }
    Attempt& attempt = attempts[place->second];
    ++attempt.answers;
    const std::int64_t tokens = attempt.best.tokens + answer.tokens;
    if (better(answer, attempt.best)) attempt.best = answer;
    attempt.best.tokens = tokens;
  }
  return attempts;
}

std::vector<EvaluationRow> evaluation_rows(const ModelEvaluation& evaluation, QuestionKind kind, RowsBy by) {
  const std::vector<Attempt> attempts = attempts_of(evaluation);
  std::map<std::string, std::vector<const Attempt*>> parts;
  std::map<std::string, std::int64_t> unjudged;
  std::vector<const Attempt*> all;
  for (const Attempt& attempt : attempts) {
    if (attempt.best.kind != kind) continue;
    parts[label_of(attempt.best, by)].push_back(&attempt);
    all.push_back(&attempt);
  }
  std::int64_t all_unjudged = 0;
  for (const EvaluatedAnswer& answer : evaluation.answers)
    if (answer.kind == kind && !answer.judged()) {
      ++unjudged[label_of(answer, by)];
      ++all_unjudged;
    }
  std::vector<EvaluationRow> rows;
  for (const auto& [label, part] : parts) {
    rows.push_back(row_of(label, part));
    rows.back().unjudged = unjudged[label];
  }
  if (rows.size() > 1) {
    rows.push_back(row_of("all", all));
    rows.back().unjudged = all_unjudged;
  }
  return rows;
}

std::string evaluation_text(const ModelEvaluation& evaluation) {
  const EvaluationSettings& settings = evaluation.settings;
  std::string text = fmt::format(
      "{} on {}, kernels {}; {} a task{}, {}, seed {}\n", settings.model, settings.device, settings.judge,
      settings.samples == 1 ? "one attempt" : fmt::format("{} attempts", settings.samples),
      settings.turns == 1 ? "" : fmt::format(" of {} turns", settings.turns),
      settings.temperature == 0 ? "greedy" : fmt::format("temperature {}", settings.temperature), settings.seed);
  for (const QuestionKind kind : all_kinds) {
    const auto groups = evaluation_rows(evaluation, kind, RowsBy::group);
    if (groups.empty()) continue;
    text += fmt::format("\n{}\n", title_of(kind));
    text += table_of(groups, kind, "group");
    std::int64_t unjudged = 0;
    for (const EvaluationRow& row : groups) unjudged = std::max(unjudged, row.unjudged);
    if (unjudged > 0) text += fmt::format("{} answers count nowhere: the judge itself failed\n", unjudged);
    for (const RowsBy by : {RowsBy::tier, RowsBy::family}) {
      const auto rows = evaluation_rows(evaluation, kind, by);
      if (rows.size() > 1) text += "\n" + table_of(rows, kind, std::string(name_of(by)));
    }
  }
  text += fmt::format("\n{} answers in {}; intervals are 95 %\n", evaluation.answers.size(),
                      duration_text(evaluation.seconds));
  if (evaluation.interrupted) text += "stopped before the end: what is missing is not counted\n";
  return text;
}

Json to_json(const EvaluationRow& row) {
  const auto rate = [](const RateEstimate& estimate) {
    return Json{{"value", estimate.value}, {"low", estimate.interval.low}, {"high", estimate.interval.high}};
  };
  const auto shares = [](const std::array<double, 4>& fast) {
    Json json = Json::object();
    for (std::size_t i = 0; i < fast.size(); ++i) json[fmt::format("{}", fast_thresholds[i])] = fast[i];
    return json;
  };
  Json json{{"label", row.label},
            {"tasks", row.tasks},
            {"attempts", row.attempts},
            {"unjudged", row.unjudged},
            {"unsupported", row.unsupported},
            {"compiled", rate(row.compiled)},
            {"correct", rate(row.correct)},
            {"pass_at_1", row.correct.value},
            {"k", row.k},
            {"pass_at_k", row.pass_at_k},
            {"fast", shares(row.fast)},
            {"fast_pytorch", row.fast_pytorch ? shares(*row.fast_pytorch) : Json(nullptr)},
            {"median_speedup", row.median_speedup ? Json(*row.median_speedup) : Json(nullptr)},
            {"mean_speedup", row.mean_speedup.value > 0 ? rate(row.mean_speedup) : Json(nullptr)},
            {"mean_speedup_pytorch", row.mean_speedup_pytorch ? Json(row.mean_speedup_pytorch->value) : Json(nullptr)},
            {"faster", rate(row.faster)},
            {"reward", row.reward ? rate(*row.reward) : Json(nullptr)},
            {"mean_tokens", row.mean_tokens}};
  return json;
}

Json summary_json(const ModelEvaluation& evaluation) {
  Json summary = Json::object();
  for (const QuestionKind kind : all_kinds) {
    Json by_label = Json::object();
    for (const RowsBy by : {RowsBy::group, RowsBy::tier, RowsBy::family}) {
      Json rows = Json::array();
      for (const EvaluationRow& row : evaluation_rows(evaluation, kind, by)) rows.push_back(to_json(row));
      if (!rows.empty()) by_label[std::string(name_of(by))] = std::move(rows);
    }
    if (!by_label.empty()) summary[std::string(kw::name_of(kind))] = std::move(by_label);
  }
  return summary;
}

}  // namespace kw
