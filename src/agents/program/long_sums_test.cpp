// Does a sum keep its digits where they are all that is left? Judged, because only numbers show it.

#include <gtest/gtest.h>

#include <algorithm>

#include "agents/program/read_program.h"
#include "agents/program/write_program.h"
#include "kernel/judge/judge.h"
#include "kernel/task/task_file.h"

namespace kw::program {
namespace {

// A product is 0.000,002 off where 3,000 numbers of one sign are added one by one, and a tenth of it in parts.
constexpr std::string_view sums_of_products = R"(
name: sums_of_products
family: f
pytorch: |
  def reference(x, w):
      return x @ w
inputs:
  x: {dtype: float32, shape: [rows, n], values: {uniform: [1, 2]}}
  w: {dtype: float32, shape: [n, cols], values: {uniform: [1, 2]}}
outputs:
  y: {dtype: float32, shape: [rows, cols]}
tolerance: {relative: 0.0000015, absolute: 0}
sizes:
  small: [{rows: 3, n: 40, cols: 4}]
  train: [{rows: 128, n: 3000, cols: 256}]
)";

// Unusual inputs at full size have one value in a whole range: then all channels are equal, and their norm divides the
// rounding error of their mean by the root of 0.00001.
constexpr std::string_view grouped_minimum = R"(
name: grouped_minimum
family: f
pytorch: |
  def reference(x, weight, offset):
      h = F.group_norm(F.linear(x, weight), 64)
      return torch.min(h, dim=1, keepdim=True)[0] + offset
inputs:
  x: {dtype: float32, shape: [rows, n], values: {uniform: [0.3, 1.7]}}
  weight: {dtype: float32, shape: [channels, n], values: {uniform: [-70.3, 70.3]}}
  offset: {dtype: float32, shape: [1, channels, 1, 1]}
outputs:
  y: {dtype: float32, shape: [1, channels, rows, 1]}
sizes:
  small: [{rows: 3, n: 5, channels: 64}]
  train: [{rows: 512, n: 96, channels: 1024}]
)";

Verdict judged(std::string_view text, const std::string& secret) {
  CompileService service;
  JudgeOptions options;
  options.limits.seconds = 3600;
  options.profile = load_profile("h200").value();
  options.secret = secret;
  options.cache = false;
  options.want_time = false;
  options.unusual_share = 1;
  Judge judge(service, options);
  const Task task = parse_task(text, "test.yaml").value();
  return judge.judge(task, write_program(task, read_program(task).value()).value(), "library.cu");
}

TEST(LongSums, OfProductsAreNotAddedOneByOne) {
  for (const char* secret : {"a", "b"}) {
    const Verdict verdict = judged(sums_of_products, secret);
    EXPECT_EQ(verdict.status, VerdictStatus::correct) << verdict.summary;
  }
}

TEST(LongSums, LeaveNothingToANormOfEqualNumbers) {
  for (const char* secret : {"a", "b"}) {  // with these a mean of floats is not the numbers that it is of
    const Verdict verdict = judged(grouped_minimum, secret);
    EXPECT_EQ(verdict.status, VerdictStatus::correct) << verdict.summary;
    EXPECT_TRUE(std::any_of(verdict.audit.begin(), verdict.audit.end(),
                            [](const FullSizeAudit& audit) { return audit.inputs == "strong"; }));
  }
}

}  // namespace
}  // namespace kw::program
