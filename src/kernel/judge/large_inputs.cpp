#include "kernel/judge/large_inputs.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/parallel_for.h"

namespace kw {
namespace {

constexpr std::int64_t table_elements = 1 << 18;
constexpr std::size_t piece_elements = 1 << 20;  // that one core draws at a time

// Room for many bytes, in large pages where the system has them: to clear small ones takes longer than to draw.
void reserve(std::string& text, std::size_t bytes) {
  constexpr std::size_t large_page = 2 << 20;
  text.reserve(bytes);
  const auto begin = (reinterpret_cast<std::uintptr_t>(text.data()) + large_page - 1) / large_page * large_page;
  const auto end = (reinterpret_cast<std::uintptr_t>(text.data()) + bytes) / large_page * large_page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a wish
}

// Every element is drawn by itself, so the pieces' order is nobody's business.
void draw_on_all_cores(const LargeInput& input, std::string& into) {
  const std::size_t width = input.recipe->element_bytes, piece = piece_elements * width;
  parallel_for((into.size() + piece - 1) / piece, core_count(), [&](std::size_t i) {
    draw_part(*input.recipe, input.table, i * piece_elements, reinterpret_cast<std::byte*>(into.data() + i * piece),
              std::min(piece, into.size() - i * piece));
  });
}

}  // namespace

std::vector<InputTensor> drawn_tensors(const std::vector<LargeInput>& inputs) {
  std::vector<InputTensor> tensors;
  for (const LargeInput& input : inputs) {
    tensors.push_back(input.tensor);
    if (!input.recipe) continue;
    reserve(tensors.back().bytes, input.bytes());
    tensors.back().bytes.resize(input.bytes());
    draw_on_all_cores(input, tensors.back().bytes);
  }
  return tensors;
}

std::vector<InputTensor> tensors_to_draw(const std::vector<LargeInput>& inputs) {
  std::vector<InputTensor> tensors;
  for (const LargeInput& input : inputs) {
    tensors.push_back(input.tensor);
    if (!input.recipe) continue;
    tensors.back().bytes = input.table;
    tensors.back().recipe = input.recipe;
  }
  return tensors;
}

std::string drawn_elements(const LargeInput& input, const std::vector<std::int64_t>& places) {
  const std::size_t width = bytes_of(input.tensor.dtype);
  std::string made(places.size() * width, '\0');
  for (std::size_t i = 0; i < places.size();) {
    std::size_t end = i + 1;  // of neighbours
    while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
    const auto first = static_cast<std::uint64_t>(places[i]);
    if (input.recipe)
      draw_part(*input.recipe, input.table, first, reinterpret_cast<std::byte*>(made.data() + i * width),
                (end - i) * width);
    else
      input.tensor.bytes.copy(made.data() + i * width, (end - i) * width, first * width);
    i = end;
  }
  return made;
}

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

Result<std::vector<LargeInput>> make_large_inputs(const Task& task, const Sizes& sizes, std::uint64_t seed,
                                                  std::uint64_t scalar_seed) {
  KW_TRY_VOID(task.check_sizes(sizes));
  std::vector<LargeInput> inputs;
  for (std::size_t place = 0; place < task.inputs.size(); ++place) {
    const TensorSpec& spec = task.inputs[place];
    LargeInput input{{spec.name, spec.dtype, {}, {}}, {}, {}, 0};
    KW_TRY(input.tensor.shape, spec.shape_at(sizes));
    KW_TRY(const std::int64_t elements, spec.elements_at(sizes));
    input.elements = static_cast<std::size_t>(elements);
    const std::uint64_t its_seed = spec.is_scalar() ? scalar_seed : seed;
    KW_TRY(std::string made, make_input_beginning(task, place, sizes, its_seed, table_elements));
    if (elements > table_elements) {
      input.recipe = recipe_for(spec, seed * 0x9E3779B97F4A7C15u ^ (place + 1) * 0xBF58476D1CE4E5B9u);
      input.table = std::move(made);
    } else {
      input.tensor.bytes = std::move(made);
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace kw
