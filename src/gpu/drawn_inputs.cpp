#include "gpu/drawn_inputs.h"

#include <bit>

#include "base/check.h"

namespace kw {
namespace {

constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;

std::uint64_t mix(std::uint64_t z) {  // SplitMix64's
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// The free bits change a float by less than a hundredth, and keep it on its side of every power of two.
template <class Float, class Bits, unsigned free_bits>
void draw_floats(const DrawRecipe& recipe, std::string_view table, std::uint64_t first, std::byte* into,
                 std::size_t bytes) {
  const auto* from = reinterpret_cast<const Float*>(table.data());
  auto* to = reinterpret_cast<Float*>(into);
  const std::size_t count = bytes / sizeof(Float);
  const auto low = static_cast<Float>(recipe.low), high = static_cast<Float>(recipe.high);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t drawn = mix(recipe.key + (first + i) * golden);
    const Float value = from[drawn & (recipe.table_elements - 1)];
    const auto bits = std::bit_cast<Bits>(value) ^ static_cast<Bits>((drawn >> 20) & ((Bits{1} << free_bits) - 1));
    const auto changed = std::bit_cast<Float>(bits);
    const bool stays = !recipe.has_range || (changed >= low && changed <= high);
    to[i] = stays && value != 0 ? changed : value;
  }
}

template <class Word>
void draw_words(const DrawRecipe& recipe, std::string_view table, std::uint64_t first, std::byte* into,
                std::size_t bytes) {
  const auto* from = reinterpret_cast<const Word*>(table.data());
  auto* to = reinterpret_cast<Word*>(into);
  const std::size_t count = bytes / sizeof(Word);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = from[mix(recipe.key + (first + i) * golden) & (recipe.table_elements - 1)];
}

}  // namespace

void draw_part(const DrawRecipe& recipe, std::string_view table, std::uint64_t first, std::byte* into,
               std::size_t bytes) {
  KW_CHECK(std::has_single_bit(recipe.table_elements));
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
