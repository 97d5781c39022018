#include "base/text_curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "base/table.h"

namespace kw {
namespace {

using Series = std::vector<std::pair<std::int64_t, double>>;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(TextCurve, ShowsRangeStepsAndTheWay) {
  Series series;
  for (int i = 0; i <= 100; ++i) series.emplace_back(10 * i, i);
  const auto lines = lines_of(text_curve("train/loss", series, {.width = 10, .height = 3}));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_TRUE(lines[0].ends_with(" train/loss"));
  EXPECT_EQ(lines[5].substr(lines[5].find("step")), "step 0 1000");
  // It rises: the last column is drawn at the top, the first at the bottom.
  EXPECT_GT(display_width(lines[1]), display_width(lines[3]));
  for (const auto& line : lines) EXPECT_LE(display_width(line), 10u + 8u);
}

TEST(TextCurve, TakesOddSeries) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  const double most = std::numeric_limits<double>::max();
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(text_curve("x", {}), "");
  EXPECT_EQ(text_curve("x", Series{{1, nan}, {2, infinite}}), "");
  EXPECT_EQ(sparkline({}), "");
  for (const Series& series :
       {Series{{5, 1.0}}, Series{{1, 2}, {2, 2}, {3, 2}}, Series{{0, most}, {1, -most}, {2, most}},
        Series{{0, 1}, {far, 2}}, Series{{-far, 1}, {far, 2}}, Series{{0, nan}, {1, 1}, {2, infinite}}}) {
    EXPECT_FALSE(text_curve("x", series).empty());
    EXPECT_FALSE(sparkline(series).empty());
  }
}

TEST(TextCurve, SparklineInOneLine) {
  EXPECT_EQ(sparkline(Series{{0, 0}, {1, 1}, {2, 2}, {3, 7}}), "▁▂▃█");
  EXPECT_EQ(sparkline(Series{{0, 3}, {1, 3}}), "▅▅");
  Series many;
  for (int i = 0; i < 1000; ++i) many.emplace_back(i, std::sin(i / 50.0));
  EXPECT_EQ(display_width(sparkline(many, 24)), 24u);
}

TEST(TextCurve, NumbersAreShort) {
  EXPECT_EQ(short_number(0.123456), "0.1235");
  EXPECT_EQ(short_number(1500000), "1.5e+06");
  EXPECT_EQ(short_number(-std::numeric_limits<double>::infinity()), "-inf");
}

}  // namespace
}  // namespace kw
