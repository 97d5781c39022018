#include "kernel/judge/gpu_times.h"

#include <algorithm>
#include <cmath>

namespace kw {

Interval widened(const Interval& interval, double relative) {
  return {interval.low * (1 - relative), interval.high * (1 + relative)};
}

Interval time_interval(const std::vector<double>& samples_us) {
  return widened(median_interval(samples_us), between_measurements);
}

std::vector<double> ratios(const std::vector<double>& baseline_us, const std::vector<double>& candidate_us) {
  std::vector<double> made;
  for (std::size_t i = 0; i < std::min(baseline_us.size(), candidate_us.size()); ++i)
    made.push_back(baseline_us[i] / candidate_us[i]);
  return made;
}

SizedTime sized_time(const Sizes& sizes, const TimeReply& reply) {
  SizedTime time;
  time.sizes = sizes;
  time.time_us = median(reply.candidate_us);
  time.interval_us = time_interval(reply.candidate_us);
  time.rounds = static_cast<int>(reply.candidate_us.size());
  if (!reply.baseline_us.empty()) {
    // From the ratio, so that time and speedup agree.
    const std::vector<double> ratio = ratios(reply.baseline_us, reply.candidate_us);
    time.naive_us = median(ratio) * time.time_us;
    time.speedup_interval = widened(median_interval(ratio), between_measurements);
  }
  return time;
}

void summarise_times(Verdict& verdict) {
  if (verdict.times.empty()) return;
  struct Mean {
    double logs = 0;
    bool known = true;
    void add(double value) { logs += std::log(value); }
  };
  Mean time, low, high, speedup, speedup_low, speedup_high, pytorch, pytorch_low, pytorch_high, tf32;
  for (const SizedTime& each : verdict.times) {
    time.add(each.time_us);
    low.add(each.interval_us.low);
    high.add(each.interval_us.high);
    if (each.naive_us && each.speedup_interval) {
      speedup.add(*each.naive_us / each.time_us);
      speedup_low.add(each.speedup_interval->low);
      speedup_high.add(each.speedup_interval->high);
    } else {
      speedup.known = false;
    }
    if (each.pytorch_us && each.pytorch_interval_us) {
      pytorch.add(*each.pytorch_us / each.time_us);
      pytorch_low.add(each.pytorch_interval_us->low / each.interval_us.high);
      pytorch_high.add(each.pytorch_interval_us->high / each.interval_us.low);
    } else {
      pytorch.known = false;
    }
    if (each.pytorch_tf32_us) {
      tf32.add(*each.pytorch_tf32_us / each.time_us);
    } else {
      tf32.known = false;
    }
  }
  const auto count = static_cast<double>(verdict.times.size());
  const auto of = [&](const Mean& mean) { return std::exp(mean.logs / count); };
  verdict.time_source = "measured";
  verdict.time_us = of(time);
  verdict.time_interval_us = Interval{of(low), of(high)};
  if (speedup.known) {
    verdict.speedup_naive = of(speedup);
    verdict.speedup_interval = Interval{of(speedup_low), of(speedup_high)};
    verdict.faster_than_naive = verdict.speedup_interval->low > 1;
  }
  if (pytorch.known) {
    verdict.speedup_pytorch = of(pytorch);
    verdict.speedup_pytorch_interval = Interval{of(pytorch_low), of(pytorch_high)};
  }
  if (tf32.known) verdict.speedup_pytorch_tf32 = of(tf32);
  note_share_of_limit(verdict);
}

void note_share_of_limit(Verdict& verdict) {
  double logs = 0;
  for (const SizedTime& each : verdict.times) {
    if (each.limit_us <= 0) return;
    logs += std::log(std::min(each.limit_us / each.time_us, 1.0));
  }
  if (!verdict.times.empty()) verdict.share_of_limit = std::exp(logs / static_cast<double>(verdict.times.size()));
}

}  // namespace kw
