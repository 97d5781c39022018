#include "judge/large_inputs.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kw {
namespace {

constexpr std::int64_t table_elements = 1 << 18;

std::uint64_t mix(std::uint64_t z) {  // SplitMix64's
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// The low bits of a float change it by less than a hundredth, and keep it on its side of every power of two. A range is
// a promise: values that would leave it stay as they are.
template <class Float, class Bits, unsigned free_bits>
void draw_floats(const std::string& table, std::uint64_t key, const UniformValues* range, std::string& into) {
  const auto* from = reinterpret_cast<const Float*>(table.data());
  auto* to = reinterpret_cast<Float*>(into.data());
  const std::size_t count = into.size() / sizeof(Float);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t drawn = mix(key + i * 0x9E3779B97F4A7C15u);
    const Float value = from[drawn % table_elements];
    const auto bits = std::bit_cast<Bits>(value) ^ static_cast<Bits>((drawn >> 20) & ((Bits{1} << free_bits) - 1));
    const auto changed = std::bit_cast<Float>(bits);
    const bool stays =
        range == nullptr || (changed >= static_cast<Float>(range->low) && changed <= static_cast<Float>(range->high));
    to[i] = stays && value != 0 ? changed : value;
  }
}

template <class Word>
void draw_words(const std::string& table, std::uint64_t key, std::string& into) {
  const auto* from = reinterpret_cast<const Word*>(table.data());
  auto* to = reinterpret_cast<Word*>(into.data());
  const std::size_t count = into.size() / sizeof(Word);
  for (std::size_t i = 0; i < count; ++i) to[i] = from[mix(key + i * 0x9E3779B97F4A7C15u) % table_elements];
}

void draw(const TensorSpec& spec, const std::string& table, std::uint64_t key, std::string& into) {
  const auto* range = std::get_if<UniformValues>(&spec.values);
  const bool whole_numbers = std::holds_alternative<IntegerValues>(spec.values);
  if (spec.dtype == Dtype::float32 && !whole_numbers) {
    draw_floats<float, std::uint32_t, 16>(table, key, range, into);
  } else if (spec.dtype == Dtype::float64 && !whole_numbers) {
    draw_floats<double, std::uint64_t, 40>(table, key, range, into);
  } else {
    switch (bytes_of(spec.dtype)) {
      case 1:
        return draw_words<std::uint8_t>(table, key, into);
      case 2:
        return draw_words<std::uint16_t>(table, key, into);
      case 4:
        return draw_words<std::uint32_t>(table, key, into);
      default:
        return draw_words<std::uint64_t>(table, key, into);
    }
  }
}

}  // namespace

Result<std::vector<InputTensor>> make_large_inputs(const Task& task, const Sizes& sizes, std::uint64_t seed,
                                                   std::uint64_t scalar_seed) {
  KW_TRY_VOID(task.check_sizes(sizes));
  std::vector<InputTensor> tensors;
  for (std::size_t place = 0; place < task.inputs.size(); ++place) {
    const TensorSpec& spec = task.inputs[place];
    InputTensor tensor{spec.name, spec.dtype, {}, {}};
    KW_TRY(tensor.shape, spec.shape_at(sizes));
    KW_TRY(const std::int64_t elements, spec.elements_at(sizes));
    KW_TRY(std::string made,
           make_input_beginning(task, place, sizes, spec.is_scalar() ? scalar_seed : seed, table_elements));
    if (elements > table_elements) {
      tensor.bytes.resize(static_cast<std::size_t>(elements) * bytes_of(spec.dtype));
      draw(spec, made, mix(seed ^ (place + 1)), tensor.bytes);
    } else {
      tensor.bytes = std::move(made);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace kw
