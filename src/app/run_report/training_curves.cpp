#include "app/run_report/training_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/evaluate/evaluation_rows.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;
constexpr double normal_95 = 1.959964;

std::optional<double> value_at(const MetricSeries* series, std::int64_t step) {
  if (series == nullptr) return {};
  const auto found =
      std::lower_bound(series->begin(), series->end(), step, [](const auto& a, std::int64_t b) { return a.first < b; });
  if (found == series->end() || found->first != step || !std::isfinite(found->second)) return {};
  return found->second;
}

std::optional<double> number_in(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number()) return {};
  return json[key].get<double>();
}

// Runs of older programs have a stage's facts without sections.
const Json& section_of(const Json& configuration, const char* name) {
  return configuration.is_object() && configuration.contains(name) ? configuration[name] : configuration;
}

class Curves {
 public:
  explicit Curves(const StageParts& stage) : stage_(stage) {
    const Json& facts = section_of(stage.configuration, "rl");
    const auto tasks = number_in(facts, "tasks"), group = number_in(facts, "group");
    if (tasks && group && *tasks > 0 && *group > 0) conversations_ = *tasks * *group;
    const MetricSeries* tier = stage.metric("curriculum/tier");
    for (std::size_t i = 1; tier != nullptr && i < tier->size(); ++i)
      if ((*tier)[i].second != (*tier)[i - 1].second && std::isfinite((*tier)[i].second))
        tiers_.push_back({static_cast<double>((*tier)[i].first), fmt::format("tier {:.0f}", (*tier)[i].second)});
  }

  // Of a step's answers; runs of before they were counted have what was asked for.
  std::optional<double> answers(std::int64_t step) const {
    if (const auto counted = value_at(stage_.metric("judge/answers"), step)) return counted;
    const auto turns = value_at(stage_.metric("num_turns/mean"), step);
    if (!turns || conversations_ <= 0) return {};
    return conversations_ * *turns;
  }
  std::optional<double> conversations(std::int64_t) const {
    return conversations_ > 0 ? std::optional(conversations_) : std::nullopt;
  }

  using CountOf = std::optional<double> (Curves::*)(std::int64_t) const;
  // `of`: so many yes-or-no results are behind a point; null: unknown.
  CurveSeries share(const std::string& name, const char* metric, CountOf of) const {
    CurveSeries series = line(name, metric);
    for (CurvePoint& point : series.points) {
      const auto count = of == nullptr ? std::nullopt : (this->*of)(static_cast<std::int64_t>(point.x));
      if (!count || !(*count >= 1 && *count < 1e9) || !(point.y >= 0 && point.y <= 1)) continue;
      const auto trials = static_cast<std::int64_t>(std::llround(*count));
      point.interval = wilson_interval(std::llround(point.y * *count), trials);
      point.interval->low = std::min(point.interval->low, point.y);
      point.interval->high = std::max(point.interval->high, point.y);
    }
    return series;
  }

  // With the deviation of a step's answers, where it was logged.
  CurveSeries mean(const std::string& name, const char* metric, const char* deviation_metric) const {
    CurveSeries series = line(name, metric);
    for (CurvePoint& point : series.points) {
      const auto step = static_cast<std::int64_t>(point.x);
      const auto deviation = value_at(stage_.metric(deviation_metric), step), count = answers(step);
      if (!deviation || !count || *count < 2) continue;
      const double reach = normal_95 * *deviation / std::sqrt(*count);
      point.interval = Interval{point.y - reach, point.y + reach};
    }
    return series;
  }

  CurveSeries line(const std::string& name, const char* metric) const {
    CurveSeries series{name, {}, true};
    if (const MetricSeries* values = stage_.metric(metric))
      for (const auto& [step, value] : *values) series.points.push_back({static_cast<double>(step), value, {}});
    return series;
  }

  // What exams say at their steps; from the records where there are, with intervals.
  CurveSeries exams(const std::string& name, const char* metric,
                    const std::function<std::optional<RateEstimate>(const EvaluationRow&)>& figure) const {
    CurveSeries series{name, {}, false};
    for (const RecordedExam& exam : stage_.exams)
      if (const auto rows = evaluation_rows(exam.evaluation, QuestionKind::generate, RowsBy::group); !rows.empty())
        if (const auto estimate = figure(rows.back()))
          series.points.push_back({static_cast<double>(exam.step), estimate->value, estimate->interval});
    if (!series.points.empty()) return series;
    series = line(name, metric);
    series.noisy = false;
    return series;
  }

  void add(std::string title, std::vector<CurveSeries> series, bool share = false, std::string note = "",
           bool logarithmic = false) {
    std::erase_if(series, [](const CurveSeries& one) { return one.points.empty(); });
    // A single point is no curve.
    const bool any = std::any_of(series.begin(), series.end(), [](const auto& one) { return one.points.size() > 1; });
    if (!any) return;
    Curve curve;
    curve.title = std::move(title);
    curve.note = std::move(note);
    curve.share = share;
    curve.series = std::move(series);
    curve.marks = tiers_;
    curve.logarithmic = logarithmic;
    curves_.push_back(std::move(curve));
  }

