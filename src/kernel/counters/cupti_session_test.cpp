// The order of CUPTI calls, with a made-up library: what is enabled is disabled, whichever call fails; another way of
// replay is tried where it may help.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernel/counters/cupti_profiler.h"

namespace kw {
namespace {

constexpr std::size_t fake_passes = 3;

// What the made-up library saw, and which call it is to refuse.
struct Calls {
  std::vector<std::string> names;
  std::string refused;  // a function
  bool refused_in_kernel_replay_only = false;
  CUpti_RangeProfiler_SetConfig_Params config{};
  std::size_t stops = 0;

  std::size_t count(const std::string& name) const {
    return static_cast<std::size_t>(std::count(names.begin(), names.end(), name));
  }
};
Calls calls;  // the library's functions are plain functions

CUptiResult note(const char* name) {
  calls.names.emplace_back(name);
  const bool applies = !calls.refused_in_kernel_replay_only || calls.config.replayMode == CUPTI_KernelReplay;
  return calls.refused == name && applies ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
}

template <class Object>
Object* some_object() {
  static char place;
  return reinterpret_cast<Object*>(&place);
}

CuptiLibrary fake_library() {
  CuptiLibrary fake;
  fake.cuptiGetResultString = [](CUptiResult, const char** text) {
    *text = "CUPTI_ERROR_INVALID_OPERATION";
    return CUPTI_SUCCESS;
  };
  fake.cuptiGetErrorMessage = [](CUptiResult, const char**) { return CUPTI_ERROR_INVALID_PARAMETER; };
  fake.cuptiGetDeviceId = [](CUcontext, std::uint32_t*) { return note("cuptiGetDeviceId"); };
  fake.cuptiProfilerInitialize = [](auto*) { return note("cuptiProfilerInitialize"); };
  fake.cuptiProfilerDeInitialize = [](auto*) { return note("cuptiProfilerDeInitialize"); };
  fake.cuptiProfilerDeviceSupported = [](auto* params) {
    params->isSupported = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return note("cuptiProfilerDeviceSupported");
  };
  fake.cuptiProfilerGetCounterAvailability = [](auto* params) {
    params->counterAvailabilityImageSize = 16;
    return note("cuptiProfilerGetCounterAvailability");
  };
  fake.cuptiDeviceGetChipName = [](auto* params) {
    params->pChipName = "GH100";
    return note("cuptiDeviceGetChipName");
  };
  fake.cuptiProfilerHostInitialize = [](auto* params) {
    params->pHostObject = some_object<CUpti_Profiler_Host_Object>();
    return note("cuptiProfilerHostInitialize");
  };
  fake.cuptiProfilerHostDeinitialize = [](auto*) { return note("cuptiProfilerHostDeinitialize"); };
  fake.cuptiProfilerHostGetMetricProperties = [](auto*) { return CUPTI_SUCCESS; };
  // One metric cannot be had on this device: alone or with others it is refused.
  fake.cuptiProfilerHostConfigAddMetrics = [](auto* params) {
    for (std::size_t i = 0; i < params->numMetrics; ++i)
      if (std::string(params->ppMetricNames[i]) == "lts__t_sector_hit_rate.pct") return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
  };
  fake.cuptiProfilerHostGetConfigImageSize = [](auto* params) {
    params->configImageSize = 64;
    return CUPTI_SUCCESS;
  };
  fake.cuptiProfilerHostGetConfigImage = [](auto*) { return CUPTI_SUCCESS; };
  fake.cuptiProfilerHostGetNumOfPasses = [](auto* params) {
    params->numOfPasses = fake_passes;
    return CUPTI_SUCCESS;
  };
  fake.cuptiProfilerHostEvaluateToGpuValues = [](auto* params) {
    for (std::size_t i = 0; i < params->numMetrics; ++i)
      params->pMetricValues[i] = 1000.0 * static_cast<double>(params->rangeIndex + 1);
    return note("cuptiProfilerHostEvaluateToGpuValues");
  };
  fake.cuptiRangeProfilerEnable = [](auto* params) {
    params->pRangeProfilerObject = some_object<CUpti_RangeProfiler_Object>();
    calls.stops = 0;
    calls.config = {};
    return note("cuptiRangeProfilerEnable");
  };
  fake.cuptiRangeProfilerDisable = [](auto*) { return note("cuptiRangeProfilerDisable"); };
  fake.cuptiRangeProfilerGetCounterDataSize = [](auto* params) {
    params->counterDataSize = 128;
    return note("cuptiRangeProfilerGetCounterDataSize");
  };
  fake.cuptiRangeProfilerCounterDataImageInitialize = [](auto*) {
    return note("cuptiRangeProfilerCounterDataImageInitialize");
  };
  fake.cuptiRangeProfilerSetConfig = [](auto* params) {
    calls.config = *params;
    return note("cuptiRangeProfilerSetConfig");
  };
  fake.cuptiRangeProfilerStart = [](auto*) { return note("cuptiRangeProfilerStart"); };
  fake.cuptiRangeProfilerStop = [](auto* params) {
    ++calls.stops;
    params->isAllPassSubmitted = calls.config.replayMode == CUPTI_KernelReplay || calls.stops >= fake_passes;
    return note("cuptiRangeProfilerStop");
  };
  fake.cuptiRangeProfilerPushRange = [](auto*) { return note("cuptiRangeProfilerPushRange"); };
  fake.cuptiRangeProfilerPopRange = [](auto*) { return note("cuptiRangeProfilerPopRange"); };
  fake.cuptiRangeProfilerDecodeData = [](auto*) { return note("cuptiRangeProfilerDecodeData"); };
  fake.cuptiRangeProfilerGetCounterDataInfo = [](auto* params) {
    params->numTotalRanges = calls.config.range == CUPTI_AutoRange ? 2 : 1;
    return note("cuptiRangeProfilerGetCounterDataInfo");
  };
  fake.cuptiRangeProfilerCounterDataGetRangeInfo = [](auto* params) {
    // Stored in another order than launched.
    params->rangeName = calls.config.range == CUPTI_UserRange ? "all launches" : params->rangeIndex == 0 ? "1" : "0";
    return note("cuptiRangeProfilerCounterDataGetRangeInfo");
  };
  return fake;
}

class CuptiSession : public testing::Test {
 protected:
  void SetUp() override { calls = {}; }

