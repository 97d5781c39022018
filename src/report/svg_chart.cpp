#include "report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_text.h"

namespace kw {
namespace {

constexpr double width = 380, height = 220, left = 46, right = 10, top = 10, bottom = 34;
constexpr std::size_t most_dots = 30;     // of a line whose measurements are shown one by one
constexpr std::size_t most_points = 240;  // of a drawn line; beyond, neighbours are averaged

struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  double operator()(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

std::vector<CurvePoint> drawn_points(const std::vector<CurvePoint>& points) {
  std::vector<CurvePoint> finite;
  for (CurvePoint point : points) {
    if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
    if (point.interval && !(std::isfinite(point.interval->low) && std::isfinite(point.interval->high)))
      point.interval.reset();
    finite.push_back(point);
  }
  if (finite.size() <= most_points) return finite;
  std::vector<CurvePoint> thinned;
  for (std::size_t i = 0; i < most_points; ++i) {
    const std::size_t first = i * finite.size() / most_points, end = (i + 1) * finite.size() / most_points;
    CurvePoint sum;
    for (std::size_t n = first; n < end; ++n) {
      sum.x += finite[n].x / static_cast<double>(end - first);
      sum.y += finite[n].y / static_cast<double>(end - first);
    }
    thinned.push_back(sum);
  }
  return thinned;
}

std::string value_text(double value, bool share) {
  return share ? fmt::format("{} %", axis_number(100 * value)) : axis_number(value);
}

// Means over neighbours: what a noisy line is about.
std::vector<CurvePoint> smoothed(const std::vector<CurvePoint>& points) {
  const std::size_t reach = points.size() / 30;
  std::vector<CurvePoint> means;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t first = i - std::min(i, reach), last = std::min(points.size() - 1, i + reach);
    CurvePoint mean = points[i];
    mean.y = 0;
    for (std::size_t n = first; n <= last; ++n) mean.y += points[n].y / static_cast<double>(last - first + 1);
    means.push_back(mean);
  }
  return means;
}

class CurveDrawing {
 public:
  explicit CurveDrawing(const Curve& curve) : curve_(curve) {
    for (std::size_t i = 0; i < std::min(curve.series.size(), most_series); ++i)
      series_.push_back(drawn_points(curve.series[i].points));
  }

  std::string draw() {
    if (!find_ranges()) return "";
    out_ = fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", width, height,
                       html_escaped(curve_.title));
    axes();
    for (std::size_t i = 0; i < series_.size(); ++i) band(i);
    for (std::size_t i = 0; i < series_.size(); ++i) line(i);
    return out_ + "</svg>";
  }

 private:
  bool find_ranges() {
    double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
    for (const auto& points : series_)
      for (const CurvePoint& point : points) {
        x_low = std::min(x_low, point.x);
        x_high = std::max(x_high, point.x);
        y_low = std::min({y_low, point.y, point.interval ? point.interval->low : point.y});
        y_high = std::max({y_high, point.y, point.interval ? point.interval->high : point.y});
      }
    if (!std::isfinite(x_low)) return false;
    if (curve_.share) y_low = std::min(y_low, 0.0), y_high = std::max(y_high, 1.0);
    if (x_high <= x_low) x_low -= 0.5, x_high += 0.5;
    if (y_high - y_low < 1e-12 * std::max(1.0, std::abs(y_high))) {
      const double room = y_high == 0 ? 1 : 0.1 * std::abs(y_high);
      y_low -= room;
      y_high += room;
    } else if (!curve_.share) {
      const double room = 0.05 * (y_high - y_low);
      y_low = y_low >= 0 && y_low < room ? 0 : y_low - room;
      y_high += room;
    }
    x_ = {x_low, x_high, left, width - right};
    y_ = {y_low, y_high, height - bottom, top};
    return true;
  }

  void axes() {
    for (const double tick : round_ticks(y_.low, y_.high, 4)) {
      const double at = y_(tick);
      out_ += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", left, width - right,
                          at, at);
      out_ += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 6, at + 4,
                          value_text(tick, curve_.share));
    }
    for (const double tick : round_ticks(x_.low, x_.high, 5))
      out_ += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x_(tick),
                          height - bottom + 16, axis_number(tick));
    out_ += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", width - right,
                        height - 3, html_escaped(curve_.x_name));
  }

  void band(std::size_t index) {
    std::string upper, lower;
    for (const CurvePoint& point : series_[index]) {
      if (!point.interval) continue;
      upper += fmt::format("{:.1f},{:.1f} ", x_(point.x), y_(point.interval->high));
      lower = fmt::format("{:.1f},{:.1f} ", x_(point.x), y_(point.interval->low)) + lower;
    }
    if (!upper.empty())
      out_ += fmt::format("<polygon class=\"band series-{}\" points=\"{}{}\"/>", index + 1, upper, lower);
  }

  void polyline(const char* kind, std::size_t index, const std::vector<CurvePoint>& points) {
    out_ += fmt::format("<polyline class=\"{} series-{}\" points=\"", kind, index + 1);
    for (const CurvePoint& point : points) out_ += fmt::format("{:.1f},{:.1f} ", x_(point.x), y_(point.y));
    out_ += "\"/>";
  }

  void line(std::size_t index) {
    const auto& points = series_[index];
    const bool measurements = points.size() <= most_dots;
    if (!measurements) polyline("raw", index, points);
    if (points.size() > 1) polyline("line", index, measurements ? points : smoothed(points));
    // Single measurements are shown as such; a long line speaks for itself.
    if (!measurements) return;
    for (const CurvePoint& point : points) {
      std::string words = fmt::format("{}: {} {}: {}", curve_.series[index].name, curve_.x_name, axis_number(point.x),
                                      value_text(point.y, curve_.share));
      if (point.interval) {
        words += fmt::format(" ({} to {})", value_text(point.interval->low, curve_.share),
                             value_text(point.interval->high, curve_.share));
        out_ +=
            fmt::format("<line class=\"whisker series-{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
                        index + 1, x_(point.x), x_(point.x), y_(point.interval->low), y_(point.interval->high));
      }
      out_ += fmt::format(
          "<circle class=\"dot series-{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\"><title>{}</title></circle>", index + 1,
          x_(point.x), y_(point.y), html_escaped(words));
    }
  }

  const Curve& curve_;
  std::vector<std::vector<CurvePoint>> series_;
  Scale x_, y_;
  std::string out_;
};

