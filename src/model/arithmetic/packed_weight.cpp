// Packing: a weight of a file or of a trainer laid out as packed_layout.h says, and read back row by row.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "model/arithmetic/linear.h"
#include "model/arithmetic/packed_layout.h"
#include "model/weights/float_formats.h"

namespace kw {
namespace {

using Bytes = std::uint8_t*;
using ConstBytes = const std::uint8_t*;

// One unit of 32 elements of one output, as plain numbers.
struct Unit {
  std::array<std::uint8_t, 8> scale{};    // as stored: one half, one float or two floats
  std::array<std::uint8_t, 4> minimum{};  // one half or one float
  std::array<std::int8_t, unit_depth> quants{};
};

void put_float(std::uint8_t* to, float value) { std::memcpy(to, &value, sizeof value); }

void read_nibbles(ConstBytes from, Unit& unit) {  // 16 bytes: low nibbles first
  for (int i = 0; i < 16; ++i) {
    unit.quants[i] = static_cast<std::int8_t>(from[i] & 15);
    unit.quants[16 + i] = static_cast<std::int8_t>(from[i] >> 4);
  }
}

// See model/weights/gguf_blocks.cpp for the formats.
Unit unit_of_q4_k(ConstBytes block, int group) {
  Unit unit;
  const float scale = float_of_f16(load_unaligned<std::uint16_t>(block));
  const float minimum_scale = float_of_f16(load_unaligned<std::uint16_t>(block + 2));
  const ConstBytes packed = block + 4;
  int small_scale = packed[group] & 63, small_minimum = packed[group + 4] & 63;
  if (group >= 4) {
    small_scale = (packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4);
    small_minimum = (packed[group + 4] >> 4) | ((packed[group] >> 6) << 4);
  }
  put_float(unit.scale.data(), scale * static_cast<float>(small_scale));
  put_float(unit.minimum.data(), -(minimum_scale * static_cast<float>(small_minimum)));  // added, not subtracted
  const ConstBytes source = block + 16 + 32 * (group / 2);
  for (int i = 0; i < 32; ++i) {
    unit.quants[i] = static_cast<std::int8_t>(group % 2 == 0 ? source[i] & 15 : source[i] >> 4);
  }
  return unit;
}

Unit unit_of_q6_k(ConstBytes block, int group) {
  Unit unit;
  const float scale = float_of_f16(load_unaligned<std::uint16_t>(block + 208));
  const int half = group / 4, quarter = group % 4;
  const ConstBytes low = block + 64 * half + 32 * (quarter % 2), high = block + 128 + 32 * half;
  for (int part = 0; part < 2; ++part) {
    put_float(unit.scale.data() + 4 * part,
              scale * static_cast<float>(static_cast<std::int8_t>(block[192 + 2 * group + part])));
  }
  for (int i = 0; i < 32; ++i) {
    const int low_bits = (low[i] >> (4 * (quarter / 2))) & 15, high_bits = (high[i] >> (2 * quarter)) & 3;
    unit.quants[i] = static_cast<std::int8_t>((low_bits | (high_bits << 4)) - 32);
  }
  return unit;
}

// Unit `index` of a row of blocks.
Unit read_unit(BlockFormat format, ConstBytes row, std::int64_t index) {
  Unit unit;
  switch (format) {
    case BlockFormat::q8_0:
      row += 34 * index;
      std::memcpy(unit.scale.data(), row, 2);
      std::memcpy(unit.quants.data(), row + 2, 32);
      return unit;
    case BlockFormat::q4_0:
      row += 18 * index;
      std::memcpy(unit.scale.data(), row, 2);
      read_nibbles(row + 2, unit);
      return unit;
    case BlockFormat::q4_1:
      row += 20 * index;
      std::memcpy(unit.scale.data(), row, 2);
      std::memcpy(unit.minimum.data(), row + 2, 2);
      read_nibbles(row + 4, unit);
      return unit;
    case BlockFormat::q4_k:
      return unit_of_q4_k(row + 144 * (index / 8), static_cast<int>(index % 8));
    case BlockFormat::q6_k:
      return unit_of_q6_k(row + 210 * (index / 8), static_cast<int>(index % 8));
    default:
      KW_CHECK(false);
      return unit;
  }
}

// Addresses within a unit of a panel: the parts of output `lane` of `width`. q6_k's two scales lie `width` apart.
struct UnitPlace {
  QuantLayout layout;
  std::int64_t width, lane;
  std::int64_t scale(int i = 0) const { return (i * width + lane) * std::min(layout.scale_bytes, 4); }
  std::int64_t minimum() const { return layout.scale_bytes * width + lane * layout.minimum_bytes; }
  std::int64_t quants() const { return (layout.scale_bytes + layout.minimum_bytes) * width; }
};

void write_unit(const UnitPlace& at, const Unit& unit, Bytes to) {
  const int scale_bytes = std::min(at.layout.scale_bytes, 4);
  for (int i = 0; i * scale_bytes < at.layout.scale_bytes; ++i) {
    std::memcpy(to + at.scale(i), unit.scale.data() + i * scale_bytes, scale_bytes);
  }
  std::memcpy(to + at.minimum(), unit.minimum.data(), at.layout.minimum_bytes);
  if (at.layout.quant_bytes == 32) {
    for (int k = 0; k < 32; ++k) std::memcpy(to + at.quants() + k * at.width + at.lane, &unit.quants[k], 1);
    return;
  }
  for (int word = 0; word < 4; ++word) {
    std::uint32_t eight = 0;
    for (int i = 0; i < 8; ++i) eight |= static_cast<std::uint32_t>(unit.quants[8 * word + i]) << (4 * i);
    std::memcpy(to + at.quants() + 4 * (word * at.width + at.lane), &eight, 4);
  }
}

void read_unit_floats(BlockFormat format, const UnitPlace& at, ConstBytes from, float* out) {
  std::array<float, 2> scale{};
  float minimum = 0;
  if (at.layout.scale_bytes == 2) {
    scale[0] = scale[1] = float_of_f16(load_unaligned<std::uint16_t>(from + at.scale()));
  } else {
    scale[0] = load_unaligned<float>(from + at.scale());
    scale[1] = at.layout.scale_bytes == 8 ? load_unaligned<float>(from + at.scale(1)) : scale[0];
  }
  if (at.layout.minimum_bytes == 2) minimum = float_of_f16(load_unaligned<std::uint16_t>(from + at.minimum()));
  if (at.layout.minimum_bytes == 4) minimum = load_unaligned<float>(from + at.minimum());
  for (int k = 0; k < unit_depth; ++k) {
    if (at.layout.quant_bytes == 32) {
      out[k] = static_cast<float>(static_cast<std::int8_t>(from[at.quants() + k * at.width + at.lane])) * scale[k / 16];
      continue;
    }
    const auto eight = load_unaligned<std::uint32_t>(from + at.quants() + 4 * ((k / 8) * at.width + at.lane));
    const auto quant = static_cast<float>((eight >> (4 * (k % 8))) & 15);
    out[k] = format == BlockFormat::q4_0 ? scale[0] * (quant - 8.0f) : scale[0] * quant + minimum;
  }
}

}  // namespace

void read_packed_output(BlockFormat format, const std::byte* data, std::int64_t out, std::int64_t in, std::int64_t row,
                        float* values) {
  const std::int64_t first = row / panel_width * panel_width, width = width_at(out, first), lane = row - first;
  auto from = reinterpret_cast<ConstBytes>(data) + first * packed_bytes(format, in);
  if (is_quantised(format)) {
    const UnitPlace at{quant_layout(format), width, lane};
    for (std::int64_t unit = 0; unit < in / unit_depth; ++unit, from += width * at.layout.unit_bytes()) {
      read_unit_floats(format, at, from, values + unit * unit_depth);
    }
    return;
  }
  const std::int64_t bytes = packed_bytes(format, 1);
  from += lane * bytes;
  for (std::int64_t k = 0; k < in; ++k, from += width * bytes) {
    values[k] = format == BlockFormat::f32   ? load_unaligned<float>(from)
                : format == BlockFormat::f16 ? float_of_f16(load_unaligned<std::uint16_t>(from))
                                             : float_of_bf16(load_unaligned<std::uint16_t>(from));
  }
}

PackedWeight PackedWeight::from_floats(std::span<const float> values, std::int64_t out, std::int64_t in) {
  KW_CHECK(static_cast<std::int64_t>(values.size()) == out * in);
  return from_blocks(BlockFormat::f32, std::as_bytes(values), out, in);
}

PackedWeight PackedWeight::from_blocks(BlockFormat format, std::span<const std::byte> blocks, std::int64_t out,
                                       std::int64_t in, std::span<const std::int64_t> row_order) {
  const BlockLayout layout = block_layout(format);
  KW_CHECK(in % layout.elements == 0);
  const std::int64_t row_bytes = in / layout.elements * layout.bytes;
  KW_CHECK(static_cast<std::int64_t>(blocks.size()) == out * row_bytes);
  KW_CHECK(row_order.empty() || static_cast<std::int64_t>(row_order.size()) == out);

  PackedWeight weight;
  weight.out_ = out;
  weight.in_ = in;
  weight.format_ = format;
  weight.storage_.resize(static_cast<std::size_t>(lanes_up(out) * packed_bytes(format, in)));
  const auto base = reinterpret_cast<Bytes>(weight.storage_.data());
  for (std::int64_t row = 0; row < out; ++row) {
    const std::int64_t source = row_order.empty() ? row : row_order[row];
    KW_CHECK(source >= 0 && source < out);
    const auto from = reinterpret_cast<ConstBytes>(blocks.data()) + source * row_bytes;
    const std::int64_t first = row / panel_width * panel_width, width = width_at(out, first), lane = row - first;
    Bytes to = base + first * packed_bytes(format, in);
    if (is_quantised(format)) {
      const UnitPlace at{quant_layout(format), width, lane};
      for (std::int64_t unit = 0; unit < in / unit_depth; ++unit, to += width * at.layout.unit_bytes()) {
        write_unit(at, read_unit(format, from, unit), to);
      }
    } else if (format == BlockFormat::f32) {
      for (std::int64_t k = 0; k < in; ++k) std::memcpy(to + 4 * (k * width + lane), from + 4 * k, 4);
    } else {
      for (std::int64_t k = 0; k < in; ++k) std::memcpy(to + 2 * (k * width + lane), from + 2 * k, 2);
    }
  }
  return weight;
}

void PackedWeight::read_row(std::int64_t row, std::span<float> values) const {
  KW_CHECK(row >= 0 && row < out_ && static_cast<std::int64_t>(values.size()) == in_);
  read_packed_output(format_, storage_.data(), out_, in_, row, values.data());
}

}  // namespace kw
