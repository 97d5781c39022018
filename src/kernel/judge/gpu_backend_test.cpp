// Everything of the GPU backend but the hardware: workers, protocol, deadlines and the judgement run over a driver that
// executes PTX in the emulator.

#include "kernel/judge/gpu_backend.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "kernel/judge/gpu_times.h"
#include "kernel/judge/judge_test_support.h"
#include "kernel/judge/large_inputs.h"

namespace kw {
namespace {

// Train sizes that an emulated GPU can time.
Task small_task() {
  return parse_task(R"(
name: double_it
tier: 0
family: elementwise
summary: twice x
pytorch: |
  def reference(x):
      return x * 2
inputs:
  x: {dtype: float32, shape: [n]}
outputs:
  y: {dtype: float32, shape: [n]}
sizes:
  small:   [{n: 7}, {n: 1000}]
  train:   [{n: 4096}]
  holdout: [{n: 5000}]
naive: |
  __global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i];
  }
  extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
    twice<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
  }
)",
                    "double_it.yaml")
      .value();
}

std::string kernel_with(const std::string& body) {
  return "__device__ int calls;\n"
         "__global__ void twice(const float* x, float* y, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         body +
         "}\n"
         "extern \"C\" void launch(const float* x, float* y, int n, cudaStream_t stream) {\n"
         "  twice<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);\n"
         "}\n";
}

// The emulated device shares its cores with everything else that is going on.
std::unique_ptr<GpuBackend> started_backend(int workers, int patience, GpuBackendOptions options = {}) {
  options.pool.workers = workers;
  options.patience = patience;
  auto started = GpuBackend::start(test_service(), options);
  EXPECT_TRUE(started.ok()) << to_string(started.error());
  return std::move(started).value();
}

class GpuBackendTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("KERNELWRIGHT_LIBCUDA", KW_EMULATED_DRIVER, 1);
    backend = started_backend(1, 300).release();
  }
  static void TearDownTestSuite() {
    delete backend;
    backend = nullptr;
  }

  // Without the emulator's look, so that the worker sees everything.
  Verdict judge(const std::string& text, bool emulator_first = false, GpuBackend* on = backend) {
    JudgeOptions options;
    options.profile = load_profile("h200").value();
    options.secret = "a secret for tests";
    options.cache = false;
    options.gpu = on;
    options.emulator_first = emulator_first;
    Judge made(test_service(), options);
    return made.judge(small_task(), text, "k.cu");
  }

  static GpuBackend* backend;
};
GpuBackend* GpuBackendTest::backend = nullptr;

TEST_F(GpuBackendTest, WhatIsTooLargeToWaitInMemoryIsLaidOutInItsTurn) {
  GpuBackendOptions options;
  options.laid_out_ahead_bytes = 0;
  const auto late = started_backend(1, 300, options);
  const Verdict verdict = judge(kernel_with("  if (i < n) y[i] = 2.0f * x[i];\n"), false, late.get());
  ASSERT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
  EXPECT_TRUE(verdict.time_us && verdict.speedup_naive);
  EXPECT_GE(verdict.times.at(0).rounds, 6);
}

TEST_F(GpuBackendTest, MeasuresACorrectKernelAgainstTheNaiveOne) {
  const Verdict verdict = judge(kernel_with("  if (i < n) y[i] = 2.0f * x[i];\n"));
  ASSERT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
  EXPECT_EQ(verdict.backend, "gpu");
  EXPECT_EQ(verdict.time_source, "measured");
  ASSERT_TRUE(verdict.time_us && verdict.speedup_naive && verdict.speedup_interval && verdict.measured_on);
  EXPECT_EQ(verdict.measured_on->device, "Kernelwright emulated GPU");
  EXPECT_LT(verdict.speedup_interval->low, *verdict.speedup_naive);
  EXPECT_GT(verdict.speedup_interval->high, *verdict.speedup_naive);
  // The same work, but for the size of a block.
  EXPECT_NEAR(*verdict.speedup_naive, 1, 0.1);
  EXPECT_GE(verdict.times.at(0).rounds, 6);
  const auto again = verdict_from_json(to_json(verdict));
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(to_json(*again), to_json(verdict));
}

