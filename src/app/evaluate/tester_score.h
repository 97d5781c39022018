#pragma once
// How well a Tester that only reads kernels predicts what the judge says, and whether it knows when it does not know.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/evaluate/exam.h"
#include "app/evaluate/rates.h"

namespace kw {

struct Prediction {
  VerdictStatus truth = VerdictStatus::correct;
  std::optional<VerdictStatus> predicted;  // none: the answer does not begin with a status
  double probability = 0;                  // that the Tester gave to what it predicted
};

// Predictions with about the same probability.
struct CalibrationBin {
  double low = 0, high = 0;
  std::int64_t predictions = 0;
  double mean_probability = 0;
  double accuracy = 0;
};

struct TesterScore {
  std::int64_t predictions = 0;
  std::int64_t unreadable = 0;  // count as wrong, and not in the calibration
  RateEstimate accuracy;
  RateEstimate right_or_not;  // correct against everything else: what a filter needs
  double most_frequent = 0;   // the accuracy of always saying the most frequent status
  std::map<VerdictStatus, std::map<std::optional<VerdictStatus>, std::int64_t>> confusion;  // truth, predicted
  // Of the probability of the predicted status. Brier's score: mean squared distance from 1 when it is right and 0 when
  // not. Expected calibration error: mean distance between probability and accuracy over ten bins of equal width,
  // weighted by predictions (Guo et al., 2017).
  // None where no answer could be read.
  std::optional<double> brier;
  std::optional<double> calibration_error;
  std::vector<CalibrationBin> bins;  // those that are not empty
};

TesterScore tester_score(const std::vector<Prediction>& predictions);
std::vector<Prediction> predictions_of(const std::vector<ExamQuestion>& questions, const ExamResult& result);

std::string tester_text(const TesterScore& score);
nlohmann::ordered_json to_json(const TesterScore& score);

}  // namespace kw
