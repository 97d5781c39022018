#include "judge/large_inputs.h"

namespace kw {
namespace {

constexpr std::int64_t table_elements = 1 << 18;

DrawRecipe recipe_for(const TensorSpec& spec, std::uint64_t key) {
  DrawRecipe recipe;
  recipe.element_bytes = bytes_of(spec.dtype);
  recipe.table_elements = table_elements;
  recipe.key = key;
  if (!std::holds_alternative<IntegerValues>(spec.values)) {
    if (spec.dtype == Dtype::float32) recipe.kind = DrawRecipe::Kind::floats;
    if (spec.dtype == Dtype::float64) recipe.kind = DrawRecipe::Kind::doubles;
  }
  if (const auto* range = std::get_if<UniformValues>(&spec.values)) {
    recipe.has_range = true;  // a promise
    recipe.low = range->low;
    recipe.high = range->high;
  }
  return recipe;
}

}  // namespace

Result<std::vector<LargeInput>> make_large_inputs(const Task& task, const Sizes& sizes, std::uint64_t seed,
                                                  std::uint64_t scalar_seed) {
  KW_TRY_VOID(task.check_sizes(sizes));
  std::vector<LargeInput> inputs;
  for (std::size_t place = 0; place < task.inputs.size(); ++place) {
    const TensorSpec& spec = task.inputs[place];
    LargeInput input{{spec.name, spec.dtype, {}, {}}, {}, {}};
    KW_TRY(input.tensor.shape, spec.shape_at(sizes));
    KW_TRY(const std::int64_t elements, spec.elements_at(sizes));
    const std::uint64_t its_seed = spec.is_scalar() ? scalar_seed : seed;
    KW_TRY(std::string made, make_input_beginning(task, place, sizes, its_seed, table_elements));
    if (elements > table_elements) {
      input.recipe = recipe_for(spec, seed * 0x9E3779B97F4A7C15u ^ (place + 1) * 0xBF58476D1CE4E5B9u);
      input.table = std::move(made);
      input.tensor.bytes.resize(static_cast<std::size_t>(elements) * bytes_of(spec.dtype));
      draw(*input.recipe, input.table, input.tensor.bytes);
    } else {
      input.tensor.bytes = std::move(made);
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace kw
