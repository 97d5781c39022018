#include "app/serve/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kw {
namespace {

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '"' && quotes)
      out += "\\\"";
    else
      out += c;
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

void MetricsText::begin(std::string_view name, std::string_view type, std::string_view help) {
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escaped(help, false), name, type);
}

void MetricsText::value(std::string_view name, const MetricLabels& labels, double value) {
  text_ += name;
  for (std::size_t i = 0; i < labels.size(); ++i)
    text_ += fmt::format("{}{}=\"{}\"", i == 0 ? "{" : ",", labels[i].first, escaped(labels[i].second, true));
  text_ += labels.empty() ? " " : "} ";
  text_ += number(value) + "\n";
}

void DurationHistogram::add(double seconds) {
  const auto bucket = std::lower_bound(bounds_s.begin(), bounds_s.end(), seconds) - bounds_s.begin();
  const std::lock_guard lock(mutex_);
  ++counts_[static_cast<std::size_t>(bucket)];
  sum_s_ += seconds;
}

void DurationHistogram::write(MetricsText& text, std::string_view name, const MetricLabels& labels) const {
  const std::lock_guard lock(mutex_);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i];
    MetricLabels with_bound = labels;
    with_bound.emplace_back("le", i < bounds_s.size() ? fmt::format("{}", bounds_s[i]) : "+Inf");
    text.value(fmt::format("{}_bucket", name), with_bound, static_cast<double>(total));
  }
  text.value(fmt::format("{}_sum", name), labels, sum_s_);
  text.value(fmt::format("{}_count", name), labels, static_cast<double>(total));
}

std::optional<double> DurationHistogram::quantile_s(double share) const {
  const std::lock_guard lock(mutex_);
  std::int64_t total = 0;
  for (const std::int64_t count : counts_) total += count;
  if (total == 0) return std::nullopt;
  const double rank = share * static_cast<double>(total);
  double before = 0;
  for (std::size_t i = 0; i < bounds_s.size(); ++i) {
    const auto here = static_cast<double>(counts_[i]);
    const double low = i == 0 ? 0 : bounds_s[i - 1];
    if (before + here >= rank && here > 0) return low + (bounds_s[i] - low) * (rank - before) / here;
    before += here;
  }
  return bounds_s.back();
}

}  // namespace kw
