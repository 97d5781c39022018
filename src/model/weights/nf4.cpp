#include "model/weights/nf4.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace kw {
namespace {

// The positive values of create_dynamic_map() as PyTorch computes them: for i from 0 to 6, 10^(i - 6) times the middles
// of 2^i equal parts of [0.1, 1]. A table and not the formula, because PyTorch's linspace rounds in an order that
// differs between vector units. The map is these, their negatives, 0 and 1.
constexpr std::array<float, 127> positive_values{
    5.5000004e-7f,  3.2500002e-6f, 7.75e-6f,      2.1249998e-5f, 4.375e-5f,     6.625e-5f,     8.875e-5f,
    1.5625001e-4f,  2.6875004e-4f, 3.8125002e-4f, 4.9375003e-4f, 6.062501e-4f,  7.1875006e-4f, 8.3125e-4f,
    9.437501e-4f,   1.2812499e-3f, 1.84375e-3f,   2.40625e-3f,   2.96875e-3f,   3.5312497e-3f, 4.09375e-3f,
    4.6562497e-3f,  5.2187503e-3f, 5.78125e-3f,   6.34375e-3f,   6.90625e-3f,   7.46875e-3f,   8.03125e-3f,
    8.59375e-3f,    9.156249e-3f,  9.71875e-3f,   1.140625e-2f,  1.421875e-2f,  1.703125e-2f,  1.9843752e-2f,
    2.265625e-2f,   2.546875e-2f,  2.8281251e-2f, 3.109375e-2f,  3.390625e-2f,  3.6718752e-2f, 3.953125e-2f,
    4.2343747e-2f,  4.515625e-2f,  4.796875e-2f,  5.078125e-2f,  5.359375e-2f,  5.640625e-2f,  5.9218753e-2f,
    6.203125e-2f,   6.484375e-2f,  6.7656256e-2f, 7.0468746e-2f, 7.328125e-2f,  7.609375e-2f,  7.890625e-2f,
    8.171876e-2f,   8.453125e-2f,  8.734375e-2f,  9.015625e-2f,  9.2968754e-2f, 9.578126e-2f,  9.859375e-2f,
    1.07031256e-1f, 1.2109375e-1f, 1.3515624e-1f, 1.4921875e-1f, 1.6328125e-1f, 1.7734376e-1f, 1.9140625e-1f,
    2.0546874e-1f,  2.1953125e-1f, 2.3359375e-1f, 2.4765624e-1f, 2.6171875e-1f, 2.7578127e-1f, 2.8984374e-1f,
    3.0390626e-1f,  3.1796873e-1f, 3.3203125e-1f, 3.4609374e-1f, 3.6015624e-1f, 3.7421876e-1f, 3.8828123e-1f,
    4.0234375e-1f,  4.1640624e-1f, 4.3046874e-1f, 4.4453126e-1f, 4.5859373e-1f, 4.7265625e-1f, 4.867187e-1f,
    5.0078124e-1f,  5.148437e-1f,  5.289062e-1f,  5.4296875e-1f, 5.570313e-1f,  5.710938e-1f,  5.8515626e-1f,
    5.992187e-1f,   6.1328125e-1f, 6.273438e-1f,  6.414063e-1f,  6.5546876e-1f, 6.695312e-1f,  6.8359375e-1f,
    6.976563e-1f,   7.117188e-1f,  7.2578126e-1f, 7.398437e-1f,  7.5390625e-1f, 7.679688e-1f,  7.8203124e-1f,
    7.9609376e-1f,  8.101562e-1f,  8.2421875e-1f, 8.382813e-1f,  8.5234374e-1f, 8.6640626e-1f, 8.804687e-1f,
    8.9453125e-1f,  9.085938e-1f,  9.2265624e-1f, 9.3671876e-1f, 9.507812e-1f,  9.6484375e-1f, 9.789063e-1f,
    9.9296874e-1f};

std::array<float, 256> make_dynamic_map() {
  std::array<float, 256> map{};
  for (std::size_t i = 0; i < positive_values.size(); ++i) {
    map[128 + i] = positive_values[i];
    map[126 - i] = -positive_values[i];
  }
  map[255] = 1;
  return map;
}

// Index of the nearest value; the middle between two belongs to the smaller.
std::uint8_t nearest_nibble(const std::array<float, 15>& middles, float value) {
  int below = 0;  // counted and not searched: no branch that a processor could guess wrong
  for (const float middle : middles) below += middle < value ? 1 : 0;
  return static_cast<std::uint8_t>(below);
}
template <std::size_t count>
std::uint8_t nearest(const std::array<float, count - 1>& middles, float value) {
  const auto above = std::ranges::lower_bound(middles, value);  // first middle that is not less than the value
  return static_cast<std::uint8_t>(above - middles.begin());
}

template <std::size_t count>
std::array<float, count - 1> middles_of(const std::array<float, count>& map) {
  std::array<float, count - 1> middles{};
  for (std::size_t i = 0; i + 1 < count; ++i) middles[i] = (map[i] + map[i + 1]) / 2;
  return middles;
}

float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// Reciprocal and product, not a quotient: the nibbles must be those of bitsandbytes. 1e-38 guards blocks of zeros.
float scaled(float value, float reciprocal) { return std::clamp(value * reciprocal, -1.0f, 1.0f); }
float reciprocal_of(float largest) { return 1.0f / std::max(largest, 1e-38f); }

std::int64_t blocks_of(std::int64_t count, std::int64_t block) { return (count + block - 1) / block; }

}  // namespace

