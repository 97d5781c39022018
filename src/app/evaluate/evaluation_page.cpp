#include "app/evaluate/evaluation_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernel/judge/baseline.h"

namespace kw {
namespace {

ReportCell plain(std::string text, std::string detail = "") {
  ReportCell cell;
  cell.text = std::move(text);
  cell.detail = std::move(detail);
  return cell;
}

ReportCell rate_cell(const RateEstimate& rate) {
  ReportCell cell = plain(fmt::format("{:.1f} %", 100 * rate.value),
                          fmt::format("{:.1f} to {:.1f}", 100 * rate.interval.low, 100 * rate.interval.high));
  cell.share = rate.value;
  cell.interval = rate.interval;
  return cell;
}

std::vector<std::string> headings_of(QuestionKind kind, bool pytorch) {
  std::vector<std::string> headings{
      "", "tasks", "compiled", kind == QuestionKind::repair ? "repaired" : "correct", "unsupported", "pass@k"};
  if (kind == QuestionKind::improve) headings.push_back("made faster");
  for (const double p : fast_thresholds) headings.push_back(fmt::format("fast_{}", p));
  headings.insert(headings.end(), {"median", "mean speedup"});
  if (pytorch) headings.insert(headings.end(), {"over PyTorch", "fast_1 PyTorch"});
  return headings;
}

std::vector<ReportCell> cells_of(const EvaluationRow& row, QuestionKind kind, bool pytorch, const std::string& name,
                                 const std::string& detail) {
  const auto percent = [](double share) { return plain(fmt::format("{:.1f} %", 100 * share)); };
  std::vector<ReportCell> cells{
      plain(name, detail),      plain(std::to_string(row.tasks)),
      rate_cell(row.compiled),  rate_cell(row.correct),
      percent(row.unsupported), plain(fmt::format("{:.1f} %", 100 * row.pass_at_k), fmt::format("k = {}", row.k))};
  if (kind == QuestionKind::improve) cells.push_back(rate_cell(row.faster));
  for (const double share : row.fast) cells.push_back(percent(share));
  cells.push_back(row.median_speedup ? plain(fmt::format("{:.2f} x", *row.median_speedup)) : plain(""));
  const RateEstimate& speed = row.mean_speedup;
  cells.push_back(speed.value > 0 ? plain(fmt::format("{:.2f} x", speed.value),
                                          fmt::format("{:.2f} to {:.2f}", speed.interval.low, speed.interval.high))
                                  : plain(""));
  if (pytorch) {
    cells.push_back(row.mean_speedup_pytorch ? plain(fmt::format("{:.2f} x", row.mean_speedup_pytorch->value))
                                             : plain(""));
    cells.push_back(row.fast_pytorch ? percent(row.fast_pytorch->front()) : plain(""));
  }
  return cells;
}

std::string_view title_of(QuestionKind kind) {
  switch (kind) {
    case QuestionKind::generate:
      return "Kernels from nothing";
    case QuestionKind::improve:
      return "Right naive kernels made faster";
    case QuestionKind::repair:
      return "Broken kernels repaired";
  }
  return "";
}

constexpr const char* table_note =
    "Intervals are 95 %. unsupported: could not be checked, and counts as not right. fast_p: the share of all attempts "
    "that are right and more than p times as fast as the naive "
    "kernel. Mean speedups are geometric, over right kernels.";

std::string settings_text(const EvaluationSettings& settings) {
  return fmt::format("{} attempt{}{}, {}", settings.samples, settings.samples == 1 ? "" : "s",
                     settings.turns > 1 ? fmt::format(" of {} turns", settings.turns) : "",
                     settings.temperature == 0 ? "greedy" : fmt::format("temperature {}", settings.temperature));
}

bool has_pytorch(const std::vector<EvaluationRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const EvaluationRow& row) { return row.fast_pytorch.has_value(); });
}

