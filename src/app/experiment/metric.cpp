#include "app/experiment/metric.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace kw {
namespace {

constexpr std::array<MetricDescription, metric_count> metric_table = {{
    {Metric::error, "error", MetricKind::rate, false, "requests that the service failed"},
    {Metric::compile, "compile", MetricKind::rate, true, "kernels that compile"},
    {Metric::correct, "correct", MetricKind::rate, true, "kernels that are correct"},
    {Metric::speedup, "speedup", MetricKind::ratio, true, "speedup over the naive kernel, 1 without a correct kernel"},
    {Metric::turns, "turns", MetricKind::ratio, false, "turns of the conversation"},
    {Metric::latency, "latency", MetricKind::ratio, false, "time from request to answer, ms"},
    {Metric::tokens, "tokens", MetricKind::ratio, false, "tokens that were generated"},
}};

constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

double log_of(const std::optional<double>& value) {
  return value && std::isfinite(*value) && *value > 0 ? std::log(*value) : not_measured;
}

}  // namespace

std::span<const MetricDescription> all_metrics() { return metric_table; }

const MetricDescription& describe(Metric metric) {
  const auto& facts = metric_table[static_cast<std::size_t>(metric)];
  KW_CHECK(facts.metric == metric);
  return facts;
}

std::optional<Metric> metric_named(std::string_view name) {
  for (const auto& facts : metric_table)
    if (facts.name == name) return facts.metric;
  return {};
}

MetricValues values_of(const Outcome& outcome) {
  const double log_speedup = outcome.correct ? log_of(outcome.speedup) : 0;
  return {outcome.error ? 1.0 : 0.0, outcome.compiled ? 1.0 : 0.0, outcome.correct ? 1.0 : 0.0, log_speedup,
          log_of(outcome.turns),     log_of(outcome.latency_ms),   log_of(outcome.tokens)};
}

double gain_of(Metric metric, double candidate, double control) {
  const MetricDescription& facts = describe(metric);
  const double difference = (candidate - control) / (facts.kind == MetricKind::ratio ? std::log(largest_ratio) : 1.0);
  if (std::isnan(difference)) return difference;
  return std::clamp(facts.more_is_better ? difference : -difference, -1.0, 1.0);
}

double gain_from_change(Metric metric, double change) {
  const double size = std::abs(change);
  const double gain = describe(metric).kind == MetricKind::ratio ? std::log1p(size) / std::log(largest_ratio) : size;
  return std::copysign(std::min(gain, 1.0), change);
}

double change_from_gain(Metric metric, double gain) {
  if (describe(metric).kind == MetricKind::rate) return gain;
  return std::copysign(std::expm1(std::abs(gain) * std::log(largest_ratio)), gain);
}

}  // namespace kw