const std::array<float, 16>& nf4_codebook() {
  static constexpr std::array<float, 16> codebook{-1.0f,
                                                  -0.6961928009986877f,
                                                  -0.5250730514526367f,
                                                  -0.39491748809814453f,
                                                  -0.28444138169288635f,
                                                  -0.18477343022823334f,
                                                  -0.09105003625154495f,
                                                  0.0f,
                                                  0.07958029955625534f,
                                                  0.16093020141124725f,
                                                  0.24611230194568634f,
                                                  0.33791524171829224f,
                                                  0.44070982933044434f,
                                                  0.5626170039176941f,
                                                  0.7229568362236023f,
                                                  1.0f};
  return codebook;
}

const std::array<float, 256>& dynamic_map() {
  static const std::array<float, 256> map = make_dynamic_map();
  return map;
}

Nf4Tensor quantise_nf4(std::span<const float> values, const Shape& shape, ElementType type) {
  const auto count = static_cast<std::int64_t>(values.size());
  KW_CHECK(element_count(shape) == count);
  Nf4Tensor tensor;
  tensor.shape = shape;
  tensor.type = type;
  tensor.packed.resize((values.size() + 1) / 2);
  const auto middles = middles_of(nf4_codebook());
  std::vector<float> absmax;
  absmax.reserve(static_cast<std::size_t>(blocks_of(count, nf4_block)));
  for (std::int64_t begin = 0; begin < count; begin += nf4_block) {
    const auto block =
        values.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(nf4_block, count - begin)));
    absmax.push_back(largest_magnitude(block));
    const float reciprocal = reciprocal_of(absmax.back());
    for (std::size_t i = 0; i < block.size(); i += 2) {
      const std::uint8_t high = nearest_nibble(middles, scaled(block[i], reciprocal));
      const std::uint8_t low = nearest_nibble(middles, i + 1 < block.size() ? scaled(block[i + 1], reciprocal) : 0.0f);
      tensor.packed[(static_cast<std::size_t>(begin) + i) / 2] = static_cast<std::uint8_t>(high << 4 | low);
    }
  }

  double sum = 0;
  for (const float value : absmax) sum += value;
  tensor.nested_offset = absmax.empty() ? 0.0f : static_cast<float>(sum / static_cast<double>(absmax.size()));
  for (float& value : absmax) value -= tensor.nested_offset;
  const auto nested_middles = middles_of(dynamic_map());
  tensor.absmax.resize(absmax.size());
  for (std::size_t begin = 0; begin < absmax.size(); begin += nf4_nested_block) {
    const auto block = std::span(absmax).subspan(begin, std::min<std::size_t>(nf4_nested_block, absmax.size() - begin));
    const float largest = largest_magnitude(block);
    tensor.nested_absmax.push_back(largest);
    const float reciprocal = reciprocal_of(largest);
    for (std::size_t i = 0; i < block.size(); ++i) {
      tensor.absmax[begin + i] = nearest<256>(nested_middles, scaled(block[i], reciprocal));
    }
  }
  return tensor;
}

void dequantise_nf4(const Nf4Tensor& tensor, std::span<float> out) {
  KW_CHECK(tensor.packed.size() == (out.size() + 1) / 2);
  const auto& codebook = nf4_codebook();
  for (std::size_t begin = 0; begin < out.size(); begin += nf4_block) {
    const std::size_t block = begin / nf4_block;
    const float largest =
        tensor.nested_map[tensor.absmax[block]] * tensor.nested_absmax[block / nf4_nested_block] + tensor.nested_offset;
    const std::size_t end = std::min<std::size_t>(begin + nf4_block, out.size());
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint8_t byte = tensor.packed[i / 2];
      out[i] = codebook[i % 2 == 0 ? byte >> 4 : byte & 15] * largest;
    }
  }
}

}  // namespace kw
