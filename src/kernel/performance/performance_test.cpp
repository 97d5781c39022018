// Kernels whose behaviour on a GPU is well known.

#include <gtest/gtest.h>

#include "kernel/performance/test_plan.h"

namespace kw {
namespace {

constexpr std::uint64_t mib = 1 << 20;

const std::string copies = R"(
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void wide(const float4* x, float4* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void strided(const float* x, float* y, int n, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[(long long)i * stride % n];
}
)";

TEST(Performance, WideCopyIsBoundByDram) {
  TestPlan plan(copies);
  const std::uint64_t bytes = 256 * mib;
  const int n = static_cast<int>(bytes / 16);
  plan.launch("wide", {static_cast<std::uint32_t>(n / 256), 1, 1}, {256, 1, 1}, plan.input(bytes), plan.output(bytes),
              n);
  const TimeEstimate time = plan.time();
  EXPECT_EQ(time.limiter, "dram bandwidth") << describe(time);
  const double ideal_us = 2.0 * static_cast<double>(bytes) / test_profile().dram_gb_per_s * 1e-3;
  EXPECT_NEAR(time.us, ideal_us, 0.15 * ideal_us) << describe(time);
  EXPECT_NEAR(time.kernels.at(0).dram_bytes, 2.0 * static_cast<double>(bytes), 1e6);
  EXPECT_LT(time.low_us, time.us);
  EXPECT_GT(time.high_us, time.us);
  EXPECT_GT(time.dram_fraction, 0.85);
  EXPECT_LT(time.kernels[0].emulated_warp_instructions, 10'000);
}

// With four bytes a thread blocks come and go too fast to fill the memory's pipeline. On an H200 the suite's relu,
// which moves as much, takes 203 us (and 129 us with four floats a thread).
TEST(Performance, NarrowCopyWaitsForItsBlocks) {
  TestPlan plan(copies);
  const int n = 64 * mib;
  plan.launch("copy", {static_cast<std::uint32_t>(n / 256), 1, 1}, {256, 1, 1}, plan.input(4ull * n),
              plan.output(4ull * n), n);
  const TimeEstimate time = plan.time();
  EXPECT_NEAR(time.us, 203, 0.15 * 203) << describe(time);
  EXPECT_TRUE(time.limiter == "latency" || time.limiter == "block launches") << describe(time);
}

TEST(Performance, StrideCostsSectors) {
  TestPlan near(copies), far(copies);
  const int n = 1 << 26;
  for (TestPlan* plan : {&near, &far})
    plan->launch("strided", {static_cast<std::uint32_t>(n / 256), 1, 1}, {256, 1, 1}, plan->input(4ull * n),
                 plan->output(4ull * n), n, plan == &near ? 1 : 32);
  const TimeEstimate fast = near.time(), slow = far.time();
  EXPECT_NEAR(fast.kernels.at(0).sectors_per_request, 4, 0.01);
  EXPECT_NEAR(slow.kernels.at(0).sectors_per_request, (32 + 4) / 2.0, 0.01);
  EXPECT_GT(slow.kernels[0].l2_bytes, 4 * fast.kernels[0].l2_bytes);
  EXPECT_GT(slow.us, 2 * fast.us) << describe(slow) << describe(fast);
  bool named = false;
  for (const HotLine& line : slow.hot_lines)
    named |= line.reason.find("touches 32 sectors, 4 would do") != std::string::npos;
  EXPECT_TRUE(named) << describe(slow);
}

// What full-size memory holds is made up: a kernel that trusts it may stop, and then takes no time at all.
TEST(Performance, ABlockThatStopsMakesTheTimeRough) {
  const std::string stops = R"(
__global__ void traps(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x[i % n] >= 0.0f) __trap();
  y[i % n] = x[i % n];
}
__global__ void waits(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 32 || x[0] < 0.0f) asm volatile("bar.sync 1, 64;");
  y[i % n] = x[i % n];
}
)";
  const auto time_of = [&](const char* kernel) {
    TestPlan plan(stops);
    plan.launch(kernel, {4096, 1, 1}, {64, 1, 1}, plan.input(4 * mib), plan.output(4 * mib), 1 << 20);
    return plan.time();
  };
  const TimeEstimate waits = time_of("waits");
  ASSERT_EQ(waits.notes.size(), 1u);
  EXPECT_NE(waits.notes[0].find("too low"), std::string::npos) << waits.notes[0];
  EXPECT_GT(waits.high_us, 2 * waits.us);
  EXPECT_NE(time_of("traps").unknown.find("trapped"), std::string::npos) << "a trap may end what is only timed";
}

