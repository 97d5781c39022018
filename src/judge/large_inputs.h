#pragma once
// Inputs of full-size cases, quickly: values drawn from a table of properly made ones, so that sixteen million of them
// take a twentieth of a second instead of half of one.

#include "task/input_values.h"

namespace kw {

// Tensors depend on `seed`, scalars on `scalar_seed` (they are part of the launch plan, which is made before). Values
// of float32 and float64 tensors are all different in their last bits, so that a maximum has one place.
Result<std::vector<InputTensor>> make_large_inputs(const Task& task, const Sizes& sizes, std::uint64_t seed,
                                                   std::uint64_t scalar_seed);

}  // namespace kw
