// Counters of two kernels whose traffic is known, on a GPU; skipped where there is none. Run alone, it prints all that
// it got:  profile_test --gtest_filter='*Gpu*'
#include "kernel/counters/cupti_profiler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "kernel/counters/advice.h"
#include "kernel/counters/gpu_for_tests.h"

namespace kw {
namespace {

void print(const CounterReport& report) {
  std::printf("%s, %zu passes\n%s\n", report.source.c_str(), report.passes, to_json(report).dump(2).c_str());
  for (const KernelCounters& kernel : report.kernels) {
    const CounterAdvice advice = advise(kernel, {4, 4});
    std::printf("%s: limited by %s\n", kernel.kernel.c_str(), advice.limiter.c_str());
    for (const std::string& sentence : advice.sentences) std::printf("  - %s\n", sentence.c_str());
  }
  std::fflush(stdout);
}

class CuptiGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!cupti_can_be_loaded) GTEST_SKIP() << "CUPTI does not run under the address sanitizer";
    const std::string reason = gpu_.open();
    if (!reason.empty()) GTEST_SKIP() << "no GPU to profile: " << reason;
  }

  void expect_vector_add(const KernelCounters& counters) {
    const double array_bytes = 4.0 * GpuForTests::count;
    EXPECT_NEAR(counters.dram_bytes_read, 2 * array_bytes, 0.3 * 2 * array_bytes);
    EXPECT_GT(counters.dram_bytes_written, 0);
    EXPECT_GT(counters.achieved_occupancy, 0);
    EXPECT_LE(counters.achieved_occupancy, 1);
    EXPECT_GT(counters.duration_us, 0);
    EXPECT_GT(counters.dram_throughput, 0.3);
    EXPECT_NEAR(counters.warp_efficiency, 1, 0.01);
    EXPECT_NEAR(counters.sectors_per_request_load, 4, 0.1);
  }

  // Values are right, and launches are not slow: nothing of the profiler is left.
  void expect_usable_context() {
    ASSERT_TRUE(gpu_.fill_inputs(3, 4).ok());
    const auto start = std::chrono::steady_clock::now();
    const Result<void> launched = gpu_.vector_add();
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(launched.ok()) << to_string(launched.error());
    std::printf("a launch afterwards: %.0f us on the host's clock\n", us.count());
    const Result<std::vector<float>> values = gpu_.output();
    ASSERT_TRUE(values.ok()) << to_string(values.error());
    EXPECT_TRUE(std::all_of(values->begin(), values->end(), [](float value) { return value == 7; }));
  }

  GpuForTests gpu_;
};

TEST_F(CuptiGpu, CountersOfKnownKernels) {
  int calls = 0;
  {
    auto profiler = CuptiProfiler::create(gpu_.context());
    ASSERT_TRUE(profiler.ok()) << to_string(profiler.error());
    std::printf("%s, version %u, chip %s, %zu metrics in %zu passes\n", (*profiler)->library().path.c_str(),
                (*profiler)->library().version, (*profiler)->schedule().chip().c_str(),
                (*profiler)->schedule().metrics().size(), (*profiler)->schedule().passes());
    for (const std::string& metric : (*profiler)->schedule().missing()) std::printf("missing: %s\n", metric.c_str());
    const auto launch = [&]() -> Result<void> {
      ++calls;
      KW_TRY_VOID(gpu_.vector_add());
      return gpu_.strided_read();
    };
    const auto start = std::chrono::steady_clock::now();
    const Result<CounterReport> report = (*profiler)->profile(launch, {"vector_add", "strided_read"});
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(report.ok()) << to_string(report.error());
    std::printf("%d calls, %.1f ms\n", calls, ms.count());
    print(*report);
    ASSERT_EQ(report->kernels.size(), 2u);
    EXPECT_EQ(report->kernels[0].kernel, "vector_add");
    expect_vector_add(report->kernels[0]);
    EXPECT_NEAR(report->kernels[1].sectors_per_request_load, 32, 1);
    EXPECT_FALSE(report->kernels[0].stalls.empty());

    // Between two calls the context is free, and a second call gives the same.
    expect_usable_context();
    const Result<CounterReport> again = (*profiler)->profile([&] { return gpu_.vector_add(); });
    ASSERT_TRUE(again.ok()) << to_string(again.error());
    ASSERT_EQ(again->kernels.size(), 1u);
    EXPECT_EQ(again->kernels[0].kernel, "launch 0");
    expect_vector_add(again->kernels[0]);
  }
  expect_usable_context();
}