TEST(Performance, TinyKernelIsBoundByItsLaunch) {
  TestPlan plan(copies);
  plan.launch("copy", {4, 1, 1}, {256, 1, 1}, plan.input(4096), plan.output(4096), 1024);
  const TimeEstimate time = plan.time();
  EXPECT_EQ(time.limiter, "launch overhead") << describe(time);
  EXPECT_LT(time.us, 2 * test_profile().launch_us);
}

TEST(Performance, StepsAddUp) {
  TestPlan one(copies), three(copies);
  one.launch("copy", {4, 1, 1}, {256, 1, 1}, one.input(4096), one.output(4096), 1024);
  const std::uint64_t x = three.input(4096), y = three.output(4096);
  for (int i = 0; i < 3; ++i) three.launch("copy", {4, 1, 1}, {256, 1, 1}, x, y, 1024);
  three.plan.steps.emplace_back(ProfiledTransfer{ProfiledTransfer::Kind::set, 430 * mib});
  const TimeEstimate time = three.time();
  const double set_us = 430.0 * mib / test_profile().dram_gb_per_s * 1e-3;
  EXPECT_GT(time.us, one.time().us + 2 * test_profile().next_launch_us + set_us);
  EXPECT_EQ(time.limiter, "transfers") << describe(time);
  ASSERT_EQ(time.kernels.size(), 1u);
  EXPECT_EQ(time.kernels[0].launches, 3);
}

TEST(Performance, DataOfTheStepBeforeIsInTheL2) {
  TestPlan plan(copies);
  const int n = 1 << 21;  // 8 MiB
  const std::uint64_t x = plan.input(4ull * n), y = plan.output(4ull * n), z = plan.output(4ull * n);
  plan.launch("copy", {static_cast<std::uint32_t>(n / 256), 1, 1}, {256, 1, 1}, x, y, n);
  plan.launch("copy", {static_cast<std::uint32_t>(n / 256), 1, 1}, {256, 1, 1}, y, z, n);
  const TimeEstimate time = plan.time();
  ASSERT_EQ(time.kernels.size(), 2u);
  EXPECT_NEAR(time.kernels[0].dram_bytes, 8.0 * n, 1e4);
  EXPECT_NEAR(time.kernels[1].dram_bytes, 4.0 * n, 1e4);
}

TEST(Performance, TiledTransposeIsFaster) {
  const std::string source = R"(
__global__ void naive(const float* x, float* y, int n) {
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  y[(long long)c * n + r] = x[(long long)r * n + c];
}
template <int pad> __device__ void tiled(const float* x, float* y, int n) {
  __shared__ float tile[32][32 + pad];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = x[(long long)(r + i) * n + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x; r = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) y[(long long)(r + i) * n + c] = tile[threadIdx.x][threadIdx.y + i];
}
__global__ void conflicts(const float* x, float* y, int n) { tiled<0>(x, y, n); }
__global__ void padded(const float* x, float* y, int n) { tiled<1>(x, y, n); }
)";
  const int n = 8192;
  auto time_of = [&](const std::string& kernel) {
    TestPlan plan(source);
    const std::uint32_t rows = kernel == "naive" ? 8 : 32;
    plan.launch(kernel, {n / 32, n / rows, 1}, {32, 8, 1}, plan.input(4ull * n * n), plan.output(4ull * n * n), n);
    return plan.time();
  };
  const TimeEstimate naive = time_of("naive"), conflicts = time_of("conflicts"), padded = time_of("padded");
  EXPECT_GT(naive.us, 1.15 * padded.us) << describe(naive);
  EXPECT_GT(conflicts.us, padded.us) << describe(conflicts);
  EXPECT_NEAR(conflicts.kernels.at(0).shared_conflict_degree, (32 + 1) / 2.0, 0.1);
  EXPECT_NEAR(padded.kernels.at(0).shared_conflict_degree, 1, 0.01);
  // Waiting for loads takes about as long as DRAM does.
  EXPECT_TRUE(padded.limiter == "dram bandwidth" || padded.limiter == "latency") << describe(padded);
  EXPECT_GT(padded.dram_fraction, 0.6);
}

