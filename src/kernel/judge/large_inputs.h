#pragma once
// Inputs of full-size cases, quickly: values drawn from a table of properly made ones, so that sixteen million of them
// take a twentieth of a second instead of half of one.

#include <optional>

#include "kernel/task/drawn_inputs.h"
#include "kernel/task/input_values.h"

namespace kw {

struct LargeInput {
  InputTensor tensor;                // its bytes, when there is no recipe
  std::optional<DrawRecipe> recipe;  // how its bytes are made, when it is large
  std::string table;                 // of the recipe
  std::size_t elements = 0;

  std::size_t bytes() const { return elements * bytes_of(tensor.dtype); }
};
// All tensors with their bytes, drawn on all cores.
std::vector<InputTensor> drawn_tensors(const std::vector<LargeInput>& inputs);

// For whoever draws them himself: tables with their recipes, where there are any.
std::vector<InputTensor> tensors_to_draw(const std::vector<LargeInput>& inputs);
// Some elements, with their bytes one after the other.
std::string drawn_elements(const LargeInput& input, const std::vector<std::int64_t>& places);

// Tensors depend on `seed`, scalars on `scalar_seed` (they are part of the launch plan, which is made before). Values
// of float32 and float64 tensors are all different in their last bits, so that a maximum has one place.
Result<std::vector<LargeInput>> make_large_inputs(const Task& task, const Sizes& sizes, std::uint64_t seed,
                                                  std::uint64_t scalar_seed);

// How values like those of the tensor are drawn from a table of them.
DrawRecipe recipe_for(const TensorSpec& spec, std::uint64_t key);

}  // namespace kw
