#pragma once
// What is measured of a request, and how two requests are compared by it. Adding a metric is a row of the table in
// metric.cpp and a field of Outcome.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace kw {

// How one request ended, from its verdict and from the service. An optional that is empty was not measured.
struct Outcome {
  bool error = false;                // the service failed: no answer, a crash, a deadline
  bool compiled = false;             // the kernel that the user got compiles
  bool correct = false;              // and is correct
  std::optional<double> speedup;     // of a correct kernel, over the task's naive one
  std::optional<double> turns;       // of the conversation
  std::optional<double> latency_ms;  // from request to answer
  std::optional<double> tokens;      // that were generated

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

enum class Metric { error, compile, correct, speedup, turns, latency, tokens };
inline constexpr std::size_t metric_count = 7;

enum class MetricKind {
  rate,   // 0 or 1; differences are differences of probabilities
  ratio,  // positive; differences are logarithms of ratios
};

struct MetricDescription {
  Metric metric;
  std::string_view name;
  MetricKind kind;
  bool more_is_better;
  std::string_view what;
};

std::span<const MetricDescription> all_metrics();
const MetricDescription& describe(Metric metric);
std::optional<Metric> metric_named(std::string_view name);

// The value of each metric: 0 or 1 of a rate, the natural logarithm of a ratio; NaN: not measured. A request without a
// correct kernel counts as a speedup of 1: the user keeps what they had. So nothing is left out because it failed.
using MetricValues = std::array<double, metric_count>;
MetricValues values_of(const Outcome& outcome);

// A ratio of more than this factor, either way, counts as this factor: a bounded difference needs no assumption about
// tails, and one request that hung does not decide an experiment.
inline constexpr double largest_ratio = 4;

// How much better the candidate's request was, in [-1, 1]: the difference of a rate, or ln(ratio) / ln(largest_ratio);
// positive is better. NaN when one of the two was not measured.
double gain_of(Metric metric, double candidate, double control);

// Between that scale and the one that people use: 0.02 of a rate stays 0.02; of a ratio, 0.1 means "a tenth more", so
// gain_from_change(latency, 0.1) is ln(1.1) / ln(4). The sign is kept, and what is out of range is clamped.
double gain_from_change(Metric metric, double change);
double change_from_gain(Metric metric, double gain);

}  // namespace kw