TEST(Performance, TiledMatmulIsFaster) {
  const std::string source = R"(
__global__ void naive(const float* a, const float* b, float* c, int n) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
  c[y * n + x] = sum;
}
__global__ void tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][64], bs[16][64];
  int t = threadIdx.x, tx = t % 16, ty = t / 16;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < n; k0 += 16) {
    for (int i = t; i < 1024; i += 256) {
      as[i % 16][i / 16] = a[(blockIdx.y * 64 + i / 16) * n + k0 + i % 16];
      bs[i / 64][i % 64] = b[(k0 + i / 64) * n + blockIdx.x * 64 + i % 64];
    }
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] += as[k][ty * 4 + i] * bs[k][tx * 4 + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) c[(blockIdx.y * 64 + ty * 4 + i) * n + blockIdx.x * 64 + tx * 4 + j] = sum[i][j];
}
)";
  const int n = 2048;
  auto time_of = [&](const std::string& kernel, std::uint32_t tile, std::array<std::uint32_t, 3> block) {
    TestPlan plan(source);
    const std::uint64_t bytes = 4ull * n * n;
    const std::uint64_t a = plan.input(bytes), b = plan.input(bytes), c = plan.output(bytes);
    plan.launch(kernel, {n / tile, n / tile, 1}, block, a, b, c, n);
    return plan.time();
  };
  const TimeEstimate naive = time_of("naive", 16, {16, 16, 1}), tiled = time_of("tiled", 64, {256, 1, 1});
  EXPECT_GT(naive.us, 2 * tiled.us) << describe(naive) << describe(tiled);
  EXPECT_TRUE(naive.kernels.at(0).extrapolated);
  // Both fetch each matrix about once: all of it fits into the L2.
  EXPECT_NEAR(naive.kernels[0].dram_bytes, 12.0 * n * n, 0.05 * 12.0 * n * n);
  EXPECT_NEAR(tiled.kernels[0].dram_bytes, 12.0 * n * n, 0.05 * 12.0 * n * n);
}

TEST(Performance, ArithmeticIsBoundByItsPipe) {
  TestPlan plan(R"(
__global__ void polynomial(const float* x, float* y, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = x[i], b = a + 1, c = a + 2, d = a + 3;
  #pragma unroll 8
  for (int k = 0; k < rounds; ++k) {
    a = a * b + c; b = b * c + d; c = c * d + a; d = d * a + b;
  }
  y[i] = a + b + c + d;
}
)");
  const int n = 1 << 20, rounds = 4096;
  plan.launch("polynomial", {n / 256, 1, 1}, {256, 1, 1}, plan.input(4 * n), plan.output(4 * n), rounds);
  const TimeEstimate time = plan.time();
  EXPECT_TRUE(time.limiter == "fp32 pipe" || time.limiter == "issue") << describe(time);
  const double flops = 2.0 * 4 * rounds * n;
  const double peak = 2.0 * 128 * test_profile().multiprocessors * test_profile().clock_ghz * 1e3;  // per us
  EXPECT_GT(time.us, flops / peak);
  EXPECT_LT(time.us, 1.5 * flops / peak) << describe(time);
}

TEST(Performance, ThreadPerRowLosesToWarpPerRow) {
  const std::string source = R"(
__global__ void threads(const float* x, float* y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int c = 0; c < columns; ++c) sum += x[(long long)r * columns + c];
  y[r] = sum;
}
__global__ void warps(const float* x, float* y, int rows, int columns) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float sum = 0;
  for (int c = lane; c < columns; c += 32) sum += x[(long long)r * columns + c];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (lane == 0) y[r] = sum;
}
)";
  const int rows = 16384, columns = 8192;
  auto time_of = [&](const std::string& kernel, std::uint32_t blocks) {
    TestPlan plan(source);
    plan.launch(kernel, {blocks, 1, 1}, {256, 1, 1}, plan.input(4ull * rows * columns), plan.output(4ull * rows), rows,
                columns);
    return plan.time();
  };
  const TimeEstimate threads = time_of("threads", rows / 256), warps = time_of("warps", rows / 8);
  EXPECT_GT(threads.us, 3 * warps.us) << describe(threads) << describe(warps);
  EXPECT_EQ(warps.limiter, "dram bandwidth") << describe(warps);
  EXPECT_NEAR(threads.kernels.at(0).dram_bytes, 4.0 * rows * columns, 0.03 * 4.0 * rows * columns);
}

TEST(Performance, UpdatesOfOneAddressTakeTurns) {
  TestPlan plan(R"(
__global__ void count(const float* x, int* n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x[i] >= 0) atomicAdd(n + (i & 1), i);
}
)");
  const int n = 1 << 22;
  plan.launch("count", {n / 256, 1, 1}, {256, 1, 1}, plan.input(4ull * n), plan.output(64));
  const TimeEstimate time = plan.time();
  EXPECT_EQ(time.limiter, "atomics") << describe(time);
  EXPECT_GT(time.us, n / 2 * test_profile().atomic_same_address_ns * 1e-3);
}

