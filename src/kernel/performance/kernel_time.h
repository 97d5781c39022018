#pragma once
// From counts to time. The terms are what each part of the device would need alone; they are joined by a p-norm, since
// parts overlap but not perfectly.

#include "kernel/performance/kernel_counts.h"
#include "kernel/performance/performance.h"

namespace kw {

// Which allocations are still in the second-level cache from earlier steps of the plan. (Before a plan starts it holds
// nothing useful: it is flushed before each measurement.)
class ResidentData {
 public:
  explicit ResidentData(double l2_bytes) : l2_bytes_(l2_bytes) {}
  // Of the `bytes` that are wanted, the part that is there: no more than were touched.
  double fraction(std::int32_t allocation, double bytes) const;
  void touch(std::int32_t allocation, double bytes);

 private:
  double l2_bytes_;
  double touched_bytes_ = 0;
  struct Touch {
    double moment = 0;  // in bytes touched by then
    double bytes = 0;   // different ones of this allocation
  };
  std::map<std::int32_t, Touch> last_touch_;
};

struct KernelTime {
  double us = 0;                // without launch overhead
  std::vector<TimeTerm> terms;  // all, in no order
  double dram_bytes = 0;
  double l2_bytes = 0;
  std::string limiter;
};

// Different bytes of an allocation that the grid reads.
double read_bytes(const KernelCounts& profile, const AllocationProfile& allocation);

KernelTime kernel_time(const DeviceProfile& device, const KernelCounts& profile, ResidentData& resident);

}  // namespace kw
