#pragma once
// Inputs beyond the task's own distribution, where honest kernels are still right: a maximum that starts at zero
// fails for negative values, an exponential without the usual shift overflows for large ones, a norm without its
// epsilon divides by zero.

#include <cstdint>
#include <string_view>
#include <vector>

#include "task/input_values.h"

namespace kw {

enum class InputKind : std::uint8_t { ordinary, negative, large, zero };
std::string_view name_of(InputKind kind);

// Turns ordinary inputs into those of a kind. False when nothing was changed: only values that the task calls normal
// may be anything, a range is a promise; and where the reference does not say what it does with equal values (the order
// of a sort), rows of zeros would be an unfair question.
bool change_inputs(const Task& task, std::vector<InputTensor>& inputs, InputKind kind, std::uint64_t seed);

}  // namespace kw