TEST_F(GpuBackendTest, TheNaiveKernelIsNotFasterThanItself) {
  const Verdict verdict = judge(small_task().naive, true);
  ASSERT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
  EXPECT_FALSE(verdict.faster_than_naive);
}

TEST_F(GpuBackendTest, WrongValuesAreWrong) {
  const Verdict verdict = judge(kernel_with("  if (i < n) y[i] = 2.0f * x[i] + (i == 900);\n"));
  EXPECT_EQ(verdict.status, VerdictStatus::wrong) << describe(verdict);
}

TEST_F(GpuBackendTest, WhatIsWrongOnlyAtFullSizeIsFound) {
  const Verdict verdict = judge(kernel_with("  if (i < n) y[i] = n > 4000 && i % 3 == 1 ? 0.0f : 2.0f * x[i];\n"));
  EXPECT_EQ(verdict.status, VerdictStatus::wrong) << describe(verdict);
  EXPECT_NE(verdict.summary.find("n=4096"), std::string::npos) << verdict.summary;
}

TEST_F(GpuBackendTest, UnwrittenOutputsAreNamed) {
  const Verdict verdict = judge(kernel_with("  if (i < n - 1) y[i] = 2.0f * x[i];\n"));
  EXPECT_EQ(verdict.status, VerdictStatus::wrong);
  EXPECT_EQ(verdict.findings.at(0).kind, "unwritten_output") << describe(verdict);
}

TEST_F(GpuBackendTest, OverrunsAreFoundInTheRedZone) {
  const Verdict verdict = judge(kernel_with("  if (i < n + 3) y[i] = 2.0f * x[i < n ? i : 0];\n"));
  EXPECT_EQ(verdict.status, VerdictStatus::fault);
  EXPECT_EQ(verdict.findings.at(0).kind, "out_of_bounds") << describe(verdict);
}

TEST_F(GpuBackendTest, OverwrittenInputsAreFound) {
  const Verdict verdict = judge(kernel_with("  if (i < n) { y[i] = 2.0f * x[i]; const_cast<float*>(x)[i] = 0; }\n"));
  EXPECT_EQ(verdict.status, VerdictStatus::fault);
  EXPECT_EQ(verdict.findings.at(0).kind, "input_overwritten") << describe(verdict);
}

TEST_F(GpuBackendTest, WildAddressesCostTheWorkerAndNothingElse) {
  const std::uint64_t lost = backend->counts().lost;
  const Verdict verdict = judge(kernel_with("  if (i < n) y[i + 3000000000ll] = x[i];\n"));
  EXPECT_EQ(verdict.status, VerdictStatus::fault) << describe(verdict);
  EXPECT_GT(backend->counts().lost, lost);
  EXPECT_EQ(judge(kernel_with("  if (i < n) y[i] = 2.0f * x[i];\n")).status, VerdictStatus::correct);
}

TEST_F(GpuBackendTest, EndlessKernelsAreStoppedSlow) {
  const auto impatient = started_backend(1, 1);
  const Verdict verdict = judge(kernel_with("  while (n > 0 && *(volatile const float*)x > -100.0f) {}\n  y[0] = 1;\n"),
                                false, impatient.get());
  EXPECT_EQ(verdict.status, VerdictStatus::timeout) << describe(verdict);
  EXPECT_GE(impatient->counts().lost, 2u);
}

// Its frames are overwritten between the runs, by a kernel that is made for their size.
TEST_F(GpuBackendTest, KernelsWithLocalMemoryAreMeasured) {
  const Verdict verdict =
      judge(kernel_with("  float table[20];\n"
                        "  volatile float* kept = n < 0 ? y : table;\n"
                        "  for (int k = 0; k < 20; ++k) kept[k] = k < n ? 2.0f * x[i < n ? i : 0] : 0.0f;\n"
                        "  if (i < n) y[i] = kept[n % 7];\n"));
  EXPECT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
  ASSERT_FALSE(verdict.resources.empty());
  EXPECT_TRUE(verdict.time_us.has_value());
  EXPECT_FALSE(verdict.measured_on->worker.empty());
}

