#include "kernel/performance/known_work.h"

#include <algorithm>
#include <cmath>

namespace kw {
namespace {

constexpr double agreement = 0.05;
constexpr double beyond_noise = 1.1;
constexpr std::size_t fewest_shares = 3;  // blocks that an estimate needs

}  // namespace

bool agrees(double counted, double truth) { return std::abs(counted - truth) <= agreement * truth; }

double relative_range(const std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *high > 0 ? (*high - *low) / *high : 0;
}

double error_of_mean(std::vector<std::pair<double, double>> values) {
  if (values.size() < 2) return 0;
  std::sort(values.begin(), values.end());
  double squares = 0, sum = values[0].second;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double step = values[i].second - values[i - 1].second;
    squares += step * step;
    sum += values[i].second;
  }
  const auto count = static_cast<double>(values.size());
  const double variance = squares / 2 / (count - 1);
  return sum > 0 ? std::sqrt(variance / count) / (sum / count) : 0;
}

double more_work(const std::vector<ExecutedBlock>& executed, double sampled) {
  if (sampled <= 0) return 1;
  double together = 0, sum = 0, squares = 0, count = 0;
  for (const ExecutedBlock& block : executed) {
    const auto work = static_cast<double>(block.warp_instructions);
    together += work;
    if (block.output_share <= 0) continue;
    const double whole = work / block.output_share;
    sum += whole;
    squares += whole * whole;
    ++count;
  }
  double factor = together > beyond_noise * sampled ? together / sampled : 1;
  if (count >= static_cast<double>(fewest_shares)) {
    const double mean = sum / count;
    const double error = std::sqrt(std::max(squares / count - mean * mean, 0.0) / (count - 1));
    if (mean - 2 * error > beyond_noise * sampled) factor = std::max(factor, mean / sampled);
  } else if (count > 0 && executed.size() == static_cast<std::size_t>(count) && sum / count > 0) {
    // One or two blocks that make most of the outputs are the whole grid.
    double share = 0;
    for (const ExecutedBlock& block : executed) share += block.output_share;
    if (share > 0.5 && together / share > beyond_noise * sampled) factor = std::max(factor, together / share / sampled);
  }
  return factor;
}

}  // namespace kw
