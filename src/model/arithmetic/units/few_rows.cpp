#include "model/arithmetic/units/few_rows.h"

#include <array>
#include <utility>

#include "model/arithmetic/units/quants.h"
#include "model/arithmetic/units/tile.h"

namespace kw::KW_UNIT {

#if defined(__AVX512F__)

namespace {

constexpr int most_rows = 16;  // in passes of up to six, which find the strip in the cache

// Columns of one panel: panel_lanes wide, of which those from `lane` on are wanted.
struct Strip {
  Bytes units;
  std::int64_t panel_lanes, lane, unit_count;
  const float* a;
  std::int64_t a_row;
};

// Eight quants of each of sixteen outputs; next() gives one of each, as floats.
struct NibbleReader {
  __m512i words;
  Floats next(__m512 table) {
    const Floats quants{_mm512_permutexvar_ps(words, table)};  // looks at the lowest four bits only
    words = _mm512_srli_epi32(words, 4);
    return quants;
  }
};

template <BlockFormat format, int rows, int vectors>
inline __attribute__((always_inline)) void multiply_units(const Strip& strip, Tile<rows, vectors>& tile) {
  constexpr QuantLayout layout = quant_layout(format);
  constexpr int scale_bytes = layout.scale_bytes == 8 ? 4 : layout.scale_bytes;
  const std::int64_t unit_bytes = strip.panel_lanes * layout.unit_bytes();
  const __m512 table = nibble_values(format == BlockFormat::q4_0 ? -8.0f : 0.0f);
  const float* a = strip.a;
  Bytes unit = strip.units;
  const auto multiply = [&](std::int64_t k, int v, Floats weights) {
    for (int r = 0; r < rows; ++r) tile.sum[r][v] = fma(all(a[r * strip.a_row + k]), weights, tile.sum[r][v]);
  };
  for (std::int64_t i = 0; i < strip.unit_count; ++i, unit += unit_bytes, a += unit_depth) {
    prefetch_unit(unit + 4 * unit_bytes, unit_bytes);
    const Bytes minima = unit + layout.scale_bytes * strip.panel_lanes;
    const Bytes quants = minima + layout.minimum_bytes * strip.panel_lanes;
    if constexpr (layout.quant_bytes == 32) {
      for (int half = 0; half < 2; ++half) {
        Floats scale[vectors];
        for (int v = 0; v < vectors; ++v) {
          const std::int64_t at = strip.lane + lanes * v + (layout.scale_bytes == 8 ? half * strip.panel_lanes : 0);
          scale[v] = scales_at<scale_bytes>(unit + scale_bytes * at);
        }
        for (int k = 16 * half; k < 16 * half + 16; ++k) {
          for (int v = 0; v < vectors; ++v) {
            multiply(k, v, of_int8(quants + k * strip.panel_lanes + strip.lane + lanes * v) * scale[v]);
          }
        }
      }
    } else {
      Floats scale[vectors], minimum[vectors];
      for (int v = 0; v < vectors; ++v) {
        const std::int64_t at = strip.lane + lanes * v;
        scale[v] = scales_at<scale_bytes>(unit + scale_bytes * at);
        minimum[v] = layout.minimum_bytes == 0 ? zero() : scales_at<scale_bytes>(minima + scale_bytes * at);
      }
      for (int word = 0; word < 4; ++word) {
        NibbleReader reader[vectors];
        for (int v = 0; v < vectors; ++v) {
          reader[v].words = _mm512_loadu_si512(quants + 4 * (word * strip.panel_lanes + strip.lane + lanes * v));
        }
        for (int k = 8 * word; k < 8 * word + 8; ++k) {
          for (int v = 0; v < vectors; ++v) {
            const Floats quant = reader[v].next(table);
            multiply(k, v, format == BlockFormat::q4_0 ? quant * scale[v] : fma(scale[v], quant, minimum[v]));
          }
        }
      }
    }
  }
}

template <BlockFormat format, int rows, int vectors>
void run(const Strip& strip, const ProductPart& part, std::int64_t column) {
  Tile<rows, vectors> tile;
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) tile.sum[r][v] = zero();
  }
  multiply_units<format>(strip, tile);
  complete(tile, part.c + column, part.c_row, part.columns - column,
           part.bias == nullptr ? nullptr : part.bias + column, part.add);
}

template <BlockFormat format, int rows>
void run_strips(const ProductPart& part) {
  const std::int64_t panel = part.first_column / panel_width * panel_width;
  const std::int64_t panel_lanes = width_at(part.b.columns, panel), width = lanes_up(part.columns);
  Strip strip{.units = reinterpret_cast<Bytes>(part.b.data) + panel * packed_bytes(format, part.depth),
              .panel_lanes = panel_lanes,
              .lane = part.first_column - panel,
              .unit_count = part.depth / unit_depth,
              .a = part.a,
              .a_row = part.a_row};
  for (std::int64_t column = 0; column < width;) {
    const std::int64_t vectors = (width - column) / lanes;
    if (vectors >= 4) {
      run<format, rows, 4>(strip, part, column);
      column += 4 * lanes, strip.lane += 4 * lanes;
    } else if (vectors >= 2) {
      run<format, rows, 2>(strip, part, column);
      column += 2 * lanes, strip.lane += 2 * lanes;
    } else {
      run<format, rows, 1>(strip, part, column);
      column += lanes, strip.lane += lanes;
    }
  }
}

template <BlockFormat format>
void run_rows(const ProductPart& part) {
  static constexpr std::array<void (*)(const ProductPart&), tile_rows> by_rows{
      run_strips<format, 1>, run_strips<format, 2>, run_strips<format, 3>,
      run_strips<format, 4>, run_strips<format, 5>, run_strips<format, 6>};
  const std::int64_t passes = (part.rows + tile_rows - 1) / tile_rows;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const std::int64_t row = part.rows * pass / passes;
    ProductPart some = part;
    some.rows = part.rows * (pass + 1) / passes - row;
    some.a += row * part.a_row;
    some.c += row * part.c_row;
    by_rows[some.rows - 1](some);
  }
}

}  // namespace

bool product_of_few_rows(const ProductPart& part) {
  if (part.b.kind != ProductColumns::Kind::packed || part.rows > most_rows || part.a_depth != 1) return false;
  switch (part.b.format) {
    case BlockFormat::q8_0:
      run_rows<BlockFormat::q8_0>(part);
      return true;
    case BlockFormat::q4_0:
      run_rows<BlockFormat::q4_0>(part);
      return true;
    case BlockFormat::q4_1:
      run_rows<BlockFormat::q4_1>(part);
      return true;
    case BlockFormat::q4_k:
      run_rows<BlockFormat::q4_k>(part);
      return true;
    case BlockFormat::q6_k:
      run_rows<BlockFormat::q6_k>(part);
      return true;
    default:
      return false;
  }
}

#else

bool product_of_few_rows(const ProductPart&) { return false; }

#endif

}  // namespace kw::KW_UNIT
