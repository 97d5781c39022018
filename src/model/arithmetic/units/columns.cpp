#include "model/arithmetic/units/columns.h"

#include <algorithm>

#include "model/arithmetic/units/quants.h"

namespace kw::KW_UNIT {
namespace {

// Units of a quantised panel: panel_lanes wide, of which [lane, lane + width) are wanted. The products of scales and
// quants are exact but for q6_k's, so one rounding is the format's own, fused or not.
template <BlockFormat format>
void expand_units(Bytes from, std::int64_t panel_lanes, std::int64_t lane, std::int64_t width, std::int64_t units,
                  float* to) {
  constexpr QuantLayout layout = quant_layout(format);
  constexpr int scale_bytes = layout.scale_bytes == 8 ? 4 : layout.scale_bytes;
  for (std::int64_t unit = 0; unit < units;
       ++unit, from += panel_lanes * layout.unit_bytes(), to += unit_depth * width) {
    prefetch_unit(from + 4 * panel_lanes * layout.unit_bytes(), panel_lanes * layout.unit_bytes());
    const Bytes minima = from + layout.scale_bytes * panel_lanes, quants = minima + layout.minimum_bytes * panel_lanes;
    for (std::int64_t j = 0; j < width; j += lanes) {
      const std::int64_t at = lane + j;
      const Floats scale = scales_at<scale_bytes>(from + scale_bytes * at);
      if constexpr (layout.quant_bytes == 32) {
        const Floats second =
            layout.scale_bytes == 8 ? scales_at<scale_bytes>(from + scale_bytes * (panel_lanes + at)) : scale;
        for (int k = 0; k < 16; ++k) store(to + k * width + j, of_int8(quants + k * panel_lanes + at) * scale);
        for (int k = 16; k < 32; ++k) store(to + k * width + j, of_int8(quants + k * panel_lanes + at) * second);
      } else {
        const Floats minimum = layout.minimum_bytes == 0 ? zero() : scales_at<scale_bytes>(minima + scale_bytes * at);
        for (int word = 0; word < 4; ++word) {
          float* eight = to + 8 * word * width + j;
          each_nibble(quants + 4 * (word * panel_lanes + at), format == BlockFormat::q4_0 ? -8.0f : 0.0f,
                      [&](int i, Floats quant) {
                        store(eight + i * width,
                              format == BlockFormat::q4_0 ? quant * scale : fma(scale, quant, minimum));
                      });
        }
      }
    }
  }
}

template <Floats (*convert)(const void*)>
void expand_halves(Bytes from, std::int64_t panel_lanes, std::int64_t lane, std::int64_t width, std::int64_t depth,
                   float* to) {
  for (std::int64_t k = 0; k < depth; ++k, from += 2 * panel_lanes, to += width) {
    for (std::int64_t j = 0; j < width; j += lanes) store(to + j, convert(from + 2 * (lane + j)));
  }
}

ColumnBlock fetch_packed(const ProductColumns& b, std::int64_t whole_depth, std::int64_t first_depth,
                         std::int64_t depth, std::int64_t first, std::int64_t width, float* buffer) {
  const std::int64_t panel = first / panel_width * panel_width, panel_lanes = width_at(b.columns, panel);
  const std::int64_t lane = first - panel;
  const Bytes from = reinterpret_cast<Bytes>(b.data) + panel * packed_bytes(b.format, whole_depth) +
                     panel_lanes * packed_bytes(b.format, first_depth);
  const std::int64_t units = depth / unit_depth;
  switch (b.format) {
    case BlockFormat::f32:
      return {reinterpret_cast<const float*>(from) + lane, panel_lanes};
    case BlockFormat::f16:
      expand_halves<of_halves>(from, panel_lanes, lane, width, depth, buffer);
      break;
    case BlockFormat::bf16:
      expand_halves<of_bf16>(from, panel_lanes, lane, width, depth, buffer);
      break;
    case BlockFormat::q8_0:
      expand_units<BlockFormat::q8_0>(from, panel_lanes, lane, width, units, buffer);
      break;
    case BlockFormat::q4_0:
      expand_units<BlockFormat::q4_0>(from, panel_lanes, lane, width, units, buffer);
      break;
    case BlockFormat::q4_1:
      expand_units<BlockFormat::q4_1>(from, panel_lanes, lane, width, units, buffer);
      break;
    case BlockFormat::q4_k:
      expand_units<BlockFormat::q4_k>(from, panel_lanes, lane, width, units, buffer);
      break;
    case BlockFormat::q6_k:
      expand_units<BlockFormat::q6_k>(from, panel_lanes, lane, width, units, buffer);
      break;
  }
  return {buffer, width};
}

// Rows of four become columns: eight rows of eight floats at a time.
inline void transpose_eight(const float* from, std::int64_t stride, float* to, std::int64_t to_stride) {
  __m256 r[8], s[8];
  for (int i = 0; i < 4; ++i) {  // row i beside row i + 4, in halves
    const float *upper = from + i * stride, *lower = from + (i + 4) * stride;
    r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(upper)), _mm_loadu_ps(lower), 1);
    r[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(upper + 4)), _mm_loadu_ps(lower + 4), 1);
  }
  for (int h = 0; h < 8; h += 4) {
    s[h] = _mm256_unpacklo_ps(r[h], r[h + 1]);
    s[h + 1] = _mm256_unpackhi_ps(r[h], r[h + 1]);
    s[h + 2] = _mm256_unpacklo_ps(r[h + 2], r[h + 3]);
    s[h + 3] = _mm256_unpackhi_ps(r[h + 2], r[h + 3]);
    _mm256_storeu_ps(to + (h + 0) * to_stride, _mm256_shuffle_ps(s[h], s[h + 2], 0x44));
    _mm256_storeu_ps(to + (h + 1) * to_stride, _mm256_shuffle_ps(s[h], s[h + 2], 0xee));
    _mm256_storeu_ps(to + (h + 2) * to_stride, _mm256_shuffle_ps(s[h + 1], s[h + 3], 0x44));
    _mm256_storeu_ps(to + (h + 3) * to_stride, _mm256_shuffle_ps(s[h + 1], s[h + 3], 0xee));
  }
}

