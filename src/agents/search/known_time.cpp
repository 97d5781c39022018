#include "agents/search/known_time.h"

#include <cmath>

namespace kw {
namespace {

// Half the width of a 95 % interval of a normal distribution, in standard deviations.
constexpr double deviations = 1.96;
// An interval that a few equal samples give is not believed to be narrower than this, relative.
constexpr double narrowest = 1e-4;
// Nobody measures again for the sake of a smaller difference, relative.
constexpr double worth_knowing = 0.005;

}  // namespace

std::optional<KnownTime> verdict_time(const Verdict& verdict) {
  if (!verdict.correct || !verdict.time_us || !(*verdict.time_us > 0)) return std::nullopt;
  const Interval exact{*verdict.time_us, *verdict.time_us};
  if (verdict.time_source != "measured") return KnownTime{*verdict.time_us, exact, false, 0};
  return KnownTime{*verdict.time_us, verdict.time_interval_us.value_or(exact), true, most_measurements};
}

std::optional<KnownTime> measured_time(const std::vector<std::shared_ptr<const Verdict>>& measurements) {
  double weights = 0, sum = 0;
  for (const auto& verdict : measurements) {
    if (!verdict->correct || !verdict->time_us || !(*verdict->time_us > 0)) return std::nullopt;
    const Interval interval = verdict->time_interval_us.value_or(Interval{*verdict->time_us, *verdict->time_us});
    const double low = std::log(std::max(interval.low, 1e-9)), high = std::log(std::max(interval.high, 1e-9));
    const double deviation = std::max((high - low) / 2, narrowest) / deviations;
    const double weight = 1 / (deviation * deviation);
    weights += weight;
    sum += weight * std::log(*verdict->time_us);
  }
  if (measurements.empty()) return std::nullopt;
  const double middle = sum / weights, half = deviations / std::sqrt(weights);
  return KnownTime{std::exp(middle),
                   {std::exp(middle - half), std::exp(middle + half)},
                   true,
                   static_cast<int>(measurements.size())};
}

bool clearly_faster(const KnownTime& a, const KnownTime& b) {
  // A tenth of a percent: modelled times of equal work differ by rounding.
  return a.interval_us.high < b.interval_us.low && a.us < b.us * 0.999;
}

bool undecided(const KnownTime& a, const KnownTime& b) {
  if (!a.measured || !b.measured || a.us >= b.us * (1 - worth_knowing) || clearly_faster(a, b)) return false;
  return a.measurements < most_measurements || b.measurements < most_measurements;
}

}  // namespace kw
