#pragma once
// Hardware counters of kernels in this process, through CUPTI's range profiler.
//
// The hardware counts only a few things at a time, so each kernel runs once for each pass. CUPTI does that itself where
// it can (kernel replay: it saves and restores the memory that the kernel writes); otherwise the launches are repeated
// as a whole, and then must be safe to repeat.
//
// What it does not do: time kernels (a profiled one runs alone, with changed caches; duration_us is for ratios),
// profile what other threads launch in the same context, or look into CUDA graphs. One CuptiProfiler at a time in a
// process, and none beside another tool that uses CUPTI or the counters.

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/counters/counters.h"
#include "kernel/counters/metric_schedule.h"

namespace kw {

enum class ReplayMode {
  kernel,    // CUPTI repeats each kernel; the launches run once
  launches,  // all launches are repeated, counters still for each kernel
  whole,     // all launches are repeated, one set of counters for all of them together
};
std::string_view to_string(ReplayMode mode);

struct CuptiOptions {
  CounterDetail detail = CounterDetail::full;
  std::optional<ReplayMode> replay;  // none: the first of the three that works
  std::size_t max_launches = 32;     // profiled in one call; further ones run, but are not counted
};

class CuptiProfiler {
 public:
  // The context must live as long as the profiler and be current on the thread that calls it. Needs the privilege to
  // read counters (root, or a driver that allows everyone).
  static Result<std::unique_ptr<CuptiProfiler>> create(CUcontext context, const CuptiOptions& options = {});
  // The same with a library that is already loaded, or one that a test made up.
  static Result<std::unique_ptr<CuptiProfiler>> create_with(CuptiLibrary cupti, CUcontext context,
                                                            const CuptiOptions& options);
  // Leaves the context as it was.
  ~CuptiProfiler();
  CuptiProfiler(const CuptiProfiler&) = delete;
  CuptiProfiler& operator=(const CuptiProfiler&) = delete;

  // Calls `launch_and_synchronise` once, or once for each pass (see ReplayMode; when kernel replay fails half-way,
  // both). Its own error is returned as it is. CUPTI only numbers kernels; `names`, in the order of launches, gives
  // them names. Between calls nothing is enabled: launches run as without a profiler.
  Result<CounterReport> profile(const std::function<Result<void>()>& launch_and_synchronise,
                                const std::vector<std::string>& names = {});

  const MetricSchedule& schedule() const { return *schedule_; }
  const CuptiLibrary& library() const { return cupti_; }

 private:
  CuptiProfiler(CuptiLibrary cupti, CUcontext context, const CuptiOptions& options);
  Result<void> initialize();
  // `failed_launch` says that the error is the caller's own, so that another mode would not help.
  Result<CounterReport> profile_with(ReplayMode mode, const std::function<Result<void>()>& launch,
                                     const std::vector<std::string>& names, bool& failed_launch);

  CuptiLibrary cupti_;
  CUcontext context_;
  CuptiOptions options_;
  bool initialized_ = false;
  std::unique_ptr<MetricSchedule> schedule_;
};

}  // namespace kw