// 256 bins lie in 8 lines, 65536 of them in 2048: few slices of the L2 do all the work, or all of them.
TEST(Performance, UpdatesOfFewLinesTakeTurns) {
  auto time_of = [](int bins) {
    TestPlan plan(R"(
__global__ void count(const float* x, int* n, int bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x[i] >= 0) atomicAdd(n + (i * 2654435761u) % bins, 1);
}
)");
    const int n = 1 << 22;
    plan.launch("count", {n / 256, 1, 1}, {256, 1, 1}, plan.input(4ull * n), plan.output(4 * 65536), bins);
    return plan.time();
  };
  const TimeEstimate few = time_of(256), many = time_of(65536);
  EXPECT_EQ(few.limiter, "atomics") << describe(few);
  EXPECT_GT(few.us, 5 * many.us) << describe(few) << describe(many);
}

// ptxas unrolls a counted loop four times more, so that four times as many loads are on their way.
TEST(Performance, UnrolledLoopsWaitLess) {
  auto time_of = [](const std::string& pragma) {
    TestPlan plan(
        "__global__ void columns(const float* x, float* y, int rows, int columns) {\n"
        "  int c = blockIdx.x * blockDim.x + threadIdx.x;\n  float sum = 0;\n" +
        pragma + "\n  for (int r = 0; r < rows; ++r) sum += x[(long long)r * columns + c];\n  y[c] = sum;\n}\n");
    plan.launch("columns", {64, 1, 1}, {64, 1, 1}, plan.input(64 * mib), plan.output(16384), 4096, 4096);
    return plan.time().us;
  };
  const double plain = time_of(""), rolled = time_of("#pragma unroll 1");
  EXPECT_GT(rolled, 6 * plain);
  EXPECT_LT(rolled, 17 * plain);
}

// Lanes that read rows of a power of two read one bank of the L1; rows of an odd length spread over all of them.
TEST(Performance, RowsOfOddLengthHaveNoBankConflicts) {
  auto time_of = [](int columns) {
    TestPlan plan(R"(
__global__ void rows(const float* x, float* y, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int c = 0; c < columns; ++c) sum += x[(long long)r * columns + c];
  y[r] = sum;
}
)");
    plan.launch("rows", {512, 1, 1}, {64, 1, 1}, plan.input(256 * mib), plan.output(4 * 32768), columns);
    return plan.time().us;
  };
  EXPECT_GT(time_of(1024), 1.2 * time_of(1023));
}

TEST(Performance, WaitingForAnotherBlockIsLeftAndSaid) {
  TestPlan plan(R"(
__global__ void spin(float* y, volatile int* flag) {
  while (*flag == 0) {}
  y[threadIdx.x] = 1;
}
)");
  plan.launch("spin", {2, 1, 1}, {32, 1, 1}, plan.output(4096), plan.output(64));
  const TimeEstimate time = plan.time();
  ASSERT_EQ(time.notes.size(), 1u) << describe(time);
  EXPECT_GT(time.high_us / time.low_us, 3);
}

TEST(Performance, SameSeedSameEstimate) {
  auto once = [] {
    TestPlan plan(copies);
    plan.launch("strided", {1 << 16, 1, 1}, {256, 1, 1}, plan.input(64 * mib), plan.output(64 * mib), 1 << 24, 3);
    return describe(plan.time());
  };
  EXPECT_EQ(once(), once());
}

TEST(Performance, SmallerCandidatesStandIn) {
  int prepared = 0;
  std::vector<std::unique_ptr<TestPlan>> plans;
  auto candidate = [&](int n) {
    return PlanCandidate{"n=" + std::to_string(n), static_cast<double>(n), [&, n]() -> Result<PreparedPlan> {
                           ++prepared;
                           plans.push_back(std::make_unique<TestPlan>(copies));
                           TestPlan& plan = *plans.back();
                           plan.launch("copy", {static_cast<std::uint32_t>(n / 256), 1, 1}, {256, 1, 1},
                                       plan.input(4ull * n), plan.output(4ull * n), n);
                           return std::move(plan.plan);
                         }};
  };
  const auto time = estimate(test_profile(), {candidate(1 << 24), candidate(1 << 20)});
  ASSERT_TRUE(time.ok());
  EXPECT_EQ(prepared, 1);  // the largest was affordable
  EXPECT_FALSE(estimate(test_profile(), {}).ok());
}

}  // namespace
}  // namespace kw