TEST_F(GpuBackendTest, ResultsThatDependOnEarlierLaunchesAreRejected) {
  const Verdict verdict =
      judge(kernel_with("  int before = calls;\n  if (i == 0) atomicAdd(&calls, 1);\n"
                        "  if (i < n && before < 40) y[i] = 2.0f * x[i];\n"));
  EXPECT_EQ(verdict.status, VerdictStatus::rejected) << describe(verdict);
  EXPECT_EQ(verdict.findings.at(0).kind, "keeps_state");
}

TEST_F(GpuBackendTest, StateThatOnlyLargeSizesKeepIsFoundToo) {
  const Verdict verdict =
      judge(kernel_with("  int before = calls;\n  if (i == 0 && n > 4000) calls = before + 1;\n"
                        "  if (i < n && (n < 4000 || before < 3)) y[i] = 2.0f * x[i];\n"));
  EXPECT_EQ(verdict.status, VerdictStatus::rejected) << describe(verdict);
}

TEST_F(GpuBackendTest, VariablesThatAreWrittenBeforeTheyAreReadMayStayChanged) {
  const Verdict verdict =
      judge(kernel_with("  if (threadIdx.x == 0 && blockIdx.x == 0) calls = n;\n"
                        "  if (i < n) y[i] = 2.0f * x[i];\n"));
  EXPECT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
  EXPECT_NE(std::find(verdict.flags.begin(), verdict.flags.end(), "leaves_state"), verdict.flags.end());
}

// Right whatever it finds in its variable, but slow only where it finds it as new: noise would be a memory of one bit.
std::string slow_when(const std::string& condition) {
  return "__device__ unsigned long long done;\n"
         "__global__ void twice(const float* x, float* y, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  float sum = 0;\n"
         "  if (" +
         condition +
         ") for (int k = 0; k < 200; ++k) sum += x[(i + k) % n];\n"
         "  if (i < n) y[i] = 2.0f * x[i] + 0.0f * sum;\n"
         "}\n"
         "__global__ void mark() { done = 1; }\n"
         "extern \"C\" void launch(const float* x, float* y, int n, cudaStream_t stream) {\n"
         "  twice<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);\n"
         "  mark<<<1, 1, 0, stream>>>();\n"
         "}\n";
}

TEST_F(GpuBackendTest, TimedRunsFindVariablesAsNew) {
  const Verdict cheating = judge(slow_when("done == 0"));
  const Verdict honest = judge(slow_when("done <= n + 5000000000ull || true"));
  ASSERT_EQ(cheating.status, VerdictStatus::correct) << describe(cheating);
  ASSERT_EQ(honest.status, VerdictStatus::correct) << describe(honest);
  EXPECT_NEAR(*cheating.time_us / *honest.time_us, 1, 0.2);
}

TEST_F(GpuBackendTest, ManyThreadsShareFewWorkersAndNobodyIsBlamedForAnotherSlow) {
  const auto shared = started_backend(2, 15);
  JudgeOptions judge_options;
  judge_options.profile = load_profile("h200").value();
  judge_options.secret = "another secret";
  judge_options.cache = false;
  judge_options.gpu = shared.get();
  judge_options.emulator_first = false;
  Judge judge(test_service(), judge_options);
  const std::vector<std::pair<std::string, VerdictStatus>> bodies = {
      {"  if (i < n) y[i] = 2.0f * x[i];\n", VerdictStatus::correct},
      {"  if (i < n) y[i + 3000000000ll] = x[i];\n", VerdictStatus::fault},
      {"  if (i < n) y[i] = x[i] + x[i];\n", VerdictStatus::correct},
      {"  if (i < n + 3) y[i] = 2.0f * x[i < n ? i : 0];\n", VerdictStatus::fault},
      {"  if (i < n) y[i] = x[i] * 1.99f;\n", VerdictStatus::wrong}};
  std::vector<VerdictStatus> found(15);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      for (std::size_t i = thread; i < found.size(); i += 3)
        found[i] = judge.judge(small_task(), kernel_with(bodies[i % bodies.size()].first), "k.cu").status;
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], bodies[i % bodies.size()].second) << i;
}