constexpr double bins_a_doubling = 4;

}  // namespace

std::vector<double> round_ticks(double low, double high, int count) {
  if (!(high > low) || count < 1 || !std::isfinite(high - low)) return {};
  const double rough = (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.7) {
      step = factor * power;
      break;
    }
  std::vector<double> ticks;
  for (double n = std::ceil(low / step - 1e-9); n * step <= high + 1e-9 * step && ticks.size() < 50; ++n)
    ticks.push_back(n == 0 ? 0 : n * step);
  return ticks;
}

std::string axis_number(double value) {
  const double size = std::abs(value);
  if (value == 0) return "0";
  if (size >= 9.995e8 || size < 1e-4) return fmt::format("{:.2g}", value);
  if (size >= 9.995e5) return fmt::format("{:.3g}M", value / 1e6);
  if (size >= 9.995e3) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

std::string curve_svg(const Curve& curve) { return CurveDrawing(curve).draw(); }

std::string distribution_svg(const Distribution& distribution) {
  std::vector<const Distribution::Series*> drawn;
  double low = 0, high = 0;  // logarithms to base 2; 1 is always in the picture
  std::vector<std::vector<double>> logs;
  for (const auto& series : distribution.series) {
    std::vector<double> of_series;
    for (const double value : series.values)
      if (std::isfinite(value) && value > 0) of_series.push_back(std::clamp(std::log2(value), -10.0, 10.0));
    if (of_series.empty() || drawn.size() == most_series) continue;
    for (const double value : of_series) low = std::min(low, value), high = std::max(high, value);
    drawn.push_back(&series);
    logs.push_back(std::move(of_series));
  }
  if (drawn.empty()) return "";
  low = std::floor(low - 0.01);
  high = std::ceil(high + 0.01);
  constexpr double row_height = 74, label_height = 18;
  const double tall = static_cast<double>(drawn.size()) * row_height + bottom;
  const Scale x{low, high, 14, width - right};
  std::string out = fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", width,
                                tall, html_escaped(distribution.title));
  const auto bins = static_cast<std::size_t>((high - low) * bins_a_doubling);
  for (std::size_t row = 0; row < drawn.size(); ++row) {
    std::vector<std::size_t> counts(bins, 0);
    for (const double value : logs[row])
      ++counts[std::min(bins - 1, static_cast<std::size_t>((value - low) * bins_a_doubling))];
    const auto most = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
    const double base = static_cast<double>(row + 1) * row_height;
    std::vector<double> values = logs[row];
    out += fmt::format(
        "<text class=\"label\" x=\"14\" y=\"{:.1f}\">{} <tspan class=\"tick\">{} kernels, median {} x</tspan></text>",
        base - row_height + 14, html_escaped(cut_text(drawn[row]->name, 40)), values.size(),
        axis_number(std::round(100 * std::exp2(median(values))) / 100));
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (counts[bin] == 0) continue;
      const double from = x(low + static_cast<double>(bin) / bins_a_doubling);
      const double to = x(low + static_cast<double>(bin + 1) / bins_a_doubling);
      const double tallness = (row_height - label_height - 6) * static_cast<double>(counts[bin]) / most;
      out += fmt::format(
          "<rect class=\"bar series-{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"1\">"
          "<title>{} kernels, {} to {} x</title></rect>",
          row + 1, from + 0.5, base - tallness, to - from - 1, tallness, counts[bin],
          axis_number(std::exp2(low + static_cast<double>(bin) / bins_a_doubling)),
          axis_number(std::exp2(low + static_cast<double>(bin + 1) / bins_a_doubling)));
    }
    out += fmt::format("<line class=\"one\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", x(0), x(0),
                       base - row_height + label_height + 4, base);
    out += fmt::format("<line class=\"grid\" x1=\"14\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", width - right, base,
                       base);
  }
  const double floor_y = static_cast<double>(drawn.size()) * row_height;
  const int every = high - low > 8 ? 2 : 1;
  for (double tick = low; tick <= high; tick += every)
    out += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{} x</text>", x(tick),
                       floor_y + 16, axis_number(std::exp2(tick)));
  return out + "</svg>";
}

}  // namespace kw
