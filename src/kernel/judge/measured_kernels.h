#pragma once
// Kernel times that a GPU measured, and the counts that the performance model takes of the same launches.

#include <filesystem>
#include <functional>

#include "kernel/compile/service.h"
#include "kernel/performance/fit.h"
#include "kernel/task/task.h"

namespace kw {

// One line of a file of measurements:
//   {"task": "softmax", "kernel": "naive", "size": {"rows": 7, "cols": 129}, "us": 4.2, "kind": "small"}
struct Measurement {
  std::string task;
  std::string kernel;  // "naive", "optimised": the suite's; or a file, relative to the folder that holds the suite
  Sizes sizes;
  std::string kind;  // may be missing
  double us = 0;
};

Result<std::vector<Measurement>> read_measurements(const std::filesystem::path& file);

struct CountedMeasurements {
  std::vector<MeasuredPlan> plans;    // in the order of the measurements, those with problems left out
  std::vector<std::string> problems;  // one a kernel or size that could not be built or counted
};

// Builds every kernel once and counts it at each of its sizes. `counted` is called after each kernel, from any thread,
// with the number of its measurements. Ends early when interrupted.
CountedMeasurements count_measurements(CompileService& service, const std::filesystem::path& suite,
                                       const DeviceProfile& device, const std::vector<Measurement>& measurements,
                                       int threads,
                                       const std::function<void(std::size_t, const std::string&)>& counted);

}  // namespace kw
