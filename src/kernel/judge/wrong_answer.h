#pragma once
// A wrong result, in words that help to find the mistake: which element, how far off, which elements are affected, and
// which line stored it.

#include <string>

#include "kernel/judge/case_book.h"
#include "kernel/judge/emulated_device.h"
#include "kernel/judge/verdict.h"

namespace kw {

struct WrongAnswer {
  const Task& task;
  const Case& one;
  const TensorSpec& output;
  const Comparison& comparison;
  const std::string& bytes;  // of the output
};

// "y[3][128]", or "y" for an output of one element.
std::string element_name(const TensorSpec& tensor, const Sizes& sizes, std::int64_t index);

VerdictFinding describe(const WrongAnswer& wrong);

// The line of the last store to the worst element; 0 when it is not known.
int find_storing_line(EmulatedDevice& device, const LaunchPlan& plan, const WrongAnswer& wrong, std::size_t output,
                      const RunLimits& limits);

}  // namespace kw
