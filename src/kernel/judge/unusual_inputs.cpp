#include "kernel/judge/unusual_inputs.h"

#include <algorithm>
#include <optional>

#include "base/random.h"

namespace kw {
namespace {

constexpr std::uint64_t part_elements = 1 << 15;
constexpr std::size_t parts = 8;
constexpr std::int64_t lines_of_a_vector = 64;

// What the lines of a part hold. `kind` says whether that is fair.
struct Part {
  InputKind kind = InputKind::ordinary;
  bool steady = false;  // a line has one value
};
using Parts = std::array<Part, parts>;

constexpr Part usual{};
constexpr Part constant{InputKind::patterned, true}, few{InputKind::patterned, false};
constexpr Part end_of_range{InputKind::extreme, true}, ends_of_range{InputKind::extreme, false};
constexpr Part of(InputKind kind) { return {kind, false}; }

// No constant lines of real values: they leave nothing but rounding errors to whoever divides by a line's spread.
constexpr Parts level_parts = {usual, of(InputKind::negative), of(InputKind::zero), of(InputKind::tiny), few, few,
                               usual, of(InputKind::negative)};
constexpr Parts strong_parts = {of(InputKind::large), of(InputKind::offset), of(InputKind::outlier), usual,
                                of(InputKind::large), of(InputKind::offset), of(InputKind::outlier), usual};
constexpr Parts level_range_parts = {usual, few, few, ends_of_range, ends_of_range, usual, few, usual};
constexpr Parts level_number_parts = {usual, constant, few, end_of_range, ends_of_range, usual, end_of_range, usual};
constexpr Parts strong_range_parts = {end_of_range, end_of_range, end_of_range, end_of_range,
                                      end_of_range, end_of_range, end_of_range, end_of_range};
constexpr Part same_number{InputKind::repeated, true};
constexpr Parts strong_number_parts = {same_number, same_number, same_number, same_number,
                                       same_number, same_number, same_number, same_number};

const Parts& parts_of(const TensorSpec& spec, InputMix mix) {
  const bool numbers = std::holds_alternative<IntegerValues>(spec.values);
  const bool range = numbers || std::holds_alternative<UniformValues>(spec.values);
  if (mix == InputMix::level) return numbers ? level_number_parts : range ? level_range_parts : level_parts;
  return numbers ? strong_number_parts : range ? strong_range_parts : strong_parts;
}

bool is_normal(const TensorSpec& spec) {
  return std::holds_alternative<NormalValues>(spec.values) && is_floating_point(spec.dtype) && !spec.is_scalar();
}

bool is_changed(const Task& task, const TensorSpec& spec, InputMix mix, const std::set<InputKind>& fair) {
  const bool known = std::holds_alternative<NormalValues>(spec.values) ||
                     std::holds_alternative<UniformValues>(spec.values) ||
                     std::holds_alternative<IntegerValues>(spec.values);
  if (spec.is_scalar() || !known) return false;
  // A range may have one value everywhere only where other inputs differ.
  if (mix == InputMix::strong && std::holds_alternative<UniformValues>(spec.values) &&
      std::none_of(task.inputs.begin(), task.inputs.end(), is_normal))
    return false;
  const Parts& all = parts_of(spec, mix);
  return std::any_of(all.begin(), all.end(),
                     [&](const Part& part) { return part.kind != InputKind::ordinary && fair.count(part.kind) != 0; });
}

std::int64_t line_length(const std::vector<std::int64_t>& shape, std::int64_t elements, bool whole) {
  if (whole) return elements;
  if (shape.size() < 2) return std::max<std::int64_t>(elements / lines_of_a_vector, 1);
  return shape.back();
}

// One part of the table: values that `made` repeats, changed.
std::string part_of_table(const TensorSpec& spec, const Sizes& sizes, const std::string& made, const Part& part,
                          std::int64_t line, std::uint64_t seed) {
  const std::size_t width = bytes_of(spec.dtype), values = made.size() / width;
  const auto length = std::clamp<std::int64_t>(line, 1, part_elements);
  InputTensor tensor{spec.name, spec.dtype, {1, part_elements}, {}};
  Random random(seed);
  for (std::uint64_t i = 0; i < part_elements; ++i) {
    const auto from = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(values) - 1));
    tensor.bytes.append(made, from * width, width);
  }
  switch (part.kind) {
    case InputKind::ordinary:
      break;
    case InputKind::patterned:
    case InputKind::repeated:
      take_few_values(spec, sizes, tensor, seed);
      break;
    case InputKind::extreme:
      take_extreme_values(spec, sizes, tensor, seed);
      break;
    case InputKind::outlier:
      // About one in each line.
      tensor.shape = {static_cast<std::int64_t>(part_elements) / length, length};
      tensor.bytes.resize(static_cast<std::size_t>(tensor.shape[0] * length) * width);
      change_tensor(spec, sizes, tensor, part.kind, seed);
      tensor.bytes.append(tensor.bytes, 0, part_elements * width - tensor.bytes.size());
      break;
    default:
      change_tensor(spec, sizes, tensor, part.kind, seed);
  }
  return std::move(tensor.bytes);
}

}  // namespace

std::string_view name_of(InputMix mix) { return mix == InputMix::level ? "level" : "strong"; }

std::string_view advice_for(InputMix mix) {
  if (mix == InputMix::level)
    return "Some rows are negative, zero, tiny, constant or at the ends of their range here: does a shortcut at large "
           "sizes assume that values are spread as usual?";
  return "Some rows are large, far from zero or have outliers here, and whole numbers are all the same: mind overflow, "
         "maxima that not all elements take part in, counters and queues.";
}

bool is_of_use(const Task& task, InputMix mix, const std::set<InputKind>& fair) {
  return std::any_of(task.inputs.begin(), task.inputs.end(),
                     [&](const TensorSpec& spec) { return is_changed(task, spec, mix, fair); });
}

Result<std::vector<LargeInput>> make_unusual_inputs(const Task& task, const Sizes& sizes, std::uint64_t seed,
                                                    std::uint64_t scalar_seed, InputMix mix,
                                                    const std::set<InputKind>& fair) {
  KW_TRY(auto inputs, make_large_inputs(task, sizes, seed, scalar_seed));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = task.inputs[i];
    LargeInput& input = inputs[i];
    if (!is_changed(task, spec, mix, fair) || input.elements == 0) continue;
    const auto elements = static_cast<std::int64_t>(input.elements);
    const bool range = !std::holds_alternative<NormalValues>(spec.values);
    DrawRecipe recipe = recipe_for(spec, Random(seed, i).next());
    // Equal values shall be equal to the last bit, where they are a fair question.
    if (fair.count(InputKind::patterned) != 0) recipe.kind = DrawRecipe::Kind::words;
    recipe.table_elements = part_elements * parts;
    recipe.parts = parts;
    recipe.line_elements =
        static_cast<std::uint64_t>(line_length(input.tensor.shape, elements, range && mix == InputMix::strong));
    const std::string made = std::move(input.recipe ? input.table : input.tensor.bytes);
    input.tensor.bytes.clear();
    input.table.clear();
    for (std::size_t k = 0; k < parts; ++k) {
      Part part = parts_of(spec, mix)[k];
      if (fair.count(part.kind) == 0) part = usual;
      if (part.steady) recipe.steady_parts |= std::uint64_t{1} << k;
      input.table += part_of_table(spec, sizes, made, part, static_cast<std::int64_t>(recipe.line_elements),
                                   Random(seed, 100 + i * parts + k).next());
    }
    input.recipe = recipe;
  }
  return inputs;
}

}  // namespace kw
