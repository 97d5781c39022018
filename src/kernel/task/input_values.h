#pragma once
// Fills a task's inputs, reproducibly from a seed: the same bytes for the emulator, the GPU and the reference.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/task/drawn_inputs.h"
#include "kernel/task/task.h"

namespace kw {

struct InputTensor {
  std::string name;
  Dtype dtype = Dtype::float32;
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::string bytes;                // row-major, little endian
  // For references alone (kernel/reference), which make large tensors where they are needed: `bytes` is the table of a
  // recipe.
  std::optional<DrawRecipe> recipe = {};
  bool coarse = false;  // and afterwards rounds them as coarse_inputs() does
};

// Inputs in the task's order. A tensor's values depend on the seed, its place and the sizes, not on the other tensors.
Result<std::vector<InputTensor>> make_inputs(const Task& task, const Sizes& sizes, std::uint64_t seed);

// The first elements, at most `limit`, of an input: the values that make_inputs would give it, when the whole is too
// large to be made.
Result<std::string> make_input_beginning(const Task& task, std::size_t place, const Sizes& sizes, std::uint64_t seed,
                                         std::int64_t limit);

// Round to nearest, ties to even, as the hardware does.
std::uint16_t float16_bits(float value);
std::uint16_t bfloat16_bits(float value);
float float_from_float16(std::uint16_t bits);
float float_from_bfloat16(std::uint16_t bits);

}  // namespace kw
