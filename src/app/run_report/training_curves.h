#pragma once
// The learning curves of a run, with how well each point is known.

#include <vector>

#include "app/run_report/run_parts.h"
#include "base/page/svg_chart.h"

namespace kw {

// Reinforcement learning first, then supervised training.
std::vector<Curve> training_curves(const RunParts& parts);

// How the points of these curves came about, a sentence or two.
std::string curves_note(const RunParts& parts);

}  // namespace kw
