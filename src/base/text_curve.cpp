#include "base/text_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/table.h"

namespace kw {
namespace {

using Points = std::span<const std::pair<std::int64_t, double>>;

struct Columns {
  std::vector<std::optional<double>> means;
  std::int64_t first_step = 0, last_step = 0;
  double low = 0, high = 0;
};

std::optional<Columns> columns_of(Points points, int count) {
  Columns columns;
  bool found = false;
  for (const auto& [step, value] : points) {
    if (!std::isfinite(value)) continue;
    columns.first_step = found ? std::min(columns.first_step, step) : step;
    columns.last_step = found ? std::max(columns.last_step, step) : step;
    found = true;
  }
  if (!found) return {};
  const double steps = std::max(1.0, static_cast<double>(columns.last_step) - static_cast<double>(columns.first_step));
  std::vector<double> sums(static_cast<std::size_t>(count)), weights(static_cast<std::size_t>(count));
  for (const auto& [step, value] : points) {
    if (!std::isfinite(value)) continue;
    const double share = (static_cast<double>(step) - static_cast<double>(columns.first_step)) / steps;
    const auto column = static_cast<std::size_t>(std::lround(share * (count - 1)));
    // A running mean, so that large values do not overflow.
    weights[column] += 1;
    sums[column] += value / weights[column] - sums[column] / weights[column];
  }
  columns.low = std::numeric_limits<double>::infinity();
  columns.high = -columns.low;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    columns.means.push_back(weights[i] > 0 ? std::optional(sums[i]) : std::nullopt);
    if (weights[i] == 0) continue;
    columns.low = std::min(columns.low, sums[i]);
    columns.high = std::max(columns.high, sums[i]);
  }
  return columns;
}

// 0 at the lowest value to `rows - 1` at the highest; a flat curve runs through the middle.
int height_of(const Columns& columns, double value, int rows) {
  const double range = columns.high / 2 - columns.low / 2;
  const double share = range > 0 ? (value / 2 - columns.low / 2) / range : 0.5;
  return static_cast<int>(std::lround(share * (rows - 1)));
}

// Unicode's Braille patterns: 2 x 4 dots a character, numbered down the left column, then the right, the lowest row
// last.
constexpr std::array<std::array<unsigned, 2>, 4> dot_bits = {{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};

std::string braille(unsigned dots) {
  const unsigned code = 0x2800 + dots;
  return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

// dots[row][column], row 0 at the top. Neighbouring points are joined by straight lines.
std::vector<std::vector<bool>> drawn(const Columns& columns, int rows) {
  std::vector<std::vector<bool>> dots(static_cast<std::size_t>(rows), std::vector<bool>(columns.means.size()));
  const auto set = [&](std::size_t column, int height) {
    dots[static_cast<std::size_t>(rows - 1 - height)][column] = true;
  };
  std::optional<std::pair<std::size_t, int>> before;
  for (std::size_t column = 0; column < columns.means.size(); ++column) {
    if (!columns.means[column]) continue;
    const int height = height_of(columns, *columns.means[column], rows);
    const auto [from_column, from_height] = before.value_or(std::pair(column, height));
    const int across = static_cast<int>(column - from_column), up = height - from_height;
    const int moves = std::max({1, across, std::abs(up)});
    for (int i = 0; i <= moves; ++i)
      set(from_column + static_cast<std::size_t>(across * i / moves), from_height + up * i / moves);
    before = {column, height};
  }
  return dots;
}

}  // namespace

std::string short_number(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  return fmt::format("{:.4g}", value);
}

std::string text_curve(const std::string& title, Points points, const CurveOptions& options) {
  const int width = std::clamp(options.width, 8, 400), height = std::clamp(options.height, 1, 100);
  const auto columns = columns_of(points, 2 * width);
  if (!columns) return "";
  const auto dots = drawn(*columns, 4 * height);
  const std::string high = short_number(columns->high), low = short_number(columns->low);
  const std::size_t margin = std::max(display_width(high), display_width(low));
  std::string text = std::string(margin + 2, ' ') + title + "\n";
  for (std::size_t row = 0; row < static_cast<std::size_t>(height); ++row) {
    const std::string label = row == 0 ? high : row + 1 == static_cast<std::size_t>(height) ? low : "";
    text += std::string(margin - display_width(label), ' ') + label + " │";
    std::string line;
    std::size_t drawn_bytes = 0;
    for (std::size_t column = 0; column < static_cast<std::size_t>(width); ++column) {
      unsigned bits = 0;
      for (std::size_t down = 0; down < 4; ++down)
        for (std::size_t right = 0; right < 2; ++right)
          if (dots[4 * row + down][2 * column + right]) bits |= dot_bits[down][right];
      line += bits != 0 ? braille(bits) : " ";
      if (bits != 0) drawn_bytes = line.size();
    }
    text += line.substr(0, drawn_bytes) + "\n";
  }
  const std::string first = fmt::format("step {}", columns->first_step), last = std::to_string(columns->last_step);
  std::string rule;
  for (int i = 0; i < width; ++i) rule += "─";
  text += std::string(margin + 1, ' ') + "└" + rule + "\n" + std::string(margin + 2, ' ') + first;
  const std::size_t used = first.size() + last.size();
  return text + std::string(used < static_cast<std::size_t>(width) ? static_cast<std::size_t>(width) - used : 1, ' ') +
         last + "\n";
}

std::string sparkline(Points points, int width) {
  static constexpr std::array<const char*, 8> bars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int most = std::clamp(width, 1, 400);
  // No more columns than points, or a short series would be mostly gaps.
  const auto columns = columns_of(points, std::min(most, static_cast<int>(std::min<std::size_t>(points.size(), 400))));
  if (!columns) return "";
  std::string text;
  for (const auto& mean : columns->means)
    text += mean ? bars[static_cast<std::size_t>(height_of(*columns, *mean, 8))] : " ";
  return text;
}

}  // namespace kw