void add_stage_tables(HtmlReport& report, const std::vector<EvaluationStage>& stages, QuestionKind kind) {
  std::vector<std::string> groups;
  std::vector<std::vector<EvaluationRow>> rows;
  bool pytorch = false;
  for (const EvaluationStage& stage : stages) {
    rows.push_back(evaluation_rows(*stage.evaluation, kind, RowsBy::group));
    pytorch = pytorch || has_pytorch(rows.back());
    for (const EvaluationRow& row : rows.back())
      if (row.label != "all" && std::find(groups.begin(), groups.end(), row.label) == groups.end())
        groups.push_back(row.label);
  }
  for (const std::string& group : groups) {
    ReportTable table;
    table.title = fmt::format("{}: {}", title_of(kind), group);
    table.note = table_note;
    table.headings = headings_of(kind, pytorch);
    for (std::size_t i = 0; i < stages.size(); ++i)
      for (const EvaluationRow& row : rows[i])
        if (row.label == group)
          table.rows.push_back(
              cells_of(row, kind, pytorch, stages[i].name, settings_text(stages[i].evaluation->settings)));
    report.tables.push_back(std::move(table));
  }
}

ReportTurn turn_of(const std::string& agent, const std::string& said, const std::string& kernel,
                   std::string_view outcome, const std::string& message, const Verdict* verdict) {
  ReportTurn turn;
  turn.agent = agent;
  turn.said = said;
  turn.kernel = kernel;
  if (verdict == nullptr) {
    turn.status = outcome;
    turn.summary = message;
    return turn;
  }
  turn.status = to_string(verdict->status);
  turn.good = counts_as_correct(*verdict);
  turn.summary = verdict->summary;
  turn.limiter = verdict->limiter;
  if (verdict->speedup_naive) turn.speed = speedup_text(Baseline::naive, *verdict->speedup_naive);
  if (verdict->time_us)
    turn.speed +=
        fmt::format("{}{:.1f} us {}", turn.speed.empty() ? "" : ", ", *verdict->time_us, verdict->time_source);
  for (const VerdictFinding& finding : verdict->findings)
    turn.findings.push_back(fmt::format("{}[{}] {}{}", finding.line > 0 ? fmt::format("line {}: ", finding.line) : "",
                                        finding.kind, finding.message,
                                        finding.advice.empty() ? "" : "; " + finding.advice));
  return turn;
}

ReportConversation about(const Task& task) {
  ReportConversation conversation;
  conversation.title = task.name;
  conversation.summary = task.summary;
  conversation.code = task.pytorch;
  return conversation;
}

// The best of each list in turn, each once.
std::vector<std::size_t> picked(std::vector<std::vector<std::size_t>> lists, std::size_t most) {
  std::vector<std::size_t> chosen;
  for (std::size_t place = 0; chosen.size() < most; ++place) {
    bool any = false;
    for (const auto& list : lists) {
      if (place >= list.size()) continue;
      any = true;
      if (chosen.size() < most && std::find(chosen.begin(), chosen.end(), list[place]) == chosen.end())
        chosen.push_back(list[place]);
    }
    if (!any) break;
  }
  return chosen;
}

}  // namespace

void add_evaluations(HtmlReport& report, const std::vector<EvaluationStage>& stages) {
  if (stages.empty()) return;
  using enum QuestionKind;
  for (const QuestionKind kind : {generate, improve, repair}) add_stage_tables(report, stages, kind);
  const EvaluationStage& last = stages.back();
  for (const QuestionKind kind : {generate, improve, repair})
    for (const RowsBy by : {RowsBy::tier, RowsBy::family}) {
      const auto rows = evaluation_rows(*last.evaluation, kind, by);
      if (rows.size() < 2) continue;
      ReportTable table;
      table.title = fmt::format("{} by {}: {}", title_of(kind), by == RowsBy::tier ? "tier" : "family", last.name);
      table.headings = headings_of(kind, has_pytorch(rows));
      for (const EvaluationRow& row : rows) table.rows.push_back(cells_of(row, kind, has_pytorch(rows), row.label, ""));
      report.tables.push_back(std::move(table));
    }
  for (const QuestionKind kind : {generate, improve, repair}) {
    Distribution distribution;
    distribution.title = fmt::format("{}: speedup over {}", title_of(kind), name_of(Baseline::naive));
    distribution.note = "Right kernels; the axis is logarithmic.";
    for (const EvaluationStage& stage : stages) {
      Distribution::Series series{stage.name, {}};
      for (const Attempt& attempt : attempts_of(*stage.evaluation))
        if (attempt.best.kind == kind && attempt.best.speedup) series.values.push_back(*attempt.best.speedup);
      if (!series.values.empty()) distribution.series.push_back(std::move(series));
    }
    if (!distribution.series.empty()) report.distributions.push_back(std::move(distribution));
  }
}

