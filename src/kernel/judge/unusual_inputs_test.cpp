#include "kernel/judge/unusual_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernel/judge/error_bound.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

constexpr std::int64_t rows = 400, cols = 1000;

Task task_of(const std::string& values, const std::string& dtype = "float32") {
  return parse_task(R"(
name: t
tier: 0
family: elementwise
split: train
summary: s
pytorch: |
  def reference(x, rows: int, cols: int):
      return x + 1
inputs:
  x: {dtype: )" + dtype +
                        R"(, shape: [rows, cols], values: )" + values + R"(}
outputs:
  y: {dtype: )" + dtype +
                        R"(, shape: [rows, cols]}
sizes:
  small:   [{rows: 3, cols: 5}]
  train:   [{rows: 400, cols: 1000}]
  holdout: [{rows: 30, cols: 50}]
)",
                    "t.yaml")
      .value();
}

const std::set<InputKind> all_kinds(all_input_kinds.begin(), all_input_kinds.end());

struct Row {
  double low = INFINITY, high = -INFINITY, mean = 0;
  std::set<double> values;
};

std::vector<Row> rows_of(const Task& task, InputMix mix, const std::set<InputKind>& fair, std::uint64_t seed = 5) {
  const auto made = make_unusual_inputs(task, {{"rows", rows}, {"cols", cols}}, seed, 7, mix, fair).value();
  const auto tensors = drawn_tensors(made);
  std::vector<Row> seen(rows);
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const double value = element_at(tensors[0].dtype, tensors[0].bytes, i);
    Row& row = seen[static_cast<std::size_t>(i / cols)];
    row.low = std::min(row.low, value);
    row.high = std::max(row.high, value);
    row.mean += value / cols;
    if (row.values.size() < 50) row.values.insert(value);
  }
  return seen;
}

int count(const std::vector<Row>& all, bool (*is)(const Row&)) {
  return static_cast<int>(std::count_if(all.begin(), all.end(), is));
}

TEST(UnusualInputs, OfOneMagnitudeHaveRowsOfManyKinds) {
  const auto all = rows_of(task_of("normal"), InputMix::level, all_kinds);
  EXPECT_GT(count(all, [](const Row& row) { return row.high < 0; }), 40);                     // negative
  EXPECT_GT(count(all, [](const Row& row) { return row.low == 0 && row.high == 0; }), 20);    // zero
  EXPECT_GT(count(all, [](const Row& row) { return row.high > 0 && row.high < 0.01; }), 20);  // tiny
  EXPECT_GT(count(all, [](const Row& row) { return row.values.size() > 1 && row.values.size() < 12; }), 40);  // few
  EXPECT_GT(count(all, [](const Row& row) { return row.high > 1 && row.values.size() == 50; }), 40);  // as usual
  EXPECT_EQ(count(all, [](const Row& row) { return std::abs(row.low) > 8 || row.high > 8; }), 0);
}

TEST(UnusualInputs, ThatAreStrongAreLargeOffsetOrHaveOutliers) {
  const auto all = rows_of(task_of("normal"), InputMix::strong, all_kinds);
  EXPECT_GT(count(all, [](const Row& row) { return row.low < -80 && row.high > 80 && row.high < 200; }), 40);
  EXPECT_GT(count(all, [](const Row& row) { return row.low > 400; }), 40);
  EXPECT_GT(count(all, [](const Row& row) { return row.high > 1000 && std::abs(row.mean) < 20; }), 40);
}

TEST(UnusualInputs, AreOnlyOfKindsThatAreFair) {
  const auto all = rows_of(task_of("normal"), InputMix::level, {InputKind::ordinary, InputKind::negative});
  EXPECT_GT(count(all, [](const Row& row) { return row.high < 0; }), 40);
  EXPECT_EQ(count(all, [](const Row& row) { return row.values.size() < 50; }), 0);
  EXPECT_FALSE(is_of_use(task_of("normal"), InputMix::strong, {InputKind::ordinary, InputKind::negative}));
}

TEST(UnusualInputs, KeepToTheRangeThatIsPromised) {
  const Task task = task_of("{uniform: [0.25, 0.75]}");
  for (const Row& row : rows_of(task, InputMix::level, all_kinds)) {
    EXPECT_GE(row.low, 0.25);
    EXPECT_LE(row.high, 0.75);
  }
  // Everything the same leaves nothing to compute, unless another input differs.
  EXPECT_FALSE(is_of_use(task, InputMix::strong, all_kinds));
}

TEST(UnusualInputs, OfWholeNumbersAreAllTheSameOnce) {
  const Task task = task_of("{integers: [0, 99]}", "int32");
  std::set<double> seen;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto all = rows_of(task, InputMix::strong, all_kinds, seed);
    EXPECT_EQ(count(all, [](const Row& row) { return row.values.size() != 1; }), 0);
    EXPECT_EQ(all.front().low, all.back().low);
    seen.insert(all.front().low);
  }
  EXPECT_GT(seen.size(), 2u);
  const auto lines = rows_of(task, InputMix::level, all_kinds);
  EXPECT_GT(count(lines, [](const Row& row) { return row.values.size() == 1; }), 40);
  EXPECT_GT(count(lines, [](const Row& row) { return row.values.size() > 40; }), 40);
}

// What an emulated block reads, page by page, is what the reference gets.
TEST(UnusualInputs, AreTheSameInParts) {
  const auto made =
      make_unusual_inputs(task_of("normal"), {{"rows", rows}, {"cols", cols}}, 5, 7, InputMix::level, all_kinds)
          .value();
  const std::string whole = drawn_tensors(made)[0].bytes;
  std::string part(4096, 0);
  for (std::size_t offset = 0; offset + part.size() <= whole.size(); offset += 37 * part.size()) {
    draw_part(*made[0].recipe, made[0].table, offset / 4, reinterpret_cast<std::byte*>(part.data()), part.size());
    EXPECT_EQ(part, whole.substr(offset, part.size()));
  }
}

}  // namespace
}  // namespace kw
