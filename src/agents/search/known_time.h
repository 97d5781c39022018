#pragma once
// What is known of a kernel's time. A modelled one is the same each time, and compared as it is. A measured one has an
// interval; it is measured again while that decides nothing.

#include <memory>
#include <optional>
#include <vector>

#include "kernel/judge/verdict.h"

namespace kw {

inline constexpr int most_measurements = 6;  // of a kernel

struct KnownTime {
  double us = 0;
  Interval interval_us;  // of a modelled time: the time itself
  bool measured = false;
  int measurements = 0;  // of one that a judge elsewhere has measured: as many as there may be
};

// As the judge has said it. None without a right kernel's time.
std::optional<KnownTime> verdict_time(const Verdict& verdict);
// Of all measurements together, each with the weight of its interval, on a logarithmic scale. None unless all of them
// found the kernel right and have a time.
std::optional<KnownTime> measured_time(const std::vector<std::shared_ptr<const Verdict>>& measurements);

// Faster, and more than chance and rounding explain.
bool clearly_faster(const KnownTime& a, const KnownTime& b);

// One more measurement of each is wanted: `a` seems to be faster by more than half a percent,
// and it is not clear yet.
bool undecided(const KnownTime& a, const KnownTime& b);

}  // namespace kw
