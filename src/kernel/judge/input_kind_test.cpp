#include "kernel/judge/input_kind.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "kernel/judge/error_bound.h"
#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

std::vector<double> values_of(const InputTensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(tensor.bytes.size() / bytes_of(tensor.dtype)); ++i)
    values.push_back(element_at(tensor.dtype, tensor.bytes, i));
  return values;
}

std::vector<double> changed(const Task& task, const Sizes& sizes, InputKind kind, std::uint64_t seed) {
  auto inputs = make_inputs(task, sizes, seed).value();
  EXPECT_TRUE(change_inputs(task, sizes, inputs, kind, seed));
  return values_of(inputs.front());
}

// Whether exp overflows must not be left to chance, however few elements there are.
TEST(InputKind, LargeInputsAlwaysReachBothEnds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const std::int64_t n : {2, 3, 7, 64, 1000}) {
      const auto values = changed(suite_task("relu"), {{"n", n}}, InputKind::large, seed);
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      EXPECT_EQ(*low, -160) << n;
      EXPECT_EQ(*high, 160) << n;
    }
  }
}

TEST(InputKind, NegativeInputsAreAllBelowZero) {
  for (const double value : changed(suite_task("relu"), {{"n", 500}}, InputKind::negative, 3)) EXPECT_LT(value, 0);
}

TEST(InputKind, HalfOfTheRowsAreZero) {
  const auto values = changed(suite_task("softmax"), {{"rows", 6}, {"cols", 5}}, InputKind::zero, 3);
  EXPECT_EQ(std::count(values.begin(), values.end(), 0.0), 15);
}

TEST(InputKind, ARangeIsAPromise) {
  const Task task = suite_task("sigmoid");
  auto inputs = make_inputs(task, task.sizes_small[1], 3).value();
  EXPECT_FALSE(change_inputs(task, task.sizes_small[1], inputs, InputKind::large, 3));
}

TEST(InputKind, EveryKindHasANameThatLeadsBack) {
  for (const InputKind kind : all_input_kinds) EXPECT_EQ(input_kind_from(name_of(kind)), kind);
  EXPECT_EQ(input_kind_from("no such kind"), InputKind::ordinary);
}

// What stays inside of the range is no broken promise: its ends, its order, equal values.
TEST(InputKind, ARangeIsKeptWhateverTheKind) {
  for (const char* name : {"sigmoid", "histogram", "rsqrt_eps", "row_sum_i32", "linear_recurrence"}) {
    const Task task = suite_task(name);
    const Sizes& sizes = task.sizes_small[1];
    for (const InputKind kind : all_input_kinds) {
      auto inputs = make_inputs(task, sizes, 3).value();
      const bool made = change_inputs(task, sizes, inputs, kind, 3);
      if (kind == InputKind::patterned || kind == InputKind::extreme) {
        EXPECT_TRUE(made) << name;
      }
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto values = values_of(inputs[i]);
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        if (const auto* range = std::get_if<UniformValues>(&task.inputs[i].values)) {
          EXPECT_GE(*low, static_cast<double>(static_cast<float>(range->low))) << name;
          EXPECT_LE(*high, range->high) << name;
        } else if (const auto* whole = std::get_if<IntegerValues>(&task.inputs[i].values)) {
          EXPECT_GE(*low, static_cast<double>(whole->low.evaluate(sizes).value())) << name;
          EXPECT_LE(*high, static_cast<double>(whole->high.evaluate(sizes).value())) << name;
        }
      }
    }
  }
}

TEST(InputKind, RepeatedWholeNumbersAreAllTheSame) {
  const auto values = changed(suite_task("histogram"), {{"count", 1001}, {"bins", 17}}, InputKind::repeated, 3);
  EXPECT_EQ(std::count(values.begin(), values.end(), values.front()), 1001);
}

TEST(InputKind, ExtremeValuesHaveARunAtEitherEnd) {
  const auto values = changed(suite_task("linear_recurrence"), {{"rows", 6}, {"steps", 50}}, InputKind::extreme, 3);
  int low = 0, high = 0;
  for (std::size_t row = 0; row < 6; ++row) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(50 * row);
    low += std::all_of(begin, begin + 50, [](double value) { return value == 0; }) ? 1 : 0;
    high += std::all_of(begin, begin + 50, [](double value) { return value > 0.99; }) ? 1 : 0;
  }
  EXPECT_EQ(low, 2);
  EXPECT_EQ(high, 2);
}

TEST(InputKind, AnOffsetIsMuchLargerThanTheSpread) {
  for (const double value : changed(suite_task("row_var"), {{"rows", 5}, {"cols", 40}}, InputKind::offset, 3))
    EXPECT_NEAR(value, 512, 6);
}

TEST(InputKind, TinyValuesAreNotDenormal) {
  for (const double value : changed(suite_task("tanh_f16"), {{"n", 5000}}, InputKind::tiny, 3)) {
    EXPECT_LT(std::abs(value), 0.1);
    EXPECT_GE(std::abs(value), 0x1p-14);
  }
}

TEST(InputKind, EachRowHasOneOutlier) {
  const auto values = changed(suite_task("softmax"), {{"rows", 6}, {"cols", 50}}, InputKind::outlier, 3);
  EXPECT_EQ(std::count(values.begin(), values.end(), 1024.0), 6);
}

// Of eight rows or columns two are sorted, two constant, two of few values, two of alternating signs.
TEST(InputKind, PatternsAreThereWhateverTheSeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto values = changed(suite_task("softmax"), {{"rows", 8}, {"cols", 8}}, InputKind::patterned, seed);
    int most_constant = 0;
    for (const bool columns : {false, true}) {
      int constant = 0;
      for (std::size_t line = 0; line < 8; ++line) {
        std::set<double> different;
        for (std::size_t i = 0; i < 8; ++i) different.insert(values[columns ? i * 8 + line : line * 8 + i]);
        constant += different.size() == 1 ? 1 : 0;
      }
      most_constant = std::max(most_constant, constant);
    }
    EXPECT_EQ(most_constant, 2);
  }
}

// argmax promises the first of equal values; a sort promises nothing.
TEST(InputKind, NoRowsOfZerosWhereTheOrderOfEqualValuesIsOpen) {
  Task task = suite_task("row_argmax");
  auto inputs = make_inputs(task, task.sizes_small[1], 3).value();
  EXPECT_TRUE(change_inputs(task, task.sizes_small[1], inputs, InputKind::zero, 3));
  task.pytorch = "def reference(x):\n    return torch.topk(x, 1, -1)[1].squeeze(-1)\n";
  EXPECT_FALSE(change_inputs(task, task.sizes_small[1], inputs, InputKind::zero, 3));
  task.pytorch = "def reference(x):\n    return torch.argmax(resort(x), -1)\n";
  inputs = make_inputs(task, task.sizes_small[1], 3).value();
  EXPECT_TRUE(change_inputs(task, task.sizes_small[1], inputs, InputKind::zero, 3));
}

}  // namespace
}  // namespace kw
