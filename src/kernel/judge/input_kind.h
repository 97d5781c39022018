#pragma once
// Inputs beyond the task's own distribution, where honest kernels are still right: a maximum that starts at zero
// fails for negative values, an exponential without the usual shift overflows for large ones, a norm without its
// epsilon divides by zero, a variance as a difference of two large sums loses its digits, a counter of 8 bits overflows
// when all items are equal.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernel/task/input_values.h"

namespace kw {

enum class InputKind : std::uint8_t {
  ordinary,
  negative,   // normal: all below zero, so every sum is a long run of one sign
  large,      // normal: up to 160, where exp overflows a float
  zero,       // normal: half of the rows are zero
  offset,     // normal: a mean of several hundred times the spread
  tiny,       // normal: a thousandth, far from anything denormal
  outlier,    // normal: one huge value in each row
  patterned,  // any: rows that are sorted, constant, of few values, of alternating signs
  extreme,    // ranges: runs of the lowest and of the highest value that is promised
  repeated,   // whole numbers: all the same
};
inline constexpr std::array all_input_kinds = {
    InputKind::ordinary, InputKind::negative, InputKind::large,     InputKind::zero,    InputKind::offset,
    InputKind::tiny,     InputKind::outlier,  InputKind::patterned, InputKind::extreme, InputKind::repeated};

std::string_view name_of(InputKind kind);
InputKind input_kind_from(std::string_view name);  // ordinary when there is none of that name

// What to look for in a kernel that is wrong with such inputs; empty for ordinary ones.
std::string_view advice_for(InputKind kind);

// Turns ordinary inputs of these sizes into those of a kind. False when nothing was changed: values that the task calls
// normal may be anything, but a range is a promise, and only the order in it, and where in it, is free; and where the
// reference does not say what it does with equal values (the order of a sort), equal values are an unfair question.
bool change_inputs(const Task& task, const Sizes& sizes, std::vector<InputTensor>& inputs, InputKind kind,
                   std::uint64_t seed);

// The same for one tensor, whatever the reference does with equal values. False: the kind does not change such values.
bool change_tensor(const TensorSpec& spec, const Sizes& sizes, InputTensor& tensor, InputKind kind, std::uint64_t seed);
// Replaces each value by one of few, or, when it has a range, by its lowest or highest.
void take_few_values(const TensorSpec& spec, const Sizes& sizes, InputTensor& tensor, std::uint64_t seed);
void take_extreme_values(const TensorSpec& spec, const Sizes& sizes, InputTensor& tensor, std::uint64_t seed);

// Whether change_inputs would change anything, without values.
bool is_allowed(const Task& task, InputKind kind);

}  // namespace kw
