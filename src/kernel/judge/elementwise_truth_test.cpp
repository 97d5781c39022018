#include "kernel/judge/elementwise_truth.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernel/judge/error_bound.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

// y[rows, cols] of x[rows, cols], b of `shape` and a number s.
Task task_of(const std::string& body, const std::string& shape = "[cols]", const std::string& dtype = "float32") {
  const auto task = parse_task(
      fmt::format("name: lines\nfamily: f\npytorch: |\n  def reference(x, b, s: float):\n      {0}\n"
                  "inputs:\n  x: {{dtype: {2}, shape: [rows, cols]}}\n  b: {{dtype: {2}, shape: {1}}}\n"
                  "  s: {{dtype: float32, shape: [], values: {{uniform: [0.5, 2]}}}}\n"
                  "outputs:\n  y: {{dtype: {2}, shape: [rows, cols]}}\nsizes:\n  small: [{{rows: 3, cols: 5}}]\n"
                  "  train: [{{rows: 700, cols: 1024}}]\n",
                  body, shape, dtype),
      "lines.yaml");
  EXPECT_TRUE(task.ok()) << (task.ok() ? "" : to_string(task.error()));
  return *task;
}

const Sizes sizes{{"rows", 700}, {"cols", 1024}};

TEST(ElementwiseTruth, IsThatOfWholeInputs) {
  const std::pair<Task, bool> asked[] = {
      {task_of("return torch.relu(x) * s + b"), true},
      {task_of("return torch.where(x > b, x.to(torch.float64), b * 2).to(x.dtype)", "[rows, 1]"), true},
      {task_of("h = x + b\n      h.mul_(s).clamp_(-1.0, 1.0)\n      return h", "[1]"), true},
      {task_of("return x * b", "[cols]", "bfloat16"), true},
      {task_of("return F.gelu(x) / (1 + torch.exp(-b))"), false},
  };
  for (const auto& [task, to_the_bit] : asked) {
    const auto large = make_large_inputs(task, sizes, 5, 6);
    ASSERT_TRUE(large.ok());
    ASSERT_TRUE(large->at(0).recipe) << "the test has to draw";
    const Positions places{{0, 1, 2, 1023, 1024, 5000, 5001, 700 * 1024 - 2, 700 * 1024 - 1, 77'777}};
    auto some = ElementwiseTruth::of(task, sizes);
    ASSERT_TRUE(some) << task.pytorch;
    const auto whole = make_reference(task);
    ASSERT_TRUE(whole.ok());
    const auto inputs = drawn_tensors(*large);
    const auto prepared = (*whole)->prepare(inputs, Device::cpu);
    for (const Precision precision : {Precision::truth, Precision::task_dtype}) {
      const auto expected = (*whole)->run_at(**prepared, sizes, precision, places);
      const auto got = some->at(*large, places, precision);
      ASSERT_TRUE(expected.ok() && got.ok()) << to_string(got.ok() ? expected.error() : got.error());
      const OutputTensor &one = got->at(0), &other = expected->at(0).elements;
      EXPECT_EQ(one.dtype, other.dtype);
      EXPECT_EQ(one.shape, other.shape);
      if (to_the_bit) {
        EXPECT_TRUE(one.bytes == other.bytes) << task.pytorch;
        continue;
      }
      // PyTorch computes the end of a line with other instructions than its middle.
      const double last_bits = precision == Precision::truth ? 0x1p-50 : 0x1p-21;
      for (std::int64_t i = 0; i < 10; ++i) {
        const double value = element_at(other.dtype, other.bytes, i);
        EXPECT_NEAR(element_at(one.dtype, one.bytes, i), value, (std::abs(value) + 1) * last_bits) << i;
      }
    }
  }
}

TEST(ElementwiseTruth, IsNotGivenWhereOtherElementsCount) {
  for (const char* body :
       {"return torch.softmax(x, 1) + b", "return x / x.size(0)", "return torch.cumsum(x, 0)", "return x - x.mean()",
        "return F.prelu(x, b)", "return x + b.flip(0)", "return torch.zeros(700, 1024)",
        "return x if x.sum() > 0 else -x", "return F.normalize(x)", "return x.t().contiguous().view(700, 1024)",
        "return torch.relu(x) + torch.arange(1024)", "return x[:, :1] * x"})
    EXPECT_FALSE(ElementwiseTruth::of(task_of(body), sizes)) << body;
  EXPECT_TRUE(ElementwiseTruth::of(task_of("return x * b"), sizes));
  EXPECT_FALSE(ElementwiseTruth::of(task_of("return x * b", "[rows]"), sizes)) << "it does not broadcast";
}

}  // namespace
}  // namespace kw
