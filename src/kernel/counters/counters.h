#pragma once
// What the hardware counted while a kernel ran, in units that people use, from CUPTI (cupti_profiler.h) or from Nsight
// Compute (ncu.h): both deliver the same raw metrics by name.
//
// A value that was not measured (the chip does not know the metric, or there was nothing to measure, such as sectors
// per request without requests) is not a number; JSON has null for it.

#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw {

inline constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();
inline bool measured(double value) { return !std::isnan(value); }

struct NamedShare {
  std::string name;
  double share = 0;

  friend bool operator==(const NamedShare&, const NamedShare&) = default;
};

// Throughputs are shares (0..1) of what the unit can sustain.
struct KernelCounters {
  std::string kernel;                 // its name, or "launch 0" in the order of launches where none is known
  double duration_us = not_measured;  // on the GPU, without launch overhead; under a profiler clocks may be lower
  double achieved_occupancy = not_measured;  // resident warps / possible ones, while an SM had any
  double dram_bytes_read = not_measured;
  double dram_bytes_written = not_measured;
  double dram_throughput = not_measured;
  double l2_throughput = not_measured;
  double l1_throughput = not_measured;
  double shared_throughput = not_measured;         // of the data pipe that shared memory and L1 have in common
  double sm_throughput = not_measured;             // the busiest part of the SM: a pipe, the issue slots
  double warp_efficiency = not_measured;           // active threads per warp instruction / 32
  double sectors_per_request_load = not_measured;  // 32-byte sectors of a warp's global load; 4 are 32 floats in a row
  double sectors_per_request_store = not_measured;
  double shared_bank_conflict_share = not_measured;  // of the shared memory wavefronts, those that conflicts added
  double issue_rate = not_measured;                  // instructions per cycle and scheduler
  double l1_hit_rate = not_measured;                 // of sectors
  double l2_hit_rate = not_measured;
  double instructions = not_measured;  // of warps
  std::vector<NamedShare> pipes;       // of peak, the busiest first: "fp32 pipe", "int pipe", "tensor pipe", ...
  std::vector<NamedShare> stalls;      // of the time of all warps, the largest first: "long_scoreboard", ...
};

// What one run of a profiler gave.
struct CounterReport {
  std::string source;                        // "cupti, kernel replay", "ncu"
  std::size_t passes = 0;                    // how often each kernel ran
  std::vector<KernelCounters> kernels;       // in the order of launches
  std::vector<std::string> missing_metrics;  // asked for and not known here
  std::vector<std::string> notes;            // what makes the numbers less sure, in sentences
};

// brief: 20 metrics, 5 passes on sm_90; full adds the throughput of each unit and the stalls: 36 metrics, 14 passes.
enum class CounterDetail { brief, full };

// Names of raw metrics as CUPTI and `ncu --metrics` take them, for sm_90; other chips lack a few.
std::vector<std::string> counter_metrics(CounterDetail detail);

struct MetricValue {
  std::string name;
  double value = not_measured;  // in base units: nanoseconds, bytes, percent
};

// Metrics that are not in counter_metrics() are ignored.
KernelCounters counters_from_metrics(std::string kernel, const std::vector<MetricValue>& values);

nlohmann::ordered_json to_json(const KernelCounters& counters);
nlohmann::ordered_json to_json(const CounterReport& report);
// Missing keys stay unmeasured; a value of the wrong type is an error.
Result<KernelCounters> counters_from_json(const nlohmann::ordered_json& json);
Result<CounterReport> counter_report_from_json(const nlohmann::ordered_json& json);

}  // namespace kw