  // Lines that are zero throughout say nothing.
  void drop_flat_zero(std::vector<CurveSeries>& series) const {
    std::erase_if(series, [](const CurveSeries& one) {
      return std::all_of(one.points.begin(), one.points.end(), [](const CurvePoint& point) { return point.y == 0; });
    });
  }

  std::vector<Curve> take() { return std::move(curves_); }

 private:
  const StageParts& stage_;
  double conversations_ = 0;  // that a step was asked to have
  std::vector<CurveMark> tiers_;
  std::vector<Curve> curves_;
};

void add_reinforcement(std::vector<Curve>& all, const StageParts& stage) {
  Curves curves(stage);
  const auto correct = [](const EvaluationRow& row) { return std::optional(row.correct); };
  const auto compiled = [](const EvaluationRow& row) { return std::optional(row.compiled); };
  const auto reward = [](const EvaluationRow& row) { return row.reward; };
  const auto speedup = [](const EvaluationRow& row) {
    return row.mean_speedup.value > 0 ? std::optional(row.mean_speedup) : std::nullopt;
  };
  curves.add("Reward", {curves.mean("training", "critic/score/mean", "critic/score/std"),
                        curves.exams("held-out", "exam/turns/reward", reward)});
  curves.add("Correct kernels",
             {curves.share("answers", "judge/pass_rate", &Curves::answers),
              curves.share("conversations", "conversation/pass_rate", &Curves::conversations),
              curves.exams("held-out", "exam/turns/correct", correct)},
             true);
  curves.add("Kernels that compile",
             {curves.share("training", "judge/compile_rate", &Curves::answers),
              curves.exams("held-out", "exam/compiled", compiled)},
             true);
  curves.add("Speedup over naive",
             {curves.line("training", "conversation/speedup_gmean"),
              curves.exams("held-out", "exam/turns/speedup_gmean", speedup)},
             false, "Of the best right kernel of each conversation, geometric mean; the axis is logarithmic.", true);
  curves.add("Reward by agent",
             {curves.line("Generator", "role/generator/reward"), curves.line("Optimizer", "role/optimizer/reward")});
  curves.add("Entropy of the policy", {curves.line("entropy", "actor/entropy")}, false, "Nats a token.");
  std::vector<CurveSeries> kl = {curves.line("to the reference", "actor/kl_loss"),
                                 curves.line("of the update", "actor/ppo_kl"),
                                 curves.line("sampler against trainer", "mismatch_kl")};
  curves.drop_flat_zero(kl);
  curves.add("KL divergence", std::move(kl), false, "Nats a token.");
  curves.add("Groups without contrast", {curves.line("share", "frac_reward_zero_std")}, true,
             "All answers of such a group have the same reward, so it teaches nothing.");
  curves.add("Tokens an answer", {curves.line("tokens", "response_length/mean")});
  for (Curve& curve : curves.take()) all.push_back(std::move(curve));
}

void add_supervised(std::vector<Curve>& all, const StageParts& stage) {
  Curves curves(stage);
  const std::string what = stage.name == "compatibility" ? "Stage 1.5" : "Supervised training";
  curves.add(what + ": loss",
             {curves.line("training", "sft/loss"),
              curves.exams("held-out", "exam/loss", [](const auto&) { return std::optional<RateEstimate>(); })},
             false, "Cross entropy of an answer's tokens, in nats; the axis is logarithmic.", true);
  const auto measured = [&](const char* name, const char* metric) {
    CurveSeries series = curves.line(name, metric);
    series.noisy = false;
    return series;
  };
  curves.add(what + ": exams",
             {measured("compiled", "exam/compiled"), measured("correct", "exam/correct"),
              measured("made faster", "exam/faster"), measured("repaired", "exam/repaired")},
             true, "Of greedy answers to held-out tasks.");
  for (Curve& curve : curves.take()) all.push_back(std::move(curve));
}

}  // namespace

std::vector<Curve> training_curves(const RunParts& parts) {
  std::vector<Curve> curves;
  for (const StageParts& stage : parts.stages)
    if (stage.reinforces()) add_reinforcement(curves, stage);
  for (const StageParts& stage : parts.stages)
    if (stage.supervised()) add_supervised(curves, stage);
  return curves;
}

std::string curves_note(const RunParts& parts) {
  if (parts.reinforcement() == nullptr) return "Points are what was logged, lines are smoothed.";
  return "Faint points are single steps, lines are smoothed over their neighbours (local linear fits). Bands are 95 % "
         "intervals of one step, as if its answers were independent: Wilson's for shares, normal ones for means. "
         "Held-out points are exams, always of the same tasks, with 95 % intervals by tasks; what is trained on gets "
         "harder "
         "where the curriculum reaches a tier (dashed).";
}

}  // namespace kw
