#include "app/run_report/training_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/evaluate/rates.h"
#include "app/run_report/exam_paper.h"
#include "app/run_report/result_tables.h"
#include "app/run_report/run_parts.h"
#include "app/run_report/training_curves.h"
#include "app/run_report/training_gallery.h"
#include "base/file.h"
#include "base/page/html_report.h"
#include "base/progress.h"
#include "base/run_log/json_text.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_conversations = 8;

std::string text_in(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

double number_in(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_number() ? json[key].get<double>() : std::nan("");
}

double sum_of(const MetricSeries* series) {
  double sum = 0;
  for (std::size_t i = 0; series != nullptr && i < series->size(); ++i)
    if (std::isfinite((*series)[i].second) && (*series)[i].second > 0) sum += (*series)[i].second;
  return sum;
}

// Runs of older programs have a stage's facts without sections.
std::string text_in_section(const Json& configuration, const char* section, const char* key, const char* before) {
  if (configuration.is_object() && configuration.contains(section) && configuration[section].is_object())
    return text_in(configuration[section], key);
  return text_in(configuration, before);
}

std::string start_of(const Json& configuration) {
  const std::string start = text_in_section(configuration, "model", "start", "model");
  return start == "nothing" ? text_in_section(configuration, "model", "shape", "model") : start;
}

std::string algorithm_of(const StageParts& stage) {
  return stage.reinforces() ? text_in_section(stage.configuration, "rl", "algorithm", "algorithm") : "";
}

// "tiny, grpo, 21 steps, 8 min 52 s"
std::string subtitle_of(const RunParts& parts) {
  std::vector<std::string> words;
  const StageParts* stage = parts.reinforcement();
  if (stage == nullptr && !parts.stages.empty()) stage = &parts.stages.back();
  if (stage != nullptr) {
    // A folder's name is nobody's business; its last part says which model it was.
    const std::string model = std::filesystem::path(start_of(stage->configuration)).filename().string();
    if (!model.empty()) words.push_back(model);
    words.push_back(stage->reinforces() ? "reinforcement learning" : "supervised training");
    if (const std::string algorithm = algorithm_of(*stage); !algorithm.empty()) words.push_back(algorithm);
    std::int64_t step = 0;
    for (const auto& [name, series] : stage->metrics)
      if (!series.empty()) step = std::max(step, series.back().first);
    if (step > 0) words.push_back(fmt::format("{} steps", step));
  }
  double seconds = 0;
  for (const TimedStage& timed : parts.timed) seconds += timed.seconds;
  if (seconds == 0 && stage != nullptr && std::isfinite(number_in(stage->summary, "seconds")))
    seconds = number_in(stage->summary, "seconds");
  if (seconds > 0) words.push_back(duration_text(seconds));
  if (stage != nullptr && stage->summary.is_object() && stage->summary.value("interrupted", Json(false)) == true)
    words.emplace_back("stopped before its end");
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " \u00b7 ") + word;
  return text;
}

std::string part_text(double seconds, double all) {
  return fmt::format("{} \u00b7 {:.0f} %", duration_text(seconds), all > 0 ? 100 * seconds / all : 0);
}

void add_stage_times(HtmlReport& report, const RunParts& parts) {
  double all = 0;
  for (const TimedStage& stage : parts.timed) all += stage.seconds;
  if (all <= 0) return;
  ReportSplit split{"The whole run: " + duration_text(all), "", {}};
  for (const TimedStage& stage : parts.timed) {
    if (stage.seconds <= 0) continue;
    const bool unusual = !stage.state.empty() && stage.state != "done" && stage.state != "finished";
    split.parts.push_back({unusual ? fmt::format("{} ({})", stage.name, stage.state) : stage.name, stage.seconds,
                           part_text(stage.seconds, all)});
  }
  report.splits.push_back(std::move(split));
}