  Result<CounterReport> profile(const CuptiOptions& options = {}) {
    auto profiler = CuptiProfiler::create_with(fake_library(), some_object<CUctx_st>(), options);
    if (!profiler.ok()) return std::move(profiler).error();
    return (*profiler)->profile(
        [&]() -> Result<void> {
          ++launches_;
          if (launch_fails_) return Error{"the launch failed", "", {}};
          return {};
        },
        {"first", "second"});
  }

  void expect_all_undone() {
    EXPECT_EQ(calls.count("cuptiProfilerInitialize"), calls.count("cuptiProfilerDeInitialize"));
    EXPECT_EQ(calls.count("cuptiProfilerHostInitialize"), calls.count("cuptiProfilerHostDeinitialize"));
    EXPECT_EQ(calls.count("cuptiRangeProfilerEnable"), calls.count("cuptiRangeProfilerDisable"));
    EXPECT_EQ(calls.count("cuptiRangeProfilerStart"), calls.count("cuptiRangeProfilerStop"));
    EXPECT_EQ(calls.count("cuptiRangeProfilerPushRange"), calls.count("cuptiRangeProfilerPopRange"));
  }

  int launches_ = 0;
  bool launch_fails_ = false;
};

TEST_F(CuptiSession, KernelReplayLaunchesOnce) {
  const Result<CounterReport> report = profile();
  ASSERT_TRUE(report.ok()) << to_string(report.error());
  EXPECT_EQ(launches_, 1);
  EXPECT_EQ(report->source, "cupti, kernel replay");
  EXPECT_EQ(report->passes, fake_passes);
  EXPECT_EQ(report->missing_metrics, std::vector<std::string>{"lts__t_sector_hit_rate.pct"});
  EXPECT_TRUE(report->notes.empty());
  ASSERT_EQ(report->kernels.size(), 2u);
  EXPECT_EQ(report->kernels[0].kernel, "first");
  EXPECT_DOUBLE_EQ(report->kernels[0].duration_us, 2);  // range 1 was launch 0
  EXPECT_EQ(report->kernels[1].kernel, "second");
  expect_all_undone();
}

TEST_F(CuptiSession, OtherModesLaunchOnceForEachPass) {
  CuptiOptions options;
  options.replay = ReplayMode::launches;
  const Result<CounterReport> launches = profile(options);
  ASSERT_TRUE(launches.ok()) << to_string(launches.error());
  EXPECT_EQ(launches_, static_cast<int>(fake_passes));
  EXPECT_EQ(launches->kernels.size(), 2u);
  options.replay = ReplayMode::whole;
  const Result<CounterReport> whole = profile(options);
  ASSERT_TRUE(whole.ok()) << to_string(whole.error());
  ASSERT_EQ(whole->kernels.size(), 1u);
  EXPECT_EQ(whole->kernels[0].kernel, "all launches");
  EXPECT_EQ(calls.count("cuptiRangeProfilerPushRange"), fake_passes);
  expect_all_undone();
}

TEST_F(CuptiSession, AnotherModeWhereKernelReplayIsRefused) {
  calls.refused = "cuptiRangeProfilerSetConfig";
  calls.refused_in_kernel_replay_only = true;
  const Result<CounterReport> report = profile();
  ASSERT_TRUE(report.ok()) << to_string(report.error());
  EXPECT_EQ(report->source, "cupti, repeated launches");
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_EQ(report->notes[0], "kernel replay failed: cuptiRangeProfilerSetConfig: CUPTI_ERROR_INVALID_OPERATION (7)");
  expect_all_undone();
}

TEST_F(CuptiSession, WhicheverCallFailsIsNamedAndUndone) {
  for (const char* function :
       {"cuptiProfilerInitialize", "cuptiGetDeviceId", "cuptiProfilerDeviceSupported",
        "cuptiProfilerGetCounterAvailability", "cuptiDeviceGetChipName", "cuptiProfilerHostInitialize",
        "cuptiRangeProfilerEnable", "cuptiRangeProfilerGetCounterDataSize",
        "cuptiRangeProfilerCounterDataImageInitialize", "cuptiRangeProfilerSetConfig", "cuptiRangeProfilerStart",
        "cuptiRangeProfilerStop", "cuptiRangeProfilerDecodeData", "cuptiRangeProfilerGetCounterDataInfo",
        "cuptiRangeProfilerCounterDataGetRangeInfo", "cuptiProfilerHostEvaluateToGpuValues",
        "cuptiRangeProfilerDisable"}) {
    SCOPED_TRACE(function);
    calls = {};
    calls.refused = function;
    const Result<CounterReport> report = profile();
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.error().message.find(function), std::string::npos) << to_string(report.error());
    // A call that failed did not enable anything.
    const std::string name = function;
    if (name != "cuptiProfilerInitialize" && name != "cuptiProfilerHostInitialize" &&
        name != "cuptiRangeProfilerEnable" && name != "cuptiRangeProfilerStart")
      expect_all_undone();
  }
}

TEST_F(CuptiSession, FailedPushAndPopAreNamed) {
  for (const char* function : {"cuptiRangeProfilerPushRange", "cuptiRangeProfilerPopRange"}) {
    calls = {};
    calls.refused = function;
    CuptiOptions options;
    options.replay = ReplayMode::whole;
    const Result<CounterReport> report = profile(options);
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.error().message.find(function), std::string::npos) << to_string(report.error());
    EXPECT_EQ(calls.count("cuptiRangeProfilerStart"), calls.count("cuptiRangeProfilerStop"));
    EXPECT_EQ(calls.count("cuptiRangeProfilerEnable"), calls.count("cuptiRangeProfilerDisable"));
  }
}

TEST_F(CuptiSession, FailedLaunchIsNotTriedAgain) {
  launch_fails_ = true;
  const Result<CounterReport> report = profile();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "the launch failed");
  EXPECT_EQ(launches_, 1);
  expect_all_undone();
}

}  // namespace
}  // namespace kw
