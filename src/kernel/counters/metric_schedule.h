#pragma once
// The host's side of CUPTI's range profiler: which of the wanted metrics a chip has, how they are scheduled over
// passes, and how counter data becomes their values. Needs the library and the name of a chip, not a GPU.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/counters/counters.h"
#include "kernel/counters/cupti_library.h"

namespace kw {

class MetricSchedule {
 public:
  // `chip` as cuptiDeviceGetChipName says it ("GH100"). `availability`, from cuptiProfilerGetCounterAvailability,
  // leaves out what this device in particular lacks; empty: everything that the chip has. An error when no metric is
  // left.
  static Result<std::unique_ptr<MetricSchedule>> create(const CuptiLibrary& cupti, std::string chip,
                                                        std::vector<std::uint8_t> availability,
                                                        const std::vector<std::string>& wanted);
  ~MetricSchedule();
  MetricSchedule(const MetricSchedule&) = delete;
  MetricSchedule& operator=(const MetricSchedule&) = delete;

  const std::string& chip() const { return chip_; }
  const std::vector<std::string>& metrics() const { return metrics_; }
  const std::vector<std::string>& missing() const { return missing_; }
  std::size_t passes() const { return passes_; }
  const std::vector<std::uint8_t>& config_image() const { return config_image_; }
  // The names as CUPTI's functions take them; valid as long as this object.
  std::vector<const char*> metric_pointers() const;

  // The metrics of one range; those that cannot be evaluated are not measured, an error when none can.
  Result<std::vector<MetricValue>> evaluate(const std::vector<std::uint8_t>& counter_data, std::size_t range) const;

 private:
  MetricSchedule(const CuptiLibrary& cupti, std::string chip, std::vector<std::uint8_t> availability);
  Result<void> open();
  void close();
  Result<void> schedule();  // metrics_ into config_image_ and passes_, on a new host object
  bool chip_knows(const std::string& metric);

  CuptiLibrary cupti_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<std::string> metrics_;
  std::vector<std::string> missing_;
  std::vector<std::uint8_t> config_image_;
  std::size_t passes_ = 0;
};

}  // namespace kw