// Generation and judging overlap; what is shown of judging is what generation waited for.
void add_step_times(HtmlReport& report, const StageParts& stage) {
  const MetricSeries* steps = stage.metric("timing_s/step");
  if (steps == nullptr || steps->empty()) return;
  const double count = static_cast<double>(steps->size()), all = sum_of(steps) / count;
  if (!(all > 0)) return;
  const double rollout = sum_of(stage.metric("timing_s/rollout")) / count,
               alone = std::min(rollout, sum_of(stage.metric("timing_s/judge_alone")) / count),
               judge = sum_of(stage.metric("timing_s/judge")) / count,
               update = sum_of(stage.metric("timing_s/update")) / count;
  ReportSplit split;
  split.title = fmt::format("A step of reinforcement learning: {:.1f} s", all);
  const auto add = [&](const char* name, double seconds) {
    if (seconds > 0.001 * all)
      split.parts.push_back({name, seconds, fmt::format("{:.2f} s \u00b7 {:.0f} %", seconds, 100 * seconds / all)});
  };
  add("generating, judging meanwhile", rollout - alone);
  add("waiting for the judge", alone);
  add("update", update);
  add("the rest", all - rollout - update);
  split.note =
      fmt::format("Means over {} steps. The judge worked for {:.2f} s of a step, {:.0f} % of it beside generation.",
                  steps->size(), judge, judge > 0 ? 100 * (judge - alone) / judge : 0);
  report.splits.push_back(std::move(split));
}

void add_machine(HtmlReport& report, const Json& machine) {
  if (!machine.is_object()) return;
  for (const auto& [key, value] : machine.items()) {
    if (report.machine.size() == 16) break;
    std::string text;
    if (key == "memory_bytes" && value.is_number()) {
      report.machine.emplace_back("memory", fmt::format("{:.1f} GiB", value.get<double>() / (1 << 30)));
      continue;
    }
    if (value.is_array()) {
      for (const Json& one : value)
        text += (text.empty() ? "" : ", ") + (one.is_string() ? one.get<std::string>() : json_text(one));
      if (text.empty()) text = "none";
    } else {
      text = value.is_string() ? value.get<std::string>() : json_text(value);
    }
    report.machine.emplace_back(key, text);
  }
}

std::string configuration_text(const RunParts& parts) {
  if (parts.stages.size() < 2) return parts.configuration.is_null() ? "" : json_text(parts.configuration, 2);
  Json all = Json::object();
  if (!parts.configuration.is_null()) all["run"] = parts.configuration;
  for (const StageParts& stage : parts.stages)
    if (!stage.configuration.is_null()) all[stage.name] = stage.configuration;
  return all.empty() ? "" : json_text(all, 2);
}

