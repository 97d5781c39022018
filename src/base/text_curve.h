#pragma once
// Curves for the terminal, of a metric over steps.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kw {

struct CurveOptions {
  int width = 64;  // characters of the plot, without the numbers at its left
  int height = 8;
};

// A plot of Braille dots with the range at its left and the steps below it. Points that share a column are averaged,
// not finite ones left out. Empty text when nothing is left. `points` are (step, value), by step.
std::string text_curve(const std::string& title, std::span<const std::pair<std::int64_t, double>> points,
                       const CurveOptions& options = {});

// One line of eight heights: ▁▃▅█. A column without a value is a space.
std::string sparkline(std::span<const std::pair<std::int64_t, double>> points, int width = 24);

// "0.0123", "1.5e+06": enough to compare, few enough to read.
std::string short_number(double value);

}  // namespace kw
