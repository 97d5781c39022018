// Loops that are cut short must count as if they had run to their end.

#include <gtest/gtest.h>

#include "kernel/performance/test_plan.h"

namespace kw {
namespace {

// The same launch with the usual budget, and with one that lets every loop end.
void expect_equal_counts(const std::string& source, std::uint32_t block, int n, double tolerance = 0.03) {
  auto run = [&](std::int64_t budget) {
    TestPlan plan(source);
    plan.launch("kernel", {64, 1, 1}, {block, 1, 1}, plan.input(256 << 20), plan.output(64 << 20), n);
    EstimateOptions options;
    options.warp_instructions = budget;
    return plan.time(options).kernels.at(0);
  };
  const KernelEstimate cut = run(60'000), whole = run(100'000'000);
  EXPECT_TRUE(cut.extrapolated);
  EXPECT_FALSE(whole.extrapolated);
  EXPECT_LT(cut.emulated_warp_instructions, whole.emulated_warp_instructions / 2);
  EXPECT_NEAR(cut.warp_instructions, whole.warp_instructions, tolerance * whole.warp_instructions);
  EXPECT_NEAR(cut.l2_bytes, whole.l2_bytes, tolerance * whole.l2_bytes);
  EXPECT_NEAR(cut.dram_bytes, whole.dram_bytes, tolerance * whole.dram_bytes);
  EXPECT_NEAR(cut.us, whole.us, 2 * tolerance * whole.us);
}

TEST(LoopCutting, OneLoop) {
  expect_equal_counts(R"(__global__ void kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; ++k) s += x[i * n + k];
    y[i] = s; })",
                      64, 10000);
}

TEST(LoopCutting, DownwardAndWide) {
  expect_equal_counts(R"(__global__ void kernel(const float* x, float* y, int n) {
    long long i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (long long k = n; k > 0; k -= 3) s += x[(i + k * 4096) & 0x3ffffff];
    y[i] = s; })",
                      64, 60000);
}

TEST(LoopCutting, TailLoopSeesTheCounterAtItsEnd) {
  expect_equal_counts(R"(__global__ void kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    int k = 0;
    #pragma unroll 1
    for (; k + 4 <= n; k += 4) s += x[i * n + k] * x[i * n + k + 1] + x[i * n + k + 2] * x[i * n + k + 3];
    #pragma unroll 1
    for (; k < n; ++k) s += x[i * n + k];
    y[i] = s; })",
                      64, 16003);
}

TEST(LoopCutting, Nested) {
  expect_equal_counts(R"(__global__ void kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    #pragma unroll 1
    for (int r = 0; r < 200; ++r) {
      #pragma unroll 1
      for (int k = 0; k < n; ++k) s += x[i + k * 64 + r * 64000];
      y[i + r * 4096] = s;
    } })",
                      64, 300);
}

TEST(LoopCutting, DoubleBufferWithASpecialLastRound) {
  expect_equal_counts(R"(__global__ void kernel(const float* x, float* y, int n) {
    __shared__ float t[2][128];
    int i = threadIdx.x, stage = 0;
    float s = 0;
    t[0][i] = x[blockIdx.x * 128 + i];
    __syncthreads();
    for (int k = 0; k < n; k += 16) {
      float next = 0;
      bool more = k + 16 < n;
      if (more) next = x[(k + 16) * 512 + blockIdx.x * 128 + i];
      #pragma unroll
      for (int j = 0; j < 16; ++j) s += t[stage][(i + j) & 127];
      if (more) t[stage ^ 1][i] = next;
      stage ^= 1;
      __syncthreads();
    }
    y[blockIdx.x * 128 + i] = s; })",
                      128, 50000);
}

TEST(LoopCutting, WarpsThatMeetAtBarriers) {
  expect_equal_counts(R"(__global__ void kernel(const float* x, float* y, int n) {
    __shared__ float t[256];
    float s = 0;
    for (int k = 0; k < n; ++k) {
      t[threadIdx.x] = x[k * 1024 + threadIdx.x + blockIdx.x];
      __syncthreads();
      if (threadIdx.x < 32) for (int j = 0; j < 8; ++j) s += t[j * 32 + threadIdx.x];
      __syncthreads();
    }
    y[blockIdx.x * 256 + threadIdx.x] = s; })",
                      256, 5000);
}

}  // namespace
}  // namespace kw
