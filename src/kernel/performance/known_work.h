#pragma once
// What blocks say about a grid: how far samples differ, and what blocks of known work tell of the whole.

#include <vector>

#include "kernel/performance/performance.h"

namespace kw {

// An extrapolated count against the true one.
bool agrees(double counted, double truth);

// (largest - smallest) / largest.
double relative_range(const std::vector<double>& values);

// Of the mean of values at places, relative. Neighbours are compared, so that work which grows evenly over the grid
// (the rows of a triangle) does not look like noise.
double error_of_mean(std::vector<std::pair<double, double>> values_by_place);

// By how much the grid's work is larger than the `sampled` warp instructions: 1 where the executed blocks do not say
// so. Work / share of blocks that were found by random elements estimates all of it (Horvitz and Thompson, 1952); and
// it is never less than what the executed blocks did together.
double more_work(const std::vector<ExecutedBlock>& executed, double sampled);

}  // namespace kw