TEST(GpuTimes, ASpeedupIsClaimedOnlyWhenItsIntervalExcludesOne) {
  TimeReply reply;
  for (int i = 0; i < 12; ++i) {
    reply.candidate_us.push_back(10 + 0.01 * (i % 3));
    reply.baseline_us.push_back(10.1 + 0.01 * (i % 4));
  }
  Verdict verdict;
  verdict.times.push_back(sized_time({{"n", 8}}, reply));
  summarise_times(verdict);
  EXPECT_NEAR(*verdict.speedup_naive, 1.01, 0.005);
  EXPECT_FALSE(verdict.faster_than_naive);
  for (double& us : reply.baseline_us) us *= 1.1;
  verdict.times = {sized_time({{"n", 8}}, reply)};
  summarise_times(verdict);
  EXPECT_TRUE(verdict.faster_than_naive);
}

TEST(GpuTimes, OtherBaselinesAndTheLimitAreMeansOverSizes) {
  TimeReply reply;
  reply.candidate_us.assign(12, 10.0);
  Verdict verdict;
  for (const double factor : {2.0, 8.0}) {
    SizedTime time = sized_time({{"n", 8}}, reply);
    time.pytorch_us = 10 * factor;
    time.pytorch_interval_us = Interval{9 * factor, 11 * factor};
    time.pytorch_tf32_us = 5 * factor;
    time.limit_us = 20 / factor;  // 10 and 2.5
    verdict.times.push_back(time);
  }
  summarise_times(verdict);
  EXPECT_NEAR(*verdict.speedup_pytorch, 4, 1e-9);
  EXPECT_NEAR(*verdict.speedup_pytorch_tf32, 2, 1e-9);
  EXPECT_NEAR(*verdict.share_of_limit, 0.5, 1e-9);
  // The kernel's own interval widens it: the two were not timed in turns.
  EXPECT_LT(verdict.speedup_pytorch_interval->low, 3.6);
  EXPECT_GT(verdict.speedup_pytorch_interval->high, 4.4);
  const auto again = verdict_from_json(to_json(verdict));
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(to_json(*again).dump(), to_json(verdict).dump());
  verdict.times[1].limit_us = 0;
  verdict.times[1].pytorch_tf32_us.reset();
  verdict.share_of_limit.reset();
  verdict.speedup_pytorch_tf32.reset();
  summarise_times(verdict);
  EXPECT_FALSE(verdict.share_of_limit || verdict.speedup_pytorch_tf32) << "one size does not have it";
}

TEST(LargeInputs, KeepTheDistributionAndThePromises) {
  const Task task = parse_task(R"(
name: t
tier: 0
family: elementwise
summary: s
pytorch: |
  def reference(x, u, k, a):
      return x * a + u + k
inputs:
  x: {dtype: float32, shape: [n]}
  u: {dtype: float32, shape: [n], values: {uniform: [0.25, 0.75]}}
  k: {dtype: int32, shape: [n], values: {integers: [0, n - 1]}}
  a: {dtype: float32, shape: []}
outputs:
  y: {dtype: float32, shape: [n]}
sizes:
  small:   [{n: 7}]
  train:   [{n: 1000000}]
  holdout: [{n: 5000}]
)",
                               "t.yaml")
                        .value();
  const std::int64_t count = 1'000'000;
  const auto made = drawn_tensors(make_large_inputs(task, {{"n", count}}, 5, 7).value());
  double sum = 0, squares = 0;
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = element_at(Dtype::float32, made[0].bytes, i);
    sum += x;
    squares += x * x;
    values.push_back(static_cast<float>(x));
    const double u = element_at(Dtype::float32, made[1].bytes, i);
    ASSERT_TRUE(u >= 0.25 && u <= 0.75);
    const double k = element_at(Dtype::int32, made[2].bytes, i);
    ASSERT_TRUE(k >= 0 && k < static_cast<double>(count));
  }
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.02);
  std::sort(values.begin(), values.end());
  EXPECT_GT(std::unique(values.begin(), values.end()) - values.begin(), count * 98 / 100);
  EXPECT_EQ(made[3].bytes, make_inputs(task, {{"n", 5000}}, 7).value()[3].bytes);
  EXPECT_NE(made[0].bytes, drawn_tensors(make_large_inputs(task, {{"n", count}}, 6, 7).value())[0].bytes);
}

}  // namespace
}  // namespace kw
