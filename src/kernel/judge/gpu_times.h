#pragma once
// From samples to figures that hold: the median with its interval, the ratio with an interval in which a second
// measurement, in another process and at another moment, lies too.

#include "kernel/gpu/message.h"
#include "kernel/judge/verdict.h"

namespace kw {

// Beyond what the samples of one measurement show: addresses, clocks and neighbours differ from process to process.
// Measured: bench/results/gpu.md.
inline constexpr double between_measurements = 0.02;

Interval widened(const Interval& interval, double relative);
// Interval of the median, widened.
Interval time_interval(const std::vector<double>& samples_us);
// Of baseline / candidate, sample by sample: the two of a round are neighbours in time.
std::vector<double> ratios(const std::vector<double>& baseline_us, const std::vector<double>& candidate_us);

struct TimeAndInterval {
  double us = 0;
  Interval interval_us;
};

SizedTime sized_time(const Sizes& sizes, const TimeReply& reply);

// Geometric means over the sizes into the verdict: time, intervals, speedups, and whether a speedup may be claimed.
void summarise_times(Verdict& verdict);

// How much of what the device allows, over all sizes; nothing where the limit of one is not known.
void note_share_of_limit(Verdict& verdict);

}  // namespace kw
