#include "base/page/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/page/html_text.h"

namespace kw {
namespace {

constexpr double width = 380, height = 220, left = 46, right = 10, top = 10, bottom = 34;
constexpr std::size_t most_dots = 30;     // of a line whose measurements are shown one by one
constexpr std::size_t most_points = 240;  // of a drawn line; beyond, neighbours are averaged

constexpr std::size_t most_marks = 12;

struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  bool logarithmic = false;
  double operator()(double value) const {
    const auto place = [&](double x) { return logarithmic ? std::log(x) : x; };
    return from + (place(value) - place(low)) / (place(high) - place(low)) * (to - from);
  }
};

std::vector<CurvePoint> drawn_points(const std::vector<CurvePoint>& points, bool logarithmic) {
  std::vector<CurvePoint> finite;
  for (CurvePoint point : points) {
    if (!std::isfinite(point.x) || !std::isfinite(point.y) || (logarithmic && point.y <= 0)) continue;
    if (point.interval && !(std::isfinite(point.interval->low) && std::isfinite(point.interval->high) &&
                            (!logarithmic || point.interval->low > 0)))
      point.interval.reset();
    finite.push_back(point);
  }
  if (finite.size() <= most_points) return finite;
  std::vector<CurvePoint> thinned;
  for (std::size_t i = 0; i < most_points; ++i) {
    const std::size_t first = i * finite.size() / most_points, end = (i + 1) * finite.size() / most_points;
    CurvePoint sum;
    Interval interval;
    bool known = true;
    const auto count = static_cast<double>(end - first);
    for (std::size_t n = first; n < end; ++n) {
      sum.x += finite[n].x / count;
      sum.y += finite[n].y / count;
      known = known && finite[n].interval;
      if (!known) continue;
      interval.low += finite[n].interval->low / count;
      interval.high += finite[n].interval->high / count;
    }
    if (known) sum.interval = interval;
    thinned.push_back(sum);
  }
  return thinned;
}

std::string value_text(double value, bool share) {
  return share ? fmt::format("{} %", axis_number(100 * value)) : axis_number(value);
}

// What a noisy line is about: a straight line fitted to the neighbours of each point, near ones counting more
// (Cleveland, 1979, without its robust rounds). Unlike a moving mean it does not flatten the ends, where one looks.
// Intervals are those of single points, smoothed in the same way.
std::vector<CurvePoint> smoothed(const std::vector<CurvePoint>& points, bool logarithmic) {
  const std::size_t count = points.size();
  const std::size_t reach = std::max<std::size_t>(4, count / 6);
  if (count < 4) return points;
  const auto seen = [&](double y) { return logarithmic ? std::log(y) : y; };
  std::vector<CurvePoint> lines;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = i - std::min(i, reach), last = std::min(count - 1, i + reach);
    const double width_x = 1e-300 + 1.001 * std::max(points[i].x - points[first].x, points[last].x - points[i].x);
    const auto fitted = [&](const auto& value_of) {
      double all = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0, least = INFINITY, most = -INFINITY;
      for (std::size_t n = first; n <= last; ++n) {
        if (!points[n].interval && points[i].interval) continue;
        const double x = points[n].x - points[i].x, y = seen(value_of(points[n]));
        const double near = 1 - std::pow(std::min(1.0, std::abs(x) / width_x), 3), weight = near * near * near;
        all += weight;
        least = std::min(least, y), most = std::max(most, y);
        sum_x += weight * x, sum_y += weight * y, sum_xx += weight * x * x, sum_xy += weight * x * y;
      }
      const double spread = all * sum_xx - sum_x * sum_x;
      const double y =
          std::abs(spread) > 1e-12 * all * sum_xx ? (sum_y * sum_xx - sum_x * sum_xy) / spread : sum_y / all;
      if (!std::isfinite(y)) return value_of(points[i]);
      return logarithmic ? std::exp(std::clamp(y, least, most)) : std::clamp(y, least, most);
    };
    CurvePoint line{points[i].x, fitted([](const CurvePoint& point) { return point.y; }), {}};
    if (points[i].interval)
      line.interval = Interval{fitted([](const CurvePoint& point) { return point.interval->low; }),
                               fitted([](const CurvePoint& point) { return point.interval->high; })};
    lines.push_back(line);
  }
  return lines;
}

class CurveDrawing {
 public:
  explicit CurveDrawing(const Curve& curve) : curve_(curve), top_(curve.marks.empty() ? top : top + 12) {
    for (std::size_t i = 0; i < std::min(curve.series.size(), most_series); ++i)
      series_.push_back(drawn_points(curve.series[i].points, curve.logarithmic));
    for (std::size_t i = 0; i < series_.size(); ++i) {
      const bool noisy = curve.series[i].noisy || series_[i].size() > most_dots;
      lines_.push_back(noisy ? smoothed(series_[i], curve.logarithmic) : series_[i]);
    }
  }

