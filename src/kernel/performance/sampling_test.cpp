// Kernels that try to look cheaper than they are to whoever runs only some of their blocks and iterations.

#include <gtest/gtest.h>

#include "kernel/performance/known_work.h"
#include "kernel/performance/test_plan.h"

namespace kw {
namespace {

constexpr std::uint64_t mib = 1 << 20;

TEST(Sampling, LateIterationsThatAreHeavyAreSeen) {
  auto time_of = [](int light) {
    TestPlan plan(R"(
__global__ void kernel(const float* x, float* y, int n, int light) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  #pragma unroll 1
  for (int k = 0; k < n; ++k) {
    if (k >= light)
      for (int j = 0; j < 16; ++j) s += x[(k * 16 + j) * 4096 + i] * s;
    s += k;
  }
  y[i] = s;
}
)");
    plan.launch("kernel", {64, 1, 1}, {64, 1, 1}, plan.input(512 * mib), plan.output(64 * mib), 2000, light);
    return plan.time();
  };
  const TimeEstimate honest = time_of(0), late = time_of(1000);
  EXPECT_GT(late.us, 0.3 * honest.us) << describe(late) << describe(honest);
  EXPECT_LT(late.us, 0.8 * honest.us) << describe(late) << describe(honest);
  EXPECT_GT(late.slow_us, late.us);
  EXPECT_FALSE(late.notes.empty());
}

// Only every second iteration loads: the same in all parts of the loop, so nothing is wrong.
TEST(Sampling, AlternatingIterationsAreNotUneven) {
  TestPlan plan(R"(
__global__ void kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  #pragma unroll 1
  for (int k = 0; k < n; ++k) {
    if (k & 1) s += x[k * 4096 + i];
    s += k;
  }
  y[i] = s;
}
)");
  plan.launch("kernel", {64, 1, 1}, {64, 1, 1}, plan.input(512 * mib), plan.output(64 * mib), 20000);
  EXPECT_TRUE(plan.time().notes.empty());
}

TEST(Sampling, GroupsOfBlocksThatShareAreNotTheWholeGrid) {
  auto bytes_of = [](int together) {
    TestPlan plan(R"(
__global__ void kernel(const float* x, float* y, int together) {
  int i = blockIdx.x / together * blockDim.x + threadIdx.x;
  y[blockIdx.x * blockDim.x + threadIdx.x] = x[i];
}
)");
    plan.launch("kernel", {65536, 1, 1}, {256, 1, 1}, plan.input(256 * mib), plan.output(256 * mib), together);
    return plan.time().input_bytes;
  };
  EXPECT_NEAR(bytes_of(1), 64.0 * mib, 0.05 * 64 * mib);
  const double eight = bytes_of(8);  // 8 MiB are read
  EXPECT_GT(eight, 3.0 * mib);
  EXPECT_LT(eight, 40.0 * mib);
  EXPECT_LT(bytes_of(65536), 0.1 * mib);
}

const std::string one_block_works = R"(
__global__ void kernel(const float* x, float* y, int n, int worker) {
  if (blockIdx.x != worker) return;
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * 2;
}
)";

TEST(Sampling, AKnownHeavyBlockIsALowerBound) {
  TestPlan hidden(one_block_works), known(one_block_works);
  const int n = 1 << 22;
  for (TestPlan* plan : {&hidden, &known})
    plan->launch("kernel", {4096, 1, 1}, {256, 1, 1}, plan->input(4ull * n), plan->output(4ull * n), n, 777);
  // 8 warps, 16384 iterations of a few instructions.
  known.plan.executed = {{{777, 8 * 16384 * 8, 1.0}}};
  const TimeEstimate fast = hidden.time(), slow = known.time();
  EXPECT_GT(slow.us, 100 * fast.us) << describe(fast) << describe(slow);
  EXPECT_GT(slow.kernels.at(0).warp_instructions, 8.0 * 16384 * 8);
  EXPECT_LT(slow.kernels.at(0).warp_instructions, 1.5 * 8 * 16384 * 8);
}