TEST_F(CuptiGpu, EveryReplayMode) {
  for (const ReplayMode mode : {ReplayMode::kernel, ReplayMode::launches, ReplayMode::whole}) {
    SCOPED_TRACE(to_string(mode));
    CuptiOptions options;
    options.detail = CounterDetail::brief;
    options.replay = mode;
    auto profiler = CuptiProfiler::create(gpu_.context(), options);
    ASSERT_TRUE(profiler.ok()) << to_string(profiler.error());
    int calls = 0;
    const auto launch = [&] {
      ++calls;
      return gpu_.vector_add();
    };
    const Result<CounterReport> report = (*profiler)->profile(launch, {"vector_add"});
    EXPECT_TRUE(report.ok()) << to_string(report.error());
    if (!report.ok()) continue;
    std::printf("%d calls\n", calls);
    print(*report);
    EXPECT_EQ(calls, mode == ReplayMode::kernel ? 1 : static_cast<int>(report->passes));
    ASSERT_EQ(report->kernels.size(), 1u);
    EXPECT_EQ(report->kernels[0].kernel, "vector_add");
    expect_vector_add(report->kernels[0]);
  }
  expect_usable_context();
}

TEST_F(CuptiGpu, FailedLaunchIsTheCallersError) {
  auto profiler = CuptiProfiler::create(gpu_.context(), {.detail = CounterDetail::brief, .replay = {}});
  ASSERT_TRUE(profiler.ok()) << to_string(profiler.error());
  int calls = 0;
  const auto launch = [&]() -> Result<void> {
    ++calls;
    return Error{"the launch failed", "", {}};
  };
  const Result<CounterReport> report = (*profiler)->profile(launch);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "the launch failed");
  EXPECT_EQ(calls, 1);
  const Result<CounterReport> nothing = (*profiler)->profile([]() -> Result<void> { return {}; });
  std::printf("no launch at all: %s\n",
              nothing.ok() ? to_json(*nothing).dump().c_str() : to_string(nothing.error()).c_str());
  expect_usable_context();
}

// The library schedules metrics without a GPU.
class Schedule : public testing::Test {
 protected:
  void SetUp() override {
    if (!cupti_can_be_loaded) GTEST_SKIP() << "CUPTI does not run under the address sanitizer";
    auto library = CuptiLibrary::load();
    if (!library.ok()) GTEST_SKIP() << to_string(library.error());
    library_ = *library;
  }
  CuptiLibrary library_;
};

TEST_F(Schedule, EveryMetricIsKnownToHopper) {
  for (const auto& [detail, most_passes] : {std::pair{CounterDetail::brief, 5u}, std::pair{CounterDetail::full, 16u}}) {
    auto schedule = MetricSchedule::create(library_, "GH100", {}, counter_metrics(detail));
    ASSERT_TRUE(schedule.ok()) << to_string(schedule.error());
    EXPECT_EQ((*schedule)->missing(), std::vector<std::string>());
    EXPECT_EQ((*schedule)->metrics().size(), counter_metrics(detail).size());
    EXPECT_GE((*schedule)->passes(), 1u);
    EXPECT_LE((*schedule)->passes(), most_passes);
    std::printf("%zu metrics in %zu passes\n", (*schedule)->metrics().size(), (*schedule)->passes());
  }
}

TEST_F(Schedule, UnknownMetricsAreListed) {
  auto schedule = MetricSchedule::create(library_, "GH100", {}, {"no__such.metric", "gpu__time_duration.sum"});
  ASSERT_TRUE(schedule.ok()) << to_string(schedule.error());
  EXPECT_EQ((*schedule)->missing(), std::vector<std::string>{"no__such.metric"});
  EXPECT_EQ((*schedule)->metrics(), std::vector<std::string>{"gpu__time_duration.sum"});
  EXPECT_FALSE(MetricSchedule::create(library_, "GH100", {}, {"no__such.metric"}).ok());
}

TEST_F(Schedule, ErrorsNameTheFunction) {
  const auto unknown_chip = MetricSchedule::create(library_, "NOCHIP", {}, {"gpu__time_duration.sum"});
  ASSERT_FALSE(unknown_chip.ok());
  EXPECT_NE(unknown_chip.error().message.find("cuptiProfilerHostInitialize: CUPTI_ERROR_"), std::string::npos)
      << to_string(unknown_chip.error());
  const Result<void> refused = library_.check("cuptiRangeProfilerStart", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  EXPECT_NE(refused.error().message.find("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"), std::string::npos);
  EXPECT_NE(refused.error().advice.find("NVreg_RestrictProfilingToAdminUsers"), std::string::npos);
}

TEST_F(Schedule, EmptyCounterDataIsAnError) {
  auto schedule = MetricSchedule::create(library_, "GH100", {}, counter_metrics(CounterDetail::brief));
  ASSERT_TRUE(schedule.ok()) << to_string(schedule.error());
  EXPECT_FALSE((*schedule)->evaluate({}, 0).ok());
}

TEST(CuptiProfiler, NeedsAContext) { EXPECT_FALSE(CuptiProfiler::create(nullptr).ok()); }

}  // namespace
}  // namespace kw