  std::string draw() {
    if (!find_ranges()) return "";
    out_ = fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", width, height,
                       html_escaped(curve_.title));
    axes();
    marks();
    for (std::size_t i = 0; i < series_.size(); ++i) band(i);
    for (std::size_t i = 0; i < series_.size(); ++i) line(i);
    return out_ + "</svg>";
  }

 private:
  bool find_ranges() {
    double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
    for (std::size_t i = 0; i < series_.size(); ++i)
      for (std::size_t n = 0; n < series_[i].size(); ++n) {
        const CurvePoint &point = series_[i][n], &line = lines_[i][n];
        x_low = std::min(x_low, point.x);
        x_high = std::max(x_high, point.x);
        y_low = std::min({y_low, point.y, line.interval ? line.interval->low : point.y});
        y_high = std::max({y_high, point.y, line.interval ? line.interval->high : point.y});
      }
    if (!std::isfinite(x_low)) return false;
    // Shares keep one scale, so that charts compare; where all of them are high, its upper half.
    if (curve_.share) y_low = y_low > 0.55 ? 0.5 : std::min(y_low, 0.0), y_high = std::max(y_high, 1.0);
    if (x_high <= x_low) x_low -= 0.5, x_high += 0.5;
    if (y_high - y_low < 1e-12 * std::max(1.0, std::abs(y_high))) {
      const double room = y_high == 0 ? 1 : 0.1 * std::abs(y_high);
      y_low -= room;
      y_high += room;
    } else if (curve_.logarithmic) {
      const double room = std::pow(std::min(y_high / y_low, 1e30), 0.05);
      y_low /= room;
      y_high *= room;
    } else if (!curve_.share) {
      const double room = 0.05 * (y_high - y_low);
      y_low = y_low >= 0 && y_low < room ? 0 : y_low - room;
      y_high += room;
    }
    x_ = {x_low, x_high, left, width - right};
    y_ = {y_low, y_high, height - bottom, top_, curve_.logarithmic && y_low > 0};
    return true;
  }

  void axes() {
    for (const double tick : y_.logarithmic ? decade_ticks(y_.low, y_.high) : round_ticks(y_.low, y_.high, 4)) {
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

  void marks() {
    double label_end = -INFINITY;
    for (std::size_t i = 0; i < std::min(curve_.marks.size(), most_marks); ++i) {
      const CurveMark& mark = curve_.marks[i];
      if (!(mark.x >= x_.low && mark.x <= x_.high)) continue;
      const double at = x_(mark.x);
      out_ += fmt::format("<line class=\"mark\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", at, at, top_ - 4,
                          height - bottom);
      const std::string text = cut_text(mark.text, 16);
      const double label_width = 6.0 * static_cast<double>(text.size()) + 4;
      const bool turned = at + label_width > width - right;  // to the left of its line
      const double from = turned ? at - label_width : at;
      if (from < label_end) continue;
      label_end = from + label_width;
      out_ += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
                          turned ? at + 3 : at - 3, top_ - 8, turned ? "end" : "start", html_escaped(text));
    }
  }

  void band(std::size_t index) {
    // Between two exams nothing was measured: their whiskers say enough.
    if (!curve_.series[index].noisy && series_[index].size() < 4) return;
    std::string upper, lower;
    for (const CurvePoint& point : lines_[index]) {
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
    const bool noisy = curve_.series[index].noisy;
    if (noisy)
      for (const CurvePoint& point : points)
        out_ += fmt::format("<circle class=\"faint series-{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.8\"/>", index + 1,
                            x_(point.x), y_(point.y));
    const bool measurements = !noisy && points.size() <= most_dots;
    if (!measurements && !noisy) polyline("raw", index, points);
    if (points.size() > 1) polyline("line", index, lines_[index]);
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
  double top_;                                           // of the plot; what happened is named above it
  std::vector<std::vector<CurvePoint>> series_, lines_;  // what was measured, and the lines through it
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

std::vector<double> decade_ticks(double low, double high) {
  std::vector<double> ticks;
  if (!(low > 0) || !(high > low) || !std::isfinite(high)) return ticks;
  const double decades = std::log10(high / low);
  const double every = std::max(1.0, std::ceil(decades / 5));
  for (double power = std::floor(std::log10(low)); power <= std::log10(high) && ticks.size() < 50; power += every)
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && decades > 1.7) continue;
      const double tick = factor * std::pow(10, power);
      if (tick >= low && tick <= high) ticks.push_back(tick);
    }
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
  constexpr double row_height = 92, label_height = 34;
  const double tall = static_cast<double>(drawn.size()) * row_height + bottom;
  const Scale x{low, high, 14, width - right - 8};
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
        base - row_height + 24, html_escaped(cut_text(drawn[row]->name, 40)), values.size(),
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
                       base - row_height + label_height, base);
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