TEST(Sampling, ExtrapolationIsHeldAgainstTheTrueCount) {
  auto time_of = [](std::uint64_t truth) {
    TestPlan plan(R"(
__global__ void kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  #pragma unroll 1
  for (int k = 0; k < n; ++k) s += x[k * 4096 + i];
  y[i] = s;
}
)");
    plan.launch("kernel", {64, 1, 1}, {64, 1, 1}, plan.input(512 * mib), plan.output(64 * mib), 20000);
    if (truth != 0) plan.plan.executed = {{{5, truth, 1.0 / 64}}};
    return plan.time();
  };
  const TimeEstimate plain = time_of(0);
  const double block = plain.kernels.at(0).warp_instructions / 64;
  EXPECT_NEAR(time_of(static_cast<std::uint64_t>(block)).us, plain.us, 0.01 * plain.us);
  const TimeEstimate more = time_of(static_cast<std::uint64_t>(3 * block));
  EXPECT_GT(more.us, 2 * plain.us);
  EXPECT_GT(more.slow_us, 1.2 * more.us);
}

TEST(Sampling, EqualLaunchesThatDidDifferentWorkAreTimedApart) {
  TestPlan plan(one_block_works);
  const int n = 1 << 16;
  const std::uint64_t x = plan.input(4ull * n), y = plan.output(4ull * n);
  for (int i = 0; i < 3; ++i) plan.launch("kernel", {64, 1, 1}, {256, 1, 1}, x, y, n, 3);
  std::vector<std::size_t> reached;
  plan.plan.reach = [&](std::size_t step) -> Result<void> {
    reached.push_back(step);
    return {};
  };
  plan.plan.executed = {{{3, 17000, 1.0}}, {{3, 17000, 1.0}}, {{3, 170000, 1.0}}};
  const TimeEstimate time = plan.time();
  EXPECT_EQ(reached, (std::vector<std::size_t>{0, 2}));
  ASSERT_EQ(time.kernels.size(), 2u);
  EXPECT_EQ(time.kernels[0].launches, 2);
  EXPECT_GT(time.kernels[1].us, 2 * time.kernels[0].us / 2);
}

TEST(Sampling, OtherSeedsGiveAboutTheSameTime) {
  auto time_of = [](std::uint64_t seed) {
    TestPlan plan(R"(
__global__ void kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
)");
    const int n = (1 << 24) + 5;
    plan.launch("kernel", {static_cast<std::uint32_t>(n / 256 + 1), 1, 1}, {256, 1, 1}, plan.input(4ull * n),
                plan.output(4ull * n), n);
    EstimateOptions options;
    options.seed = seed;
    return plan.time(options);
  };
  const TimeEstimate one = time_of(1), other = time_of(123456789);
  EXPECT_NEAR(one.us, other.us, 1e-3 * one.us);
  EXPECT_NEAR(one.slow_us, one.us, 1e-3 * one.us);  // the last block is nearly empty, and stands for itself alone
}

TEST(KnownWork, ShareOfTheOutputsTellsTheWholeWork) {
  std::vector<ExecutedBlock> executed;
  for (std::uint64_t i = 0; i < 8; ++i) executed.push_back({i * 10, 1000, 0.01});  // 100 such blocks make the outputs
  EXPECT_EQ(more_work(executed, 100'000), 1);
  EXPECT_NEAR(more_work(executed, 20'000), 5, 1e-9);
  EXPECT_EQ(more_work({}, 5), 1);
  EXPECT_EQ(more_work({{0, 1000, 0}}, 2000), 1);
  EXPECT_NEAR(more_work({{0, 1000, 0}, {1, 5000, 0}}, 2000), 3, 1e-9);  // they alone did more
  EXPECT_NEAR(more_work({{0, 9000, 0.9}}, 1000), 10, 1e-9);
}

TEST(KnownWork, NoiseIsNotMoreWork) {
  // A single block that happens to be heavy for its share.
  EXPECT_EQ(more_work({{0, 100, 0.01}, {1, 100, 0.01}, {2, 100, 0.01}, {3, 300, 0.01}}, 10'000), 1);
}

TEST(KnownWork, EvenGrowthIsNoNoise) {
  std::vector<std::pair<double, double>> triangle, scattered;
  for (int i = 0; i < 6; ++i) {
    triangle.emplace_back(i, 100 * i);
    scattered.emplace_back(i, i % 2 == 0 ? 0 : 500);
  }
  EXPECT_LT(error_of_mean(triangle), 0.15);
  EXPECT_GT(error_of_mean(scattered), 0.4);
  EXPECT_EQ(error_of_mean({{0, 5}}), 0);
}

}  // namespace
}  // namespace kw
