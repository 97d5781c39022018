#include "kernel/counters/metric_schedule.h"

#include <utility>

namespace kw {

MetricSchedule::MetricSchedule(const CuptiLibrary& cupti, std::string chip, std::vector<std::uint8_t> availability)
    : cupti_(cupti), chip_(std::move(chip)), availability_(std::move(availability)) {}

MetricSchedule::~MetricSchedule() { close(); }

Result<void> MetricSchedule::open() {
  close();
  KW_CUPTI_PARAMS(initialize, CUpti_Profiler_Host_Initialize_Params);
  initialize.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  initialize.pChipName = chip_.c_str();
  initialize.pCounterAvailabilityImage = availability_.empty() ? nullptr : availability_.data();
  KW_TRY_VOID(KW_CUPTI(cupti_, cuptiProfilerHostInitialize, initialize));
  host_ = initialize.pHostObject;
  return {};
}

void MetricSchedule::close() {
  if (host_ == nullptr) return;
  KW_CUPTI_PARAMS(deinitialize, CUpti_Profiler_Host_Deinitialize_Params);
  deinitialize.pHostObject = std::exchange(host_, nullptr);
  cupti_.cuptiProfilerHostDeinitialize(&deinitialize);
}

bool MetricSchedule::chip_knows(const std::string& metric) {
  KW_CUPTI_PARAMS(properties, CUpti_Profiler_Host_GetMetricProperties_Params);
  properties.pHostObject = host_;
  properties.pMetricName = metric.c_str();
  return cupti_.cuptiProfilerHostGetMetricProperties(&properties) == CUPTI_SUCCESS;
}

std::vector<const char*> MetricSchedule::metric_pointers() const {
  std::vector<const char*> pointers;
  for (const std::string& metric : metrics_) pointers.push_back(metric.c_str());
  return pointers;
}

Result<void> MetricSchedule::schedule() {
  KW_TRY_VOID(open());
  std::vector<const char*> names = metric_pointers();
  KW_CUPTI_PARAMS(add, CUpti_Profiler_Host_ConfigAddMetrics_Params);
  add.pHostObject = host_;
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  KW_TRY_VOID(KW_CUPTI(cupti_, cuptiProfilerHostConfigAddMetrics, add));

  KW_CUPTI_PARAMS(size, CUpti_Profiler_Host_GetConfigImageSize_Params);
  size.pHostObject = host_;
  KW_TRY_VOID(KW_CUPTI(cupti_, cuptiProfilerHostGetConfigImageSize, size));
  config_image_.assign(size.configImageSize, 0);
  KW_CUPTI_PARAMS(image, CUpti_Profiler_Host_GetConfigImage_Params);
  image.pHostObject = host_;
  image.configImageSize = config_image_.size();
  image.pConfigImage = config_image_.data();
  KW_TRY_VOID(KW_CUPTI(cupti_, cuptiProfilerHostGetConfigImage, image));

  KW_CUPTI_PARAMS(count, CUpti_Profiler_Host_GetNumOfPasses_Params);
  count.configImageSize = config_image_.size();
  count.pConfigImage = config_image_.data();
  KW_TRY_VOID(KW_CUPTI(cupti_, cuptiProfilerHostGetNumOfPasses, count));
  passes_ = count.numOfPasses;
  return {};
}

Result<std::unique_ptr<MetricSchedule>> MetricSchedule::create(const CuptiLibrary& cupti, std::string chip,
                                                               std::vector<std::uint8_t> availability,
                                                               const std::vector<std::string>& wanted) {
  std::unique_ptr<MetricSchedule> self(new MetricSchedule(cupti, std::move(chip), std::move(availability)));
  KW_TRY_VOID(self->open());
  std::vector<std::string> known;
  for (const std::string& metric : wanted) (self->chip_knows(metric) ? known : self->missing_).push_back(metric);

  self->metrics_ = known;
  Result<void> scheduled = known.empty() ? Result<void>() : self->schedule();
  if (!scheduled.ok()) {
    // The chip knows them all, but not all can be had on this device: each alone shows which.
    std::vector<std::string> possible;
    for (const std::string& metric : known) {
      self->metrics_ = {metric};
      (self->schedule().ok() ? possible : self->missing_).push_back(metric);
    }
    if (possible.empty() || possible.size() == known.size()) return std::move(scheduled).error();
    self->metrics_ = std::move(possible);
    KW_TRY_VOID(self->schedule());
  }
  if (self->metrics_.empty()) return Error{"the chip " + self->chip_ + " has none of the wanted metrics", "", {}};
  return self;
}

Result<std::vector<MetricValue>> MetricSchedule::evaluate(const std::vector<std::uint8_t>& counter_data,
                                                          std::size_t range) const {
  std::vector<const char*> names = metric_pointers();
  std::vector<double> values(names.size(), not_measured);
  const auto evaluate_some = [&](std::size_t first, std::size_t count) {
    KW_CUPTI_PARAMS(some, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    some.pHostObject = host_;
    some.pCounterDataImage = counter_data.data();
    some.counterDataImageSize = counter_data.size();
    some.rangeIndex = range;
    some.ppMetricNames = names.data() + first;
    some.numMetrics = count;
    some.pMetricValues = values.data() + first;
    return KW_CUPTI(cupti_, cuptiProfilerHostEvaluateToGpuValues, some);
  };
  if (Result<void> all = evaluate_some(0, names.size()); !all.ok()) {
    std::size_t evaluated = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (evaluate_some(i, 1).ok()) {
        ++evaluated;
      } else {
        values[i] = not_measured;
      }
    }
    if (evaluated == 0) return std::move(all).error();
  }
  std::vector<MetricValue> result;
  for (std::size_t i = 0; i < names.size(); ++i) result.push_back({metrics_[i], values[i]});
  return result;
}

}  // namespace kw
