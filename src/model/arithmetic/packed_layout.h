#pragma once
// How a PackedWeight lies in memory, for the kernels that read it.
//
// Panels of 64 outputs one after the other; the last one may be 16, 32 or 48 wide (outputs beyond the weight are zero).
// f32, f16 and bf16: (in, width). The quantised formats: for every 32 elements of `in` one unit of
//   scales (width), minima (width) where the format has them, then the quants,
// scales and minima as the format's halves, or as floats where they are products (q4_k, q6_k; q6_k has two scales, for
// 16 elements each). Quants: int8 (32, width), or for 4 bits uint32 (4, width), each with eight elements of its output,
// the first in the lowest bits.

#include <cstddef>
#include <cstdint>

#include "model/weights/gguf_blocks.h"

namespace kw {

inline constexpr std::int64_t panel_width = 64;
inline constexpr std::int64_t lane_count = 16;
inline constexpr std::int64_t unit_depth = 32;  // elements of `in` in a unit of a quantised format

struct QuantLayout {
  int scale_bytes = 0;    // of the scales of one output in a unit
  int minimum_bytes = 0;  // the minima, likewise
  int quant_bytes = 0;    // the quants, likewise
  std::int64_t unit_bytes() const { return scale_bytes + minimum_bytes + quant_bytes; }  // of one output
};

constexpr bool is_quantised(BlockFormat format) { return format >= BlockFormat::q8_0; }

constexpr QuantLayout quant_layout(BlockFormat format) {
  switch (format) {
    case BlockFormat::q8_0:
      return {2, 0, 32};
    case BlockFormat::q4_0:
      return {2, 0, 16};
    case BlockFormat::q4_1:
      return {2, 2, 16};
    case BlockFormat::q4_k:
      return {4, 4, 16};
    case BlockFormat::q6_k:
      return {8, 0, 32};
    default:
      return {};
  }
}

// Bytes of `depth` elements (a whole number of units) of one output.
constexpr std::int64_t packed_bytes(BlockFormat format, std::int64_t depth) {
  if (format == BlockFormat::f32) return 4 * depth;
  if (format == BlockFormat::f16 || format == BlockFormat::bf16) return 2 * depth;
  return depth / unit_depth * quant_layout(format).unit_bytes();
}

constexpr std::int64_t lanes_up(std::int64_t outputs) { return (outputs + lane_count - 1) / lane_count * lane_count; }

// Width of the panel that begins at output `first`.
constexpr std::int64_t width_at(std::int64_t out, std::int64_t first) {
  return out - first >= panel_width ? panel_width : lanes_up(out - first);
}

// One output of a packed weight (out, in) as floats.
void read_packed_output(BlockFormat format, const std::byte* data, std::int64_t out, std::int64_t in, std::int64_t row,
                        float* values);

}  // namespace kw
