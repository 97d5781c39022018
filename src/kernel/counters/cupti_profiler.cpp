#include "kernel/counters/cupti_profiler.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace kw {
namespace {

constexpr const char* whole_range_name = "all launches";

// The range profiler enabled on a context: from cuptiRangeProfilerEnable to Disable, whatever happens in between.
class RangeSession {
 public:
  RangeSession(const CuptiLibrary& cupti, const MetricSchedule& schedule, ReplayMode mode, std::size_t max_ranges)
      : cupti_(cupti), schedule_(schedule), mode_(mode), max_ranges_(mode == ReplayMode::whole ? 1 : max_ranges) {}
  ~RangeSession() { (void)close(); }
  RangeSession(const RangeSession&) = delete;
  RangeSession& operator=(const RangeSession&) = delete;

  Result<void> open(CUcontext context) {
    KW_CUPTI_PARAMS(enable, CUpti_RangeProfiler_Enable_Params);
    enable.ctx = context;
    KW_TRY_VOID(KW_CUPTI(cupti_, cuptiRangeProfilerEnable, enable));
    profiler_ = enable.pRangeProfilerObject;
    KW_TRY_VOID(make_counter_data());
    return configure();
  }

  Result<void> start() {
    KW_CUPTI_PARAMS(start, CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = profiler_;
    KW_TRY_VOID(KW_CUPTI(cupti_, cuptiRangeProfilerStart, start));
    started_ = true;
    if (mode_ != ReplayMode::whole) return {};
    KW_CUPTI_PARAMS(push, CUpti_RangeProfiler_PushRange_Params);
    push.pRangeProfilerObject = profiler_;
    push.pRangeName = whole_range_name;
    KW_TRY_VOID(KW_CUPTI(cupti_, cuptiRangeProfilerPushRange, push));
    pushed_ = true;
    return {};
  }

  // True when every pass has been collected.
  Result<bool> stop() {
    if (std::exchange(pushed_, false)) {
      KW_CUPTI_PARAMS(pop, CUpti_RangeProfiler_PopRange_Params);
      pop.pRangeProfilerObject = profiler_;
      KW_TRY_VOID(KW_CUPTI(cupti_, cuptiRangeProfilerPopRange, pop));
    }
    started_ = false;
    KW_CUPTI_PARAMS(stop, CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = profiler_;
    KW_TRY_VOID(KW_CUPTI(cupti_, cuptiRangeProfilerStop, stop));
    return stop.isAllPassSubmitted != 0;
  }

  // The number of launches for which there was no room.
  Result<std::size_t> decode() {
    KW_CUPTI_PARAMS(decode, CUpti_RangeProfiler_DecodeData_Params);
    decode.pRangeProfilerObject = profiler_;
    KW_TRY_VOID(KW_CUPTI(cupti_, cuptiRangeProfilerDecodeData, decode));
    return decode.numOfRangeDropped;
  }

  Result<std::size_t> range_count() const {
    KW_CUPTI_PARAMS(info, CUpti_RangeProfiler_GetCounterDataInfo_Params);
    info.pCounterDataImage = counter_data_.data();
    info.counterDataImageSize = counter_data_.size();
    KW_TRY_VOID(KW_CUPTI(cupti_, cuptiRangeProfilerGetCounterDataInfo, info));
    return info.numTotalRanges;
  }

  Result<std::string> range_name(std::size_t range) const {
    KW_CUPTI_PARAMS(info, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
    info.pCounterDataImage = counter_data_.data();
    info.counterDataImageSize = counter_data_.size();
    info.rangeIndex = range;
    info.rangeDelimiter = "/";
    KW_TRY_VOID(KW_CUPTI(cupti_, cuptiRangeProfilerCounterDataGetRangeInfo, info));
    return std::string(info.rangeName != nullptr ? info.rangeName : "");
  }

  const std::vector<std::uint8_t>& counter_data() const { return counter_data_; }

  Result<void> close() {
    if (profiler_ == nullptr) return {};
    if (started_) (void)stop();
    KW_CUPTI_PARAMS(disable, CUpti_RangeProfiler_Disable_Params);
    disable.pRangeProfilerObject = std::exchange(profiler_, nullptr);
    return KW_CUPTI(cupti_, cuptiRangeProfilerDisable, disable);
  }

 private:
  Result<void> make_counter_data() {
    std::vector<const char*> names = schedule_.metric_pointers();
    KW_CUPTI_PARAMS(size, CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = max_ranges_;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(max_ranges_);
    KW_TRY_VOID(KW_CUPTI(cupti_, cuptiRangeProfilerGetCounterDataSize, size));
    counter_data_.assign(size.counterDataSize, 0);
    KW_CUPTI_PARAMS(initialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    initialize.pRangeProfilerObject = profiler_;
    initialize.counterDataSize = counter_data_.size();
    initialize.pCounterData = counter_data_.data();
    return KW_CUPTI(cupti_, cuptiRangeProfilerCounterDataImageInitialize, initialize);
  }

  Result<void> configure() {
    KW_CUPTI_PARAMS(config, CUpti_RangeProfiler_SetConfig_Params);
    config.pRangeProfilerObject = profiler_;
    config.configSize = schedule_.config_image().size();
    config.pConfig = schedule_.config_image().data();
    config.counterDataImageSize = counter_data_.size();
    config.pCounterDataImage = counter_data_.data();
    config.range = mode_ == ReplayMode::whole ? CUPTI_UserRange : CUPTI_AutoRange;
    config.replayMode = mode_ == ReplayMode::kernel ? CUPTI_KernelReplay : CUPTI_UserReplay;
    config.maxRangesPerPass = max_ranges_;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    config.passIndex = 0;
    config.targetNestingLevel = 1;
    return KW_CUPTI(cupti_, cuptiRangeProfilerSetConfig, config);
  }

  const CuptiLibrary& cupti_;
  const MetricSchedule& schedule_;
  ReplayMode mode_;
  std::size_t max_ranges_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<std::uint8_t> counter_data_;  // CUPTI keeps its address until close()
  bool started_ = false;
  bool pushed_ = false;
};

// In auto range mode CUPTI calls kernels "0", "1", ... in the order of launches.
std::size_t launch_number(const std::string& range_name, std::size_t otherwise) {
  std::size_t number = 0;
  const char* end = range_name.data() + range_name.size();
  const auto [stop, error] = std::from_chars(range_name.data(), end, number);
  return error == std::errc() && stop == end ? number : otherwise;
}

Result<void> check_support(const CuptiLibrary& cupti, std::uint32_t device) {
  KW_CUPTI_PARAMS(support, CUpti_Profiler_DeviceSupported_Params);
  support.cuDevice = static_cast<CUdevice>(device);
  support.api = CUPTI_PROFILER_RANGE_PROFILING;
  KW_TRY_VOID(KW_CUPTI(cupti, cuptiProfilerDeviceSupported, support));
  if (support.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return {};
  std::string reasons;
  const auto add = [&](CUpti_Profiler_Support_Level level, const char* name) {
    if (level == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return;
    reasons += std::string(reasons.empty() ? "" : ", ") + name +
               (level == CUPTI_PROFILER_CONFIGURATION_DISABLED ? " (disabled)" : "");
  };
  add(support.architecture, "its architecture");
  add(support.sli, "SLI");
  add(support.vGpu, "virtual GPU");
  add(support.confidentialCompute, "confidential computing");
  add(support.cmp, "crypto mining processor");
  add(support.wsl, "WSL");
  return Error{"cuptiProfilerDeviceSupported: this GPU cannot be profiled because of " +
                   (reasons.empty() ? std::string("an unknown reason") : reasons),
               "",
               {}};
}

Result<std::vector<std::uint8_t>> counter_availability(const CuptiLibrary& cupti, CUcontext context) {
  KW_CUPTI_PARAMS(availability, CUpti_Profiler_GetCounterAvailability_Params);
  availability.ctx = context;
  KW_TRY_VOID(KW_CUPTI(cupti, cuptiProfilerGetCounterAvailability, availability));
  std::vector<std::uint8_t> image(availability.counterAvailabilityImageSize, 0);
  availability.pCounterAvailabilityImage = image.data();
  KW_TRY_VOID(KW_CUPTI(cupti, cuptiProfilerGetCounterAvailability, availability));
  return image;
}

}  // namespace

std::string_view to_string(ReplayMode mode) {
  switch (mode) {
    case ReplayMode::kernel:
      return "kernel replay";
    case ReplayMode::launches:
      return "repeated launches";
    case ReplayMode::whole:
      return "repeated launches, one range";
  }
  KW_CHECK(false);
}

CuptiProfiler::CuptiProfiler(CuptiLibrary cupti, CUcontext context, const CuptiOptions& options)
    : cupti_(std::move(cupti)), context_(context), options_(options) {}

CuptiProfiler::~CuptiProfiler() {
  schedule_.reset();
  if (!initialized_) return;
  KW_CUPTI_PARAMS(deinitialize, CUpti_Profiler_DeInitialize_Params);
  cupti_.cuptiProfilerDeInitialize(&deinitialize);
}

Result<std::unique_ptr<CuptiProfiler>> CuptiProfiler::create(CUcontext context, const CuptiOptions& options) {
  if (context == nullptr) return Error{"there is no CUDA context to profile", "", {}};
  KW_TRY(CuptiLibrary cupti, CuptiLibrary::load());
  return create_with(std::move(cupti), context, options);
}

Result<std::unique_ptr<CuptiProfiler>> CuptiProfiler::create_with(CuptiLibrary cupti, CUcontext context,
                                                                  const CuptiOptions& options) {
  KW_CHECK(options.max_launches > 0 && options.max_launches <= 4096);
  std::unique_ptr<CuptiProfiler> self(new CuptiProfiler(std::move(cupti), context, options));
  KW_TRY_VOID(self->initialize());
  return self;
}

Result<void> CuptiProfiler::initialize() {
  KW_CUPTI_PARAMS(initialize, CUpti_Profiler_Initialize_Params);
  KW_TRY_VOID(KW_CUPTI(cupti_, cuptiProfilerInitialize, initialize));
  initialized_ = true;

  std::uint32_t device = 0;
  KW_TRY_VOID(cupti_.check("cuptiGetDeviceId", cupti_.cuptiGetDeviceId(context_, &device)));
  KW_TRY_VOID(check_support(cupti_, device));
  KW_CUPTI_PARAMS(chip, CUpti_Device_GetChipName_Params);
  chip.deviceIndex = device;
  KW_TRY_VOID(KW_CUPTI(cupti_, cuptiDeviceGetChipName, chip));
  if (chip.pChipName == nullptr) return Error{"cuptiDeviceGetChipName gave no name", "", {}};
  KW_TRY(std::vector<std::uint8_t> availability, counter_availability(cupti_, context_));
  KW_TRY(schedule_,
         MetricSchedule::create(cupti_, chip.pChipName, std::move(availability), counter_metrics(options_.detail)));
  return {};
}

Result<CounterReport> CuptiProfiler::profile(const std::function<Result<void>()>& launch_and_synchronise,
                                             const std::vector<std::string>& names) {
  std::vector<ReplayMode> modes{ReplayMode::kernel, ReplayMode::launches, ReplayMode::whole};
  if (options_.replay) modes = {*options_.replay};
  std::vector<std::string> notes;
  for (const ReplayMode mode : modes) {
    bool failed_launch = false;
    Result<CounterReport> report = profile_with(mode, launch_and_synchronise, names, failed_launch);
    if (report.ok()) {
      report->notes.insert(report->notes.begin(), notes.begin(), notes.end());
      return report;
    }
    if (failed_launch) return report;
    notes.push_back(std::string(to_string(mode)) + " failed: " + to_string(report.error()));
  }
  std::string all;
  for (const std::string& note : notes) all += (all.empty() ? "" : "; ") + note;
  return Error{"CUPTI could not profile: " + all, "", {}};
}

Result<CounterReport> CuptiProfiler::profile_with(ReplayMode mode, const std::function<Result<void>()>& launch,
                                                  const std::vector<std::string>& names, bool& failed_launch) {
  RangeSession session(cupti_, *schedule_, mode, options_.max_launches);
  KW_TRY_VOID(session.open(context_));
  // Kernel replay is done after one round. A few more than there are passes are allowed for the others.
  const std::size_t max_rounds = mode == ReplayMode::kernel ? 1 : schedule_->passes() + 4;
  bool complete = false;
  for (std::size_t round = 0; round < max_rounds && !complete; ++round) {
    KW_TRY_VOID(session.start());
    if (Result<void> launched = launch(); !launched.ok()) {
      failed_launch = true;
      return std::move(launched).error();
    }
    KW_TRY(complete, session.stop());
  }
  CounterReport report;
  report.source = "cupti, " + std::string(to_string(mode));
  report.passes = schedule_->passes();
  report.missing_metrics = schedule_->missing();
  if (!complete) {
    return Error{"cuptiRangeProfilerStop: passes are still missing after " + std::to_string(max_rounds) + " of " +
                     std::to_string(schedule_->passes()),
                 "",
                 {}};
  }
  KW_TRY(const std::size_t dropped, session.decode());
  if (dropped > 0)
    report.notes.push_back(std::to_string(dropped) + " launches beyond the first " +
                           std::to_string(options_.max_launches) + " were not counted");

  KW_TRY(const std::size_t ranges, session.range_count());
  if (ranges == 0) return Error{"CUPTI saw no kernel", "is the context current where the kernels are launched?", {}};
  std::vector<std::pair<std::size_t, KernelCounters>> numbered;
  for (std::size_t range = 0; range < ranges; ++range) {
    KW_TRY(std::string name, session.range_name(range));
    const std::size_t number = launch_number(name, range);
    if (mode == ReplayMode::whole) {
      if (names.size() == 1) name = names.front();
    } else {
      name = number < names.size() ? names[number] : "launch " + std::to_string(number);
    }
    KW_TRY(const std::vector<MetricValue> values, schedule_->evaluate(session.counter_data(), range));
    numbered.emplace_back(number, counters_from_metrics(std::move(name), values));
  }
  std::stable_sort(numbered.begin(), numbered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [number, counters] : numbered) report.kernels.push_back(std::move(counters));
  KW_TRY_VOID(session.close());
  return report;
}

}  // namespace kw
