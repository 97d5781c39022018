#include "app/run_report/result_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "app/run_report/training_results.h"

namespace kw {
namespace {

using Tone = ReportCell::Tone;
constexpr double significant = 0.05;
constexpr std::size_t most_rows = 40;

ReportCell plain(std::string text, std::string detail = "") {
  ReportCell cell;
  cell.text = std::move(text);
  cell.detail = std::move(detail);
  return cell;
}

ReportCell percent(double share) { return plain(fmt::format("{:.1f} %", 100 * share)); }

ReportCell share_cell(const RateEstimate& rate) {
  ReportCell cell = plain(fmt::format("{:.1f} %", 100 * rate.value),
                          fmt::format("{:.1f} to {:.1f}", 100 * rate.interval.low, 100 * rate.interval.high));
  cell.share = rate.value;
  cell.interval = rate.interval;
  return cell;
}

ReportCell speed_cell(const RateEstimate& speed) {
  if (speed.value <= 0) return plain("-");
  return plain(fmt::format("{:.2f} \u00d7", speed.value),
               fmt::format("{:.2f} to {:.2f}", speed.interval.low, speed.interval.high));
}

ReportCell reward_cell(const std::optional<RateEstimate>& reward) {
  if (!reward) return plain("-");
  return plain(fmt::format("{:.3f}", reward->value),
               fmt::format("{:.3f} to {:.3f}", reward->interval.low, reward->interval.high));
}

// "+1.5", "-0.3" with a real minus.
std::string signed_text(double value, int digits) {
  const std::string number = fmt::format("{:.{}f}", std::abs(value), digits);
  const bool zero = number.find_first_not_of("0.") == std::string::npos;
  return zero ? number : (value > 0 ? "+" : "\u2212") + number;
}

ReportCell change_cell(const PairedFigure* figure) {
  if (figure == nullptr) return plain("");
  const auto words = [&](double change) {
    if (figure->ratio) return fmt::format("{:.2f}", change);
    return figure->points ? signed_text(change, 3) : signed_text(100 * change, 1);
  };
  const double change = figure->ratio ? figure->b / figure->a : figure->b - figure->a;
  ReportCell cell = plain((figure->ratio ? "\u00d7 " : "") + words(change),
                          fmt::format("{} to {}\n{}", words(figure->difference.low), words(figure->difference.high),
                                      p_text(figure->p_value)));
  if (figure->p_value < significant && figure->b != figure->a)
    cell.tone = (figure->b > figure->a) != figure->less_is_better ? Tone::good : Tone::bad;
  return cell;
}

std::string title_of(const StageResults& results) {
  const char* what = results.kind == QuestionKind::generate  ? "Kernels from nothing"
                     : results.kind == QuestionKind::improve ? "Right kernels made faster"
                                                             : "Broken kernels repaired";
  return fmt::format("{}: held-out {} tasks", what, results.group);
}

std::string settings_text(const EvaluationSettings& settings, std::int64_t tasks) {
  return fmt::format(
      "{} tasks that training never saw, {} {}{} about each, {}.", tasks, settings.samples,
      settings.turns > 1 ? "conversation" : "answer", settings.samples == 1 ? "" : "s",
      settings.temperature == 0 ? std::string("greedy") : fmt::format("temperature {:.2g}", settings.temperature));
}

// Figures down, stages across.
class ResultTable {
 public:
  explicit ResultTable(const StageResults& results) : results_(results) {
    table_.title = title_of(results);
    table_.headings.emplace_back("");
    for (const std::string& name : results.names) table_.headings.push_back(name);
    const std::size_t count = results.names.size();
    if (count > 2) changes_.push_back(count - 2);
    if (count > 1) changes_.push_back(0);
    for (const std::size_t from : changes_)
      table_.headings.push_back(count == 2 ? "change"
                                           : fmt::format("{} to {}", results.names[from], results.names.back()));
  }

