#include "kernel/task/drawn_inputs.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/check.h"

namespace kw {
namespace {

constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;

std::uint64_t mix(std::uint64_t z) {  // SplitMix64's
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Elements that are drawn from one part of the table.
struct Stretch {
  std::size_t count = 0;
  const char* part = nullptr;
  std::uint64_t mask = 0;               // of places in the part
  std::optional<std::uint64_t> steady;  // what is drawn for all of them
};

template <class Each>
void for_stretches(const DrawRecipe& recipe, std::string_view table, std::uint64_t first, std::size_t count,
                   const Each& each) {
  const std::uint64_t part_elements = recipe.table_elements / recipe.parts;
  if (recipe.line_elements == 0) return each(first, Stretch{count, table.data(), recipe.table_elements - 1, {}});
  for (std::uint64_t at = first, end = first + count; at < end;) {
    const std::uint64_t number = at / recipe.line_elements;
    const std::uint64_t line = mix(~recipe.key + number * golden), part = line & (recipe.parts - 1);
    Stretch stretch{std::min(end, (number + 1) * recipe.line_elements) - at,
                    table.data() + part * part_elements * recipe.element_bytes,
                    part_elements - 1,
                    {}};
    if ((recipe.steady_parts >> part & 1) != 0) stretch.steady = mix(line + golden);
    each(at, stretch);
    at += stretch.count;
  }
}

// The free bits change a float by less than a hundredth, and keep it on its side of every power of two.
template <class Float, class Bits, unsigned free_bits>
void draw_floats(const DrawRecipe& recipe, std::string_view table, std::uint64_t first, std::byte* into,
                 std::size_t bytes) {
  auto* to = reinterpret_cast<Float*>(into);
  const auto low = static_cast<Float>(recipe.low), high = static_cast<Float>(recipe.high);
  for_stretches(recipe, table, first, bytes / sizeof(Float), [&](std::uint64_t begin, const Stretch& stretch) {
    const auto* from = reinterpret_cast<const Float*>(stretch.part);
    for (std::size_t i = 0; i < stretch.count; ++i) {
      const std::uint64_t drawn = stretch.steady ? *stretch.steady : mix(recipe.key + (begin + i) * golden);
      const Float value = from[drawn & stretch.mask];
      const auto bits = std::bit_cast<Bits>(value) ^ static_cast<Bits>((drawn >> 20) & ((Bits{1} << free_bits) - 1));
      const auto changed = std::bit_cast<Float>(bits);
      const bool stays = !recipe.has_range || (changed >= low && changed <= high);
      *to++ = stays && value != 0 ? changed : value;
    }
  });
}

template <class Word>
void draw_words(const DrawRecipe& recipe, std::string_view table, std::uint64_t first, std::byte* into,
                std::size_t bytes) {
  auto* to = reinterpret_cast<Word*>(into);
  for_stretches(recipe, table, first, bytes / sizeof(Word), [&](std::uint64_t begin, const Stretch& stretch) {
    const auto* from = reinterpret_cast<const Word*>(stretch.part);
    if (stretch.steady) {
      std::fill_n(to, stretch.count, from[*stretch.steady & stretch.mask]);
    } else {
      for (std::size_t i = 0; i < stretch.count; ++i)
        to[i] = from[mix(recipe.key + (begin + i) * golden) & stretch.mask];
    }
    to += stretch.count;
  });
}

}  // namespace

bool DrawRecipe::is_sound() const {
  return std::has_single_bit(table_elements) && std::has_single_bit(parts) && parts <= 64 && parts <= table_elements;
}

void draw_part(const DrawRecipe& recipe, std::string_view table, std::uint64_t first, std::byte* into,
               std::size_t bytes) {
  KW_CHECK(recipe.is_sound());
  KW_CHECK(table.size() == recipe.table_elements * recipe.element_bytes && bytes % recipe.element_bytes == 0);
  using Kind = DrawRecipe::Kind;
  if (recipe.kind == Kind::floats) return draw_floats<float, std::uint32_t, 16>(recipe, table, first, into, bytes);
  if (recipe.kind == Kind::doubles) return draw_floats<double, std::uint64_t, 40>(recipe, table, first, into, bytes);
  switch (recipe.element_bytes) {
    case 1:
      return draw_words<std::uint8_t>(recipe, table, first, into, bytes);
    case 2:
      return draw_words<std::uint16_t>(recipe, table, first, into, bytes);
    case 4:
      return draw_words<std::uint32_t>(recipe, table, first, into, bytes);
    default:
      KW_CHECK(recipe.element_bytes == 8);
      return draw_words<std::uint64_t>(recipe, table, first, into, bytes);
  }
}

void draw(const DrawRecipe& recipe, std::string_view table, std::string& into) {
  draw_part(recipe, table, 0, reinterpret_cast<std::byte*>(into.data()), into.size());
}

}  // namespace kw
