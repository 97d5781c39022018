#pragma once
// Prometheus's text format (exposition formats, version 0.0.4): counters, gauges and histograms as lines. Debian's
// prometheus-cpp exists as shared libraries only, which every command of the program would then need on every machine;
// the format is a page long.

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kw {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class MetricsText {
 public:
  // A family's lines must come together: begin() once, then its values.
  void begin(std::string_view name, std::string_view type, std::string_view help);
  void value(std::string_view name, const MetricLabels& labels, double value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Durations in buckets; from any thread.
class DurationHistogram {
 public:
  static constexpr std::array<double, 14> bounds_s = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                      0.25,  0.5,    1,     2.5,  5,     10,   60};
  void add(double seconds);
  void write(MetricsText& text, std::string_view name, const MetricLabels& labels) const;
  // By linear interpolation within a bucket, as Prometheus's histogram_quantile does; none when there is nothing.
  std::optional<double> quantile_s(double share) const;

 private:
  mutable std::mutex mutex_;
  std::array<std::int64_t, bounds_s.size() + 1> counts_{};
  double sum_s_ = 0;
};

}  // namespace kw