  template <class CellOf>
  void row(std::string name, std::string detail, std::string_view figure, CellOf cell_of) {
    std::vector<ReportCell> cells{plain(std::move(name), std::move(detail))};
    for (std::size_t i = 0; i < results_.rows.size(); ++i) cells.push_back(cell_of(i));
    for (const std::size_t from : changes_)
      cells.push_back(figure.empty() ? plain("") : change_cell(figure_of(results_.to_last[from], figure)));
    table_.rows.push_back(std::move(cells));
  }

  ReportTable take() {
    table_.note =
        settings_text(results_.evaluations.back().settings, results_.rows.back().tasks) +
        " Intervals are 95 %; changes and p-values (two-sided) pair the tasks. fast_p: the share of all attempts that "
        "are right and more than p times as fast as the naive kernel. Speedups are geometric means.";
    return std::move(table_);
  }

 private:
  const StageResults& results_;
  ReportTable table_;
  std::vector<std::size_t> changes_;  // compared with the last: which
};

ReportTable result_table(const StageResults& results) {
  ResultTable table(results);
  const std::vector<EvaluationRow>& rows = results.rows;
  const auto any = [&](const auto& test) { return std::any_of(rows.begin(), rows.end(), test); };
  table.row("compiled", "", "compiled", [&](std::size_t i) { return share_cell(rows[i].compiled); });
  if (results.kind == QuestionKind::repair)
    table.row("repaired", "pass@1", "repaired", [&](std::size_t i) { return share_cell(rows[i].correct); });
  else
    table.row("correct", "pass@1", "correct", [&](std::size_t i) { return share_cell(rows[i].correct); });
  table.row("unsupported", "could not be checked: not right", "unsupported",
            [&](std::size_t i) { return percent(rows[i].unsupported); });
  if (any([](const EvaluationRow& row) { return row.k > 1; }))
    table.row("pass@k", "right at least once in k", "correct at least once", [&](std::size_t i) {
      return plain(fmt::format("{:.1f} %", 100 * rows[i].pass_at_k), fmt::format("k = {}", rows[i].k));
    });
  if (results.kind == QuestionKind::improve)
    table.row("made faster", "than the kernel shown", "made faster",
              [&](std::size_t i) { return share_cell(rows[i].faster); });
  if (any([](const EvaluationRow& row) { return row.reward.has_value(); }))
    table.row("reward", "", "reward", [&](std::size_t i) { return reward_cell(rows[i].reward); });
  table.row("speedup over naive", "of right kernels", "speedup where both are right",
            [&](std::size_t i) { return speed_cell(rows[i].mean_speedup); });
  table.row("speedup over naive", "best of a task, or naive", "best speedup, naive where none",
            [&](std::size_t i) { return speed_cell(results.useful_speedups[i]); });
  table.row("median speedup", "of right kernels", "", [&](std::size_t i) {
    return rows[i].median_speedup ? plain(fmt::format("{:.2f} \u00d7", *rows[i].median_speedup)) : plain("-");
  });
  for (std::size_t p = 0; p < fast_thresholds.size(); ++p) {
    const std::string name = fmt::format("fast_{}", fast_thresholds[p]);
    table.row(name, "against naive", name, [&](std::size_t i) { return percent(rows[i].fast[p]); });
  }
  if (any([](const EvaluationRow& row) { return row.fast_pytorch.has_value(); })) {
    table.row("speedup over PyTorch", "eager; of right kernels", "over PyTorch, both right", [&](std::size_t i) {
      return rows[i].mean_speedup_pytorch ? speed_cell(*rows[i].mean_speedup_pytorch) : plain("-");
    });
    for (std::size_t p = 0; p < fast_thresholds.size(); ++p)
      table.row(fmt::format("fast_{}", fast_thresholds[p]), "against PyTorch eager",
                fmt::format("fast_{}, PyTorch", fast_thresholds[p]),
                [&](std::size_t i) { return rows[i].fast_pytorch ? percent((*rows[i].fast_pytorch)[p]) : plain("-"); });
  }
  table.row("tokens", "an attempt", "",
            [&](std::size_t i) { return plain(fmt::format("{:.0f}", rows[i].mean_tokens)); });
  return table.take();
}

// Rows of tiers or families, for each stage the share that is right and how fast it is.
std::optional<ReportTable> part_table(const StageResults& results, RowsBy by) {
  std::map<std::string, std::vector<std::optional<EvaluationRow>>> labels;
  for (std::size_t i = 0; i < results.evaluations.size(); ++i)
    for (const EvaluationRow& row : evaluation_rows(results.evaluations[i], results.kind, by)) {
      if (row.label == "all") continue;
      auto& rows = labels[row.label];
      rows.resize(results.evaluations.size());
      rows[i] = row;
    }
  if (labels.size() < 2) return {};
  ReportTable table;
  table.folded = true;
  table.title = fmt::format("{}, by {}", title_of(results), by == RowsBy::tier ? "tier" : "family");
  table.headings = {"", "tasks"};
  for (const std::string& name : results.names) table.headings.push_back("correct " + name);
  for (const std::string& name : results.names) table.headings.push_back("speedup " + name);
  table.note = "Intervals are 95 %; speedups are geometric means over right kernels.";
  for (const auto& [label, rows] : labels) {
    if (table.rows.size() == most_rows) {
      table.note += fmt::format(" {} more are not shown.", labels.size() - most_rows);
      break;
    }
    std::int64_t tasks = 0;
    for (const auto& row : rows) tasks = std::max(tasks, row ? row->tasks : 0);
    std::vector<ReportCell> cells{plain(label), plain(std::to_string(tasks))};
    for (const auto& row : rows) cells.push_back(row ? share_cell(row->correct) : plain("-"));
    for (const auto& row : rows) cells.push_back(row ? speed_cell(row->mean_speedup) : plain("-"));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::optional<ReportTable> turns_table(const StageResults& results) {
  const auto turns = turn_results(results.evaluations.back());
  if (!turns) return {};
  ReportTable table;
  table.title = "One turn against several";
  const bool fair = turns->from_same_budget.has_value();
  table.headings = {"", "first answer"};
  if (fair) table.headings.push_back(fmt::format("best of {} first answers", turns->turns));
  table.headings.push_back(fmt::format("conversation of {} turns", turns->turns));
  table.headings.emplace_back("gain over the first");
  if (fair) table.headings.emplace_back("gain at the same budget");
  table.note = fmt::format(
      "{}, {}. {}", results.names.back(), results.group,
      fair ? fmt::format("The same budget: {} independent first answers, as many as a conversation has.", turns->turns)
           : std::string("A conversation has more answers than one turn; with several samples a task, the same budget "
                         "would be compared too."));
  const auto add = [&](const char* name, const char* detail, const char* figure_name) {
    const PairedFigure* first = figure_of(turns->from_first, figure_name);
    const PairedFigure* budget = figure_of(turns->from_same_budget, figure_name);
    if (first == nullptr) return;
    const auto value = [&](double number) {
      if (first->points) return plain(fmt::format("{:.3f}", number));
      return first->ratio ? plain(fmt::format("{:.2f} \u00d7", number)) : percent(number);
    };
    std::vector<ReportCell> cells{plain(name, detail), value(first->a)};
    if (fair) cells.push_back(budget != nullptr ? value(budget->a) : plain(""));
    cells.push_back(value(first->b));
    cells.push_back(change_cell(first));
    if (fair) cells.push_back(change_cell(budget));
    table.rows.push_back(std::move(cells));
  };
  add("correct", "", "correct");
  add("reward", "", "reward");
  add("speedup over naive", "where both are right", "speedup where both are right");
  add("fast_1.2", "against naive", "fast_1.2");
  add("fast_2", "against naive", "fast_2");
  return table;
}

std::string moved_text(const PairedFigure* figure, const std::string& was) {
  if (figure == nullptr) return "";
  if (figure->a == figure->b) return ", as before";
  if (figure->p_value >= significant)
    return fmt::format(" (before: {}; the difference may be chance, {})", was, p_text(figure->p_value));
  return fmt::format(", {} from {} ({})", figure->b > figure->a ? "up" : "down", was, p_text(figure->p_value));
}

void add_headline(HtmlReport& report, const StageResults& results) {
  const EvaluationRow &first = results.rows.front(), &last = results.rows.back();
  const std::optional<PairedComparison>& change = results.to_last.front();
  const PairedFigure* correct = figure_of(change, results.kind == QuestionKind::repair ? "repaired" : "correct");
  const PairedFigure* speed = figure_of(change, "best speedup, naive where none");
  const auto share = [](double value) { return fmt::format("{:.1f}\u00a0%", 100 * value); };
  const auto times = [](double value) { return fmt::format("{:.2f}", value); };
  const RateEstimate &useful = results.useful_speedups.back(), &useful_before = results.useful_speedups.front();
  const std::string attempts = fmt::format("{} of the attempts at held-out {} tasks end with a right kernel",
                                           share(last.correct.value), results.group);
  const std::string speeds = fmt::format("the best ones run {} times as fast as naive kernels", times(useful.value));
  const auto by_chance = [](const PairedFigure* figure) { return figure != nullptr && figure->p_value >= significant; };
  if (by_chance(correct) && by_chance(speed) && useful.value > 0)
    report.lead = fmt::format(
        "{}, and {}. Neither differs from before by more than chance allows ({}, {}; {} times, {}).", attempts, speeds,
        share(first.correct.value), p_text(correct->p_value), times(useful_before.value), p_text(speed->p_value));
  else
    report.lead = fmt::format(
        "{}{}{}.", attempts, moved_text(correct, share(first.correct.value)),
        useful.value > 0 ? fmt::format("; {}{}", speeds, moved_text(speed, times(useful_before.value))) : "");
  const auto was = [&](const PairedFigure* figure, const std::string& before) {
    if (figure == nullptr) return std::string();
    return figure->a == figure->b ? std::string("as before")
                                  : fmt::format("was {}, {}", before, p_text(figure->p_value));
  };
  report.figures.push_back({share(last.correct.value), "correct", was(correct, share(first.correct.value))});
  if (useful.value > 0)
    report.figures.push_back({fmt::format("{} \u00d7", times(useful.value)), "as fast as naive",
                              was(speed, fmt::format("{} \u00d7", times(useful_before.value)))});
  if (last.reward && first.reward)
    report.figures.push_back({fmt::format("{:.3f}", last.reward->value), "reward",
                              was(figure_of(change, "reward"), fmt::format("{:.3f}", first.reward->value))});
  report.figures.push_back(
      {share(last.compiled.value), "compiled", was(figure_of(change, "compiled"), share(first.compiled.value))});
}

}  // namespace

void add_results(HtmlReport& report, const RunParts& parts) {
  const std::vector<StageResults> all = stage_results(parts.evaluations);
  if (all.empty()) return;
  add_headline(report, all.front());
  for (std::size_t i = 0; i < all.size(); ++i) {
    report.tables.push_back(result_table(all[i]));
    report.tables.back().folded = i > 0;
    if (i == 0)
      if (auto turns = turns_table(all[i])) report.tables.push_back(std::move(*turns));
  }
  for (const StageResults& results : all)
    for (const RowsBy by : {RowsBy::tier, RowsBy::family})
      if (auto table = part_table(results, by)) report.tables.push_back(std::move(*table));
  for (const StageResults& results : all) {
    Distribution distribution;
    distribution.title = title_of(results);
    distribution.note = "Speedup over naive of the right kernels; the axis is logarithmic.";
    for (std::size_t i = 0; i < results.evaluations.size(); ++i) {
      Distribution::Series series{results.names[i], {}};
      for (const Attempt& attempt : attempts_of(results.evaluations[i]))
        if (attempt.best.speedup) series.values.push_back(*attempt.best.speedup);
      if (!series.values.empty()) distribution.series.push_back(std::move(series));
    }
    if (!distribution.series.empty()) report.distributions.push_back(std::move(distribution));
  }
}

}  // namespace kw
