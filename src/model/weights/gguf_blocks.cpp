#include "model/weights/gguf_blocks.h"

#include <array>
#include <string_view>

#include "base/check.h"
#include "base/vector_versions.h"
#include "model/weights/float_formats.h"

namespace kw {
namespace {

using Bytes = const std::uint8_t*;

constexpr std::array<BlockLayout, 8> layouts{
    {{1, 4}, {1, 2}, {1, 2}, {32, 34}, {32, 18}, {32, 20}, {256, 144}, {256, 210}}};

float half_at(Bytes from) { return float_of_f16(load_unaligned<std::uint16_t>(from)); }

KW_VECTOR_VERSIONS void floats_of_f16(Bytes from, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = float_of_f16(load_unaligned<std::uint16_t>(from + 2 * i));
}

KW_VECTOR_VERSIONS void floats_of_bf16(Bytes from, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = float_of_bf16(load_unaligned<std::uint16_t>(from + 2 * i));
}

// half scale; int8 quants[32]
KW_VECTOR_VERSIONS void floats_of_q8_0(Bytes from, float* __restrict out, std::int64_t blocks) {
  for (std::int64_t b = 0; b < blocks; ++b, from += 34, out += 32) {
    const float scale = half_at(from);
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<std::int8_t>(from[2 + i])) * scale;
  }
}

// half scale; nibbles[16]: low nibbles are elements 0 to 15, high nibbles 16 to 31
KW_VECTOR_VERSIONS void floats_of_q4_0(Bytes from, float* __restrict out, std::int64_t blocks) {
  for (std::int64_t b = 0; b < blocks; ++b, from += 18, out += 32) {
    const float scale = half_at(from);
    for (int i = 0; i < 16; ++i) out[i] = scale * (static_cast<float>(from[2 + i] & 15) - 8.0f);
    for (int i = 0; i < 16; ++i) out[16 + i] = scale * (static_cast<float>(from[2 + i] >> 4) - 8.0f);
  }
}

// half scale, minimum; nibbles[16]
KW_VECTOR_VERSIONS void floats_of_q4_1(Bytes from, float* __restrict out, std::int64_t blocks) {
  for (std::int64_t b = 0; b < blocks; ++b, from += 20, out += 32) {
    const float scale = half_at(from);
    const float minimum = half_at(from + 2);
    for (int i = 0; i < 16; ++i) out[i] = scale * static_cast<float>(from[4 + i] & 15) + minimum;
    for (int i = 0; i < 16; ++i) out[16 + i] = scale * static_cast<float>(from[4 + i] >> 4) + minimum;
  }
}

// half scale, minimum scale; 8 scales and 8 minima of 6 bits in 12 bytes; nibbles[128]: for each pair of groups of 32,
// low nibbles are the first group, high nibbles the second
KW_VECTOR_VERSIONS void floats_of_q4_k(Bytes from, float* __restrict out, std::int64_t blocks) {
  for (std::int64_t b = 0; b < blocks; ++b, from += 144, out += 256) {
    const float scale = half_at(from);
    const float minimum_scale = half_at(from + 2);
    const Bytes packed = from + 4;
    const Bytes nibbles = from + 16;
    for (int group = 0; group < 8; ++group) {
      int small_scale = 0;
      int small_minimum = 0;
      if (group < 4) {
        small_scale = packed[group] & 63;
        small_minimum = packed[group + 4] & 63;
      } else {
        small_scale = (packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4);
        small_minimum = (packed[group + 4] >> 4) | ((packed[group] >> 6) << 4);
      }
      const float group_scale = scale * static_cast<float>(small_scale);
      const float group_minimum = minimum_scale * static_cast<float>(small_minimum);
      const Bytes source = nibbles + 32 * (group / 2);
      float* to = out + 32 * group;
      if (group % 2 == 0) {
        for (int i = 0; i < 32; ++i) to[i] = group_scale * static_cast<float>(source[i] & 15) - group_minimum;
      } else {
        for (int i = 0; i < 32; ++i) to[i] = group_scale * static_cast<float>(source[i] >> 4) - group_minimum;
      }
    }
  }
}

// low nibbles[128], high pairs of bits[64], int8 scales[16], half scale. Two halves of 128 elements; in each, four
// groups of 32 take their low bits from (ql[0..31] low, ql[32..63] low, ql[0..31] high, ql[32..63] high) and their high
// bits from successive pairs of bits of qh[0..31].
KW_VECTOR_VERSIONS void floats_of_q6_k(Bytes from, float* __restrict out, std::int64_t blocks) {
  for (std::int64_t b = 0; b < blocks; ++b, from += 210, out += 256) {
    const float scale = half_at(from + 208);
    for (int group = 0; group < 8; ++group) {
      const int half = group / 4;
      const int quarter = group % 4;
      const Bytes low = from + 64 * half + 32 * (quarter % 2);
      const Bytes high = from + 128 + 32 * half;
      const int low_shift = 4 * (quarter / 2);
      const int high_shift = 2 * quarter;
      for (int part = 0; part < 2; ++part) {
        const float group_scale = scale * static_cast<float>(static_cast<std::int8_t>(from[192 + 2 * group + part]));
        float* to = out + 32 * group + 16 * part;
        for (int i = 0; i < 16; ++i) {
          const int low_bits = (low[16 * part + i] >> low_shift) & 15;
          const int high_bits = (high[16 * part + i] >> high_shift) & 3;
          to[i] = group_scale * static_cast<float>((low_bits | (high_bits << 4)) - 32);
        }
      }
    }
  }
}

}  // namespace