// A weight whose outputs are the depth: panels are expanded as they lie and turned over.
ColumnBlock fetch_packed_depth(const ProductColumns& b, std::int64_t out, std::int64_t first_depth, std::int64_t depth,
                               std::int64_t first, std::int64_t width, float* buffer) {
  alignas(64) float expanded[panel_width * panel_width];
  ProductColumns outputs = b;
  outputs.columns = out;
  const std::int64_t there = std::min(width, b.columns - first), whole = there / 8 * 8;
  for (std::int64_t panel = first_depth; panel < first_depth + depth; panel += panel_width) {
    const std::int64_t panel_lanes = width_at(out, panel);
    const ColumnBlock from = fetch_packed(outputs, b.columns, first, there, panel, panel_lanes, expanded);
    float* to = buffer + (panel - first_depth) * width;
    for (std::int64_t o = 0; o < panel_lanes; o += 8) {
      for (std::int64_t i = 0; i < whole; i += 8) {
        transpose_eight(from.data + i * from.depth_stride + o, from.depth_stride, to + o * width + i, width);
      }
    }
    for (std::int64_t o = 0; o < panel_lanes; ++o) {
      for (std::int64_t i = whole; i < width; ++i) {
        to[o * width + i] = i < there ? from.data[i * from.depth_stride + o] : 0.0f;
      }
    }
  }
  return {buffer, width};
}

}  // namespace

ColumnBlock fetch_columns(const ProductColumns& b, std::int64_t whole_depth, std::int64_t first_depth,
                          std::int64_t depth, std::int64_t first, std::int64_t width, float* buffer) {
  if (b.kind == ProductColumns::Kind::packed) {
    return fetch_packed(b, whole_depth, first_depth, depth, first, width, buffer);
  }
  if (b.kind == ProductColumns::Kind::packed_depth) {
    return fetch_packed_depth(b, whole_depth, first_depth, depth, first, width, buffer);
  }
  const auto* floats = reinterpret_cast<const float*>(b.data);
  const std::int64_t there = std::min(width, b.columns - first);  // the others are zero
  if (b.kind == ProductColumns::Kind::by_depth) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const float* from = floats + (first_depth + k) * b.stride + first;
      for (std::int64_t j = 0; j < width; j += lanes) {
        const std::int64_t count = std::clamp<std::int64_t>(there - j, 0, lanes);
        store(buffer + k * width + j, get(from + j, count));
      }
    }
    return {buffer, width};
  }
  const std::int64_t whole_columns = there / 8 * 8, whole_rows = depth / 8 * 8;
  for (std::int64_t j = 0; j < whole_columns; j += 8) {
    const float* from = floats + (first + j) * b.stride + first_depth;
    for (std::int64_t k = 0; k < whole_rows; k += 8) transpose_eight(from + k, b.stride, buffer + k * width + j, width);
  }
  for (std::int64_t j = 0; j < width; ++j) {
    for (std::int64_t k = j < whole_columns ? whole_rows : 0; k < depth; ++k) {
      buffer[k * width + j] = j < there ? floats[(first + j) * b.stride + first_depth + k] : 0.0f;
    }
  }
  return {buffer, width};
}

}  // namespace kw::KW_UNIT
