#pragma once
// Part of emulate_bench: what the lane operations themselves cost.

namespace kw {

// Of the forms that fill real kernels: the slowest against the median one, and multiplication with subnormal numbers
// against multiplication with ordinary ones, in each build that this machine runs.
void report_lane_ratios();

// ns per warp instruction of every form in every build, with all lanes and with half of them.
void report_every_lane_form();

}  // namespace kw
