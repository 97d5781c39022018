#include "app/evaluate/rates.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "base/check.h"
#include "base/random.h"

namespace kw {

double pass_at_k(std::int64_t answers, std::int64_t right, std::int64_t k) {
  KW_CHECK(k >= 1 && k <= answers && right >= 0 && right <= answers);
  if (answers - right < k) return 1;
  double all_wrong = 1;
  for (std::int64_t i = answers - right + 1; i <= answers; ++i)
    all_wrong *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - all_wrong;
}

Interval wilson_interval(std::int64_t successes, std::int64_t trials, double confidence) {
  KW_CHECK(successes >= 0 && successes <= trials && confidence > 0 && confidence < 1);
  if (trials == 0) return {0, 1};
  const double z = boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2);
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n;
  const double centre = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  // Rounding must not exclude what was seen.
  return {successes == 0 ? 0 : std::max(0.0, centre - half), successes == trials ? 1 : std::min(1.0, centre + half)};
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double logs = 0;
  for (const double value : values) {
    KW_CHECK(value > 0);
    logs += std::log(value);
  }
  return std::exp(logs / static_cast<double>(values.size()));
}

Interval task_bootstrap_interval(const std::vector<TaskValues>& tasks, const Statistic& statistic, double confidence,
                                 int resamples, std::uint64_t seed) {
  std::vector<double> drawn;
  for (const TaskValues& task : tasks) drawn.insert(drawn.end(), task.begin(), task.end());
  const double seen = statistic(drawn);
  if (tasks.size() < 2) return {seen, seen};
  Random random(seed);
  std::vector<double> found;
  for (int i = 0; i < resamples; ++i) {
    drawn.clear();
    for (std::size_t n = 0; n < tasks.size(); ++n) {
      const auto& task =
          tasks[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(tasks.size()) - 1))];
      drawn.insert(drawn.end(), task.begin(), task.end());
    }
    if (!drawn.empty()) found.push_back(statistic(drawn));
  }
  if (found.empty()) return {seen, seen};
  const double tail = (1 - confidence) / 2;
  return {quantile(found, tail), quantile(found, 1 - tail)};
}

RateEstimate estimated_share(const std::vector<TaskValues>& tasks) {
  std::int64_t ones = 0, answers = 0;
  for (const TaskValues& task : tasks) {
    answers += static_cast<std::int64_t>(task.size());
    ones += std::count(task.begin(), task.end(), 1.0);
  }
  RateEstimate estimate;
  estimate.interval = wilson_interval(ones, answers);
  if (answers == 0) return estimate;
  estimate.value = static_cast<double>(ones) / static_cast<double>(answers);
  const bool single = std::all_of(tasks.begin(), tasks.end(), [](const TaskValues& task) { return task.size() <= 1; });
  // Where all answers are alike, resampling would claim to know the share exactly.
  if (!single && ones > 0 && ones < answers) estimate.interval = task_bootstrap_interval(tasks, mean);
  return estimate;
}

RateEstimate estimated_mean(const std::vector<TaskValues>& tasks) {
  RateEstimate estimate;
  std::vector<double> all;
  for (const TaskValues& task : tasks) all.insert(all.end(), task.begin(), task.end());
  if (all.empty()) return estimate;
  estimate.value = mean(all);
  estimate.interval = task_bootstrap_interval(tasks, mean);
  return estimate;
}

RateEstimate estimated_geometric_mean(const std::vector<TaskValues>& tasks) {
  RateEstimate estimate;
  std::vector<double> all;
  for (const TaskValues& task : tasks) all.insert(all.end(), task.begin(), task.end());
  estimate.value = geometric_mean(all);
  if (!all.empty()) estimate.interval = task_bootstrap_interval(tasks, geometric_mean);
  return estimate;
}

double fast_share(std::span<const double> speedups, std::int64_t answers, double p) {
  if (answers == 0) return 0;
  const auto fast = std::count_if(speedups.begin(), speedups.end(), [p](double speedup) { return speedup > p; });
  return static_cast<double>(fast) / static_cast<double>(answers);
}

}  // namespace kw
