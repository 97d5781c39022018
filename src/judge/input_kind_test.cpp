#include "judge/input_kind.h"

#include <algorithm>

#include "judge/error_bound.h"
#include "judge/judge_test_support.h"

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
  EXPECT_TRUE(change_inputs(task, inputs, kind, seed));
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
  EXPECT_FALSE(change_inputs(task, inputs, InputKind::large, 3));
}

// argmax promises the first of equal values; a sort promises nothing.
TEST(InputKind, NoRowsOfZerosWhereTheOrderOfEqualValuesIsOpen) {
  Task task = suite_task("row_argmax");
  auto inputs = make_inputs(task, task.sizes_small[1], 3).value();
  EXPECT_TRUE(change_inputs(task, inputs, InputKind::zero, 3));
  task.pytorch = "def reference(x):\n    return torch.topk(x, 1, -1)[1].squeeze(-1)\n";
  EXPECT_FALSE(change_inputs(task, inputs, InputKind::zero, 3));
  task.pytorch = "def reference(x):\n    return torch.argmax(resort(x), -1)\n";
  EXPECT_TRUE(change_inputs(task, inputs, InputKind::zero, 3));
}

}  // namespace
}  // namespace kw
