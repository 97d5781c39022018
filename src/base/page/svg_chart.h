#pragma once
// Small charts as SVG text for a page: no script, colours from the page's style (series-1 ... series-6), sizes that a
// phone can show.

#include <optional>
#include <string>
#include <vector>

#include "base/statistics.h"

namespace kw {

struct CurvePoint {
  double x = 0;
  double y = 0;
  std::optional<Interval> interval;
};

struct CurveSeries {
  std::string name;
  std::vector<CurvePoint> points;  // by rising x; not finite ones are left out
  // Each point is a noisy look at something that changes slowly: a smoothed line, with the points faint behind it.
  bool noisy = false;
};

// Something that happened at x: "tier 1".
struct CurveMark {
  double x = 0;
  std::string text;
};

struct Curve {
  std::string title;
  std::string x_name = "step";
  std::string note;    // one line below
  bool share = false;  // y is a share of 0 to 1, shown in percent
  std::vector<CurveSeries> series;
  std::vector<CurveMark> marks = {};
  bool logarithmic = false;  // y; points that are not positive are left out
};

struct Distribution {
  std::string title;
  std::string note;
  struct Series {
    std::string name;
    std::vector<double> values;  // positive: ratios, shown on a logarithmic axis with a line at 1
  };
  std::vector<Series> series;
};

inline constexpr std::size_t most_series = 6;

// Empty: there is nothing to draw.
std::string curve_svg(const Curve& curve);
std::string distribution_svg(const Distribution& distribution);

// About `count` round numbers that cover the range: 0, 20, 40 ...
std::vector<double> round_ticks(double low, double high, int count);
// Powers of ten within the range, and their doubles and fivefolds where there are few.
std::vector<double> decade_ticks(double low, double high);
// "1.2k", "0.05", "3e-05"
std::string axis_number(double value);

}  // namespace kw