BlockLayout block_layout(BlockFormat format) { return layouts.at(static_cast<std::size_t>(format)); }

std::optional<BlockFormat> block_format_from_number(std::uint32_t ggml_type) {
  switch (ggml_type) {
    case 0:
      return BlockFormat::f32;
    case 1:
      return BlockFormat::f16;
    case 2:
      return BlockFormat::q4_0;
    case 3:
      return BlockFormat::q4_1;
    case 8:
      return BlockFormat::q8_0;
    case 12:
      return BlockFormat::q4_k;
    case 14:
      return BlockFormat::q6_k;
    case 30:
      return BlockFormat::bf16;
    default:
      return std::nullopt;
  }
}

std::string ggml_type_name(std::uint32_t ggml_type) {
  constexpr std::array<std::string_view, 31> names{
      "F32",   "F16",    "Q4_0", "Q4_1", "4",    "5",       "Q5_0",   "Q5_1",    "Q8_0",  "Q8_1",   "Q2_K",
      "Q3_K",  "Q4_K",   "Q5_K", "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S",
      "IQ2_S", "IQ4_XS", "I8",   "I16",  "I32",  "I64",     "F64",    "IQ1_M",   "BF16"};
  return ggml_type < names.size() ? std::string(names.at(ggml_type)) : std::to_string(ggml_type);
}

void dequantise_blocks(BlockFormat format, std::span<const std::byte> blocks, std::span<float> out) {
  const BlockLayout layout = block_layout(format);
  const auto count = static_cast<std::int64_t>(out.size()) / layout.elements;
  KW_CHECK(count * layout.elements == static_cast<std::int64_t>(out.size()));
  KW_CHECK(count * layout.bytes == static_cast<std::int64_t>(blocks.size()));
  if (count == 0) return;
  const auto from = reinterpret_cast<Bytes>(blocks.data());
  switch (format) {
    case BlockFormat::f32:
      std::memcpy(out.data(), from, blocks.size());
      return;
    case BlockFormat::f16:
      return floats_of_f16(from, out.data(), count);
    case BlockFormat::bf16:
      return floats_of_bf16(from, out.data(), count);
    case BlockFormat::q8_0:
      return floats_of_q8_0(from, out.data(), count);
    case BlockFormat::q4_0:
      return floats_of_q4_0(from, out.data(), count);
    case BlockFormat::q4_1:
      return floats_of_q4_1(from, out.data(), count);
    case BlockFormat::q4_k:
      return floats_of_q4_k(from, out.data(), count);
    case BlockFormat::q6_k:
      return floats_of_q6_k(from, out.data(), count);
  }
}

}  // namespace kw