void add_comparisons(HtmlReport& report, const std::string& name_a, const std::string& name_b,
                     const std::vector<PairedComparison>& comparisons) {
  for (const PairedComparison& comparison : comparisons) {
    ReportTable table;
    table.title = fmt::format("{} against {}: {}, {}", name_b, name_a, name_of(comparison.kind),
                              comparison.group.empty() ? "all groups" : comparison.group);
    table.note = fmt::format("{} tasks in both; {:.2f} and {:.2f} answers a task; {} regressions, {} improvements.",
                             comparison.tasks, comparison.answers_a, comparison.answers_b,
                             comparison.regressions.size(), comparison.improvements.size());
    table.headings = {"", name_a, name_b, "difference", "p", "test"};
    for (const PairedFigure& figure : comparison.figures) {
      const auto value = [&](double number) {
        if (figure.points) return plain(fmt::format("{:.3f}", number));
        return plain(figure.ratio ? fmt::format("{:.2f} x", number) : fmt::format("{:.1f} %", 100 * number));
      };
      const Interval& range = figure.difference;
      ReportCell difference = figure.points ? plain(fmt::format("{:+.3f}", figure.b - figure.a),
                                                    fmt::format("{:+.3f} to {:+.3f}", range.low, range.high))
                              : figure.ratio
                                  ? plain(fmt::format("{:.3f} x", figure.b / figure.a),
                                          fmt::format("{:.3f} to {:.3f}", range.low, range.high))
                                  : plain(fmt::format("{:+.1f}", 100 * (figure.b - figure.a)),
                                          fmt::format("{:+.1f} to {:+.1f}", 100 * range.low, 100 * range.high));
      if (figure.p_value < 0.05)
        difference.tone =
            (figure.b > figure.a) != figure.less_is_better ? ReportCell::Tone::good : ReportCell::Tone::bad;
      table.rows.push_back({plain(figure.name, fmt::format("{} tasks", figure.tasks)), value(figure.a), value(figure.b),
                            difference, plain(fmt::format("{:.2g}", figure.p_value)), plain(figure.test)});
    }
    report.tables.push_back(std::move(table));
  }
}

ReportConversation report_conversation(const ExamQuestion& question, const ExamAnswer& answer) {
  ReportConversation conversation = about(question.task);
  if (!question.kernel.empty())
    conversation.turns.push_back(
        turn_of("given", "", question.kernel, "", "", question.verdict ? &*question.verdict : nullptr));
  conversation.turns.push_back(turn_of(std::string(to_string(question.role)), answer.answer.said, answer.answer.kernel,
                                       to_string(answer.answer.outcome), answer.answer.message,
                                       answer.verdict ? &*answer.verdict : nullptr));
  return conversation;
}

std::vector<std::size_t> gallery_of(const std::vector<Episode>& episodes, std::size_t most) {
  std::vector<std::size_t> repaired, gained, failed;
  std::vector<double> gains(episodes.size(), 0);
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    const std::vector<TrajectoryPoint> points = trajectory_of(episodes[i]);
    if (points.empty() || !episodes[i].best) {
      if (!episodes[i].turns.empty()) failed.push_back(i);
      continue;
    }
    const std::optional<double> first = points.front().speedup, best = points.back().best_speedup;
    if (points.front().status != VerdictStatus::correct) {
      repaired.push_back(i);
      gains[i] = best.value_or(0);
    } else if (first && best && *best > *first) {
      gained.push_back(i);
      gains[i] = *best / *first;
    }
  }
  const auto larger = [&](std::size_t a, std::size_t b) { return gains[a] > gains[b]; };
  std::stable_sort(repaired.begin(), repaired.end(), larger);
  std::stable_sort(gained.begin(), gained.end(), larger);
  return picked({gained, repaired, failed}, most);
}

std::vector<std::size_t> gallery_of(const std::vector<ExamAnswer>& answers, std::size_t most) {
  std::vector<std::size_t> right, failed;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool good = answers[i].verdict && counts_as_correct(*answers[i].verdict);
    (good ? right : failed).push_back(i);
  }
  std::stable_sort(right.begin(), right.end(), [&](std::size_t a, std::size_t b) {
    return answers[a].verdict->speedup_naive.value_or(0) > answers[b].verdict->speedup_naive.value_or(0);
  });
  return picked({right, failed}, most);
}

}  // namespace kw
