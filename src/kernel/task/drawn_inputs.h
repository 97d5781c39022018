#pragma once
// Large inputs by recipe: each element is drawn from a table of properly made values by a hash of its place, so that
// whoever needs them makes the same bytes where they are needed: here, in a worker on the device (kw_draw in
// gpu/helper_kernels.h), and in PyTorch's process (reference/torch/drawn_tensor.h). Only whole-number arithmetic and
// comparisons: the three agree bit for bit.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernel/task/dtype.h"

namespace kw {

struct DrawRecipe {
  // Elements are words of 1, 2, 4 or 8 bytes that are copied, or floats whose last bits are drawn too.
  enum class Kind : std::uint64_t { words, floats, doubles };
  Kind kind = Kind::words;
  std::uint64_t element_bytes = 4;
  std::uint64_t table_elements = 1;  // a power of two
  std::uint64_t key = 0;
  bool has_range = false;  // values that would leave it keep their last bits
  double low = 0, high = 0;
  // Lines (rows, say) of unlike values: the table has so many parts, and a hash of the line says from which of them all
  // its elements are drawn.
  std::uint64_t line_elements = 0;  // 0: no lines
  std::uint64_t parts = 1;          // a power of two, at most 64 and the table's elements
  std::uint64_t steady_parts = 0;   // bit k: with part k, a line has one value

  bool is_sound() const;
};

// Fills `into` (a whole number of elements).
void draw(const DrawRecipe& recipe, std::string_view table, std::string& into);
// `bytes` of them, from element `first` on: every element is drawn by itself.
void draw_part(const DrawRecipe& recipe, std::string_view table, std::uint64_t first, std::byte* into,
               std::size_t bytes);

}  // namespace kw
