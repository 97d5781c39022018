#include "app/evaluate/tester_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/evaluate/evaluation_rows.h"
#include "base/table.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t bin_count = 10;

std::string status_name(const std::optional<VerdictStatus>& status) {
  return status ? std::string(to_string(*status)) : "unreadable";
}

void add_calibration(const std::vector<Prediction>& predictions, TesterScore& score) {
  struct Sum {
    std::int64_t count = 0;
    double probability = 0, right = 0;
  };
  std::vector<Sum> sums(bin_count);
  double squares = 0;
  std::int64_t readable = 0;
  for (const Prediction& one : predictions) {
    if (!one.predicted) continue;
    const double probability = std::clamp(one.probability, 0.0, 1.0);
    const double right = *one.predicted == one.truth ? 1 : 0;
    squares += (probability - right) * (probability - right);
    ++readable;
    Sum& sum = sums[std::min(bin_count - 1, static_cast<std::size_t>(probability * bin_count))];
    ++sum.count;
    sum.probability += probability;
    sum.right += right;
  }
  if (readable == 0) return;
  score.brier = squares / static_cast<double>(readable);
  score.calibration_error = 0;
  for (std::size_t i = 0; i < bin_count; ++i) {
    const auto count = static_cast<double>(sums[i].count);
    if (sums[i].count == 0) continue;
    const CalibrationBin bin{static_cast<double>(i) / bin_count, static_cast<double>(i + 1) / bin_count, sums[i].count,
                             sums[i].probability / count, sums[i].right / count};
    *score.calibration_error += std::abs(bin.mean_probability - bin.accuracy) * count / static_cast<double>(readable);
    score.bins.push_back(bin);
  }
}

}  // namespace

TesterScore tester_score(const std::vector<Prediction>& predictions) {
  TesterScore score;
  score.predictions = static_cast<std::int64_t>(predictions.size());
  std::vector<TaskValues> right, right_or_not;
  std::map<VerdictStatus, std::int64_t> truths;
  for (const Prediction& one : predictions) {
    score.unreadable += !one.predicted;
    ++score.confusion[one.truth][one.predicted];
    ++truths[one.truth];
    const auto is_correct = [](VerdictStatus status) { return status == VerdictStatus::correct; };
    right.push_back({one.predicted == one.truth ? 1.0 : 0.0});
    right_or_not.push_back({one.predicted && is_correct(*one.predicted) == is_correct(one.truth) ? 1.0 : 0.0});
  }
  score.accuracy = estimated_share(right);
  score.right_or_not = estimated_share(right_or_not);
  for (const auto& [truth, count] : truths)
    score.most_frequent =
        std::max(score.most_frequent, static_cast<double>(count) / static_cast<double>(predictions.size()));
  add_calibration(predictions, score);
  return score;
}

std::vector<Prediction> predictions_of(const std::vector<ExamQuestion>& questions, const ExamResult& result) {
  std::vector<Prediction> predictions;
  for (const ExamAnswer& answer : result.answers) {
    const ExamQuestion& question = questions.at(answer.question);
    if (question.role != AgentRole::tester || !question.verdict) continue;
    Prediction prediction;
    prediction.truth = question.verdict->status;
    if (answer.prediction) prediction.predicted = answer.prediction->status;
    prediction.probability = answer.prediction_probability;
    predictions.push_back(prediction);
  }
  return predictions;
}

std::string tester_text(const TesterScore& score) {
  const std::string calibration = score.brier ? fmt::format("Brier score {:.3f}, expected calibration error {:.3f}, ",
                                                            *score.brier, *score.calibration_error)
                                              : "";
  std::string text = fmt::format(
      "{} kernels read: status right {}, right or not {}; always saying the most frequent: {:.1f} %\n"
      "{}{} answers without a status\n\n",
      score.predictions, rate_text(score.accuracy), rate_text(score.right_or_not), 100 * score.most_frequent,
      calibration, score.unreadable);
  std::set<std::optional<VerdictStatus>> said;
  for (const auto& [truth, row] : score.confusion)
    for (const auto& [predicted, count] : row) said.insert(predicted);
  std::vector<std::string> headings{"judged \\ predicted"};
  for (const auto& predicted : said) headings.push_back(status_name(predicted));
  std::vector<Align> alignment(headings.size(), Align::right);
  alignment[0] = Align::left;
  Table table(headings, alignment);
  for (const auto& [truth, row] : score.confusion) {
    std::vector<std::string> cells{std::string(to_string(truth))};
    for (const auto& predicted : said) {
      const auto found = row.find(predicted);
      cells.push_back(found == row.end() ? "" : std::to_string(found->second));
    }
    table.add(std::move(cells));
  }
  text += table.text() + "\n";
  Table bins({"probability", "predictions", "said", "right"}, {Align::left, Align::right, Align::right, Align::right});
  for (const CalibrationBin& bin : score.bins)
    bins.add({fmt::format("{:.1f} to {:.1f}", bin.low, bin.high), std::to_string(bin.predictions),
              fmt::format("{:.1f} %", 100 * bin.mean_probability), fmt::format("{:.1f} %", 100 * bin.accuracy)});
  return text + bins.text();
}

Json to_json(const TesterScore& score) {
  const auto rate = [](const RateEstimate& estimate) {
    return Json{{"value", estimate.value}, {"low", estimate.interval.low}, {"high", estimate.interval.high}};
  };
  Json confusion = Json::object();
  for (const auto& [truth, row] : score.confusion)
    for (const auto& [predicted, count] : row) confusion[std::string(to_string(truth))][status_name(predicted)] = count;
  Json bins = Json::array();
  for (const CalibrationBin& bin : score.bins)
    bins.push_back({{"low", bin.low},
                    {"high", bin.high},
                    {"predictions", bin.predictions},
                    {"mean_probability", bin.mean_probability},
                    {"accuracy", bin.accuracy}});
  return {{"predictions", score.predictions},
          {"unreadable", score.unreadable},
          {"accuracy", rate(score.accuracy)},
          {"right_or_not", rate(score.right_or_not)},
          {"most_frequent", score.most_frequent},
          {"confusion", confusion},
          {"brier", score.brier ? Json(*score.brier) : Json(nullptr)},
          {"calibration_error", score.calibration_error ? Json(*score.calibration_error) : Json(nullptr)},
          {"bins", bins}};
}

}  // namespace kw