// For supervised training alone: what its exams said.
void add_supervised_results(HtmlReport& report, const StageParts& stage) {
  const auto last = [&](const char* name) -> std::optional<double> {
    const MetricSeries* series = stage.metric(name);
    if (series == nullptr || series->empty() || !std::isfinite(series->back().second)) return {};
    return series->back().second;
  };
  const auto answers =
      stage.papers.empty() ? Result<std::vector<PaperAnswer>>(Error{}) : read_exam_paper(stage.papers.back());
  const auto count_of = [&](QuestionKind kind) {
    std::int64_t count = 0;
    for (std::size_t i = 0; answers.ok() && i < answers->size(); ++i) {
      const PaperAnswer& answer = (*answers)[i];
      count += answer.kind == kind && answer.status != VerdictStatus::internal_error;
    }
    return count;
  };
  ReportTable table;
  table.title = "The last exam";
  table.headings = {"", "share", "answers"};
  table.note = "Greedy answers to tasks that training never saw; intervals are 95 % (Wilson).";
  using enum QuestionKind;
  for (const auto& [name, metric, kind] :
       {std::tuple("compiled", "exam/compiled", generate), std::tuple("correct", "exam/correct", generate),
        std::tuple("unsupported", "exam/unsupported", generate), std::tuple("made faster", "exam/faster", improve),
        std::tuple("repaired", "exam/repaired", repair)}) {
    const auto share = last(metric);
    if (!share) continue;
    const std::int64_t count = count_of(kind);
    ReportCell cell;
    cell.text = fmt::format("{:.1f} %", 100 * *share);
    cell.share = share;
    if (count > 0 && *share >= 0 && *share <= 1) {
      cell.interval = wilson_interval(std::llround(*share * static_cast<double>(count)), count);
      cell.detail = fmt::format("{:.1f} to {:.1f}", 100 * cell.interval->low, 100 * cell.interval->high);
    }
    ReportCell title, answered;
    title.text = name;
    answered.text = count > 0 ? std::to_string(count) : "-";
    table.rows.push_back({title, cell, answered});
    report.figures.push_back({cell.text, name, cell.detail});
  }
  const auto correct = last("exam/correct"), loss = last("exam/loss"), trained = last("sft/loss");
  if (correct)
    report.lead = fmt::format("After supervised training, {:.1f}\u00a0% of the kernels for held-out tasks are right.",
                              100 * *correct);
  else if (loss || trained)
    report.lead = fmt::format("Supervised training came to a {} of {:.3f} nats a token; kernels were not examined.",
                              loss ? "held-out loss" : "loss", loss ? *loss : *trained);
  if (loss) report.figures.push_back({fmt::format("{:.3f}", *loss), "held-out loss", "nats a token"});
  if (!table.rows.empty()) report.tables.push_back(std::move(table));
}

// Kernels may be as long as models like: the page drops what weighs most until it is one that can be sent around.
std::string bounded_page(HtmlReport& report) {
  std::string page = html_report(report);
  const auto smaller = [&](const char* what) {
    if (std::find(report.missing.begin(), report.missing.end(), what) == report.missing.end())
      report.missing.emplace_back(what);
    page = html_report(report);
  };
  while (page.size() > most_report_bytes && !report.conversations.empty()) {
    report.conversations.pop_back();
    smaller("some conversations are too long for this page");
  }
  if (page.size() > most_report_bytes)
    report.configuration.clear(), smaller("the configuration is too long for this page");
  while (page.size() > most_report_bytes && !report.tables.empty()) {
    report.tables.pop_back();
    smaller("some tables are too long for this page");
  }
  return page;
}

}  // namespace

Result<std::string> training_report(const std::filesystem::path& run_folder) {
  KW_TRY(const RunParts parts, read_run_parts(run_folder));
  HtmlReport report;
  report.kind = "Kernelwright training report";
  report.title = parts.name.empty() ? "Training run" : parts.name;
  report.subtitle = subtitle_of(parts);
  report.missing = parts.missing;
  report.curves = training_curves(parts);
  report.curves_note = curves_note(parts);
  add_results(report, parts);
  if (parts.evaluations.empty()) {
    const auto supervised = std::find_if(parts.stages.rbegin(), parts.stages.rend(),
                                         [](const StageParts& stage) { return stage.supervised(); });
    if (supervised != parts.stages.rend()) add_supervised_results(report, *supervised);
  }
  if (report.lead.empty())
    report.lead = "Nothing of this run was evaluated, so nothing is known about what it was good for.";
  report.conversations = training_gallery(parts, most_conversations, report.missing);
  report.conversations_note =
      "Chosen by rule from the last conversations that were kept: the largest gains, repairs, typical and failed ones, "
      "no task twice while there are others. Every kernel after the first is shown as what it changes.";
  add_stage_times(report, parts);
  if (const StageParts* stage = parts.reinforcement()) add_step_times(report, *stage);
  add_machine(report, parts.machine);
  report.configuration = configuration_text(parts);
  return bounded_page(report);
}

Result<void> write_training_report(const std::filesystem::path& run_folder, const std::filesystem::path& html) {
  KW_TRY(const std::string page, training_report(run_folder));
  return write_file_atomic(html, page);
}

}  // namespace kw
