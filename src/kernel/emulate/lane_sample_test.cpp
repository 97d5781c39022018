#include "kernel/emulate/lane_sample.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

namespace kw {
namespace {

struct FloatShape {
  int exponent_bits;
  int mantissa_bits;
};

// Zeros, the smallest and largest subnormal and normal numbers, one and its neighbours, whole numbers and ties,
// infinity, NaN.
std::vector<std::uint64_t> special_floats(FloatShape shape) {
  const std::uint64_t one_exponent = (std::uint64_t{1} << (shape.exponent_bits - 1)) - 1;
  const std::uint64_t hidden = std::uint64_t{1} << shape.mantissa_bits;
  const std::uint64_t infinity = ((std::uint64_t{1} << shape.exponent_bits) - 1) << shape.mantissa_bits;
  const std::uint64_t one = one_exponent << shape.mantissa_bits;
  std::vector<std::uint64_t> values = {0,
                                       1,
                                       2,
                                       3,
                                       hidden / 2,
                                       hidden - 1,
                                       hidden,
                                       hidden + 1,
                                       infinity - 1,
                                       infinity - 2,
                                       infinity,
                                       one,
                                       one - 1,
                                       one + 1,
                                       one - hidden,
                                       one + hidden,
                                       one + hidden / 2,
                                       infinity + 1,
                                       infinity + hidden / 2,
                                       infinity + hidden / 2 + 5,
                                       infinity + hidden - 1,
                                       infinity - hidden,
                                       one + 3 * hidden / 2};
  for (int exponent : {2, 3, 7, 8, 10, 11, 12, 14, 15, 16, 22, 23, 24, 25, 30, 31, 32, 52, 53, 62, 63, 64, 126, 127}) {
    if (static_cast<std::uint64_t>(exponent) > one_exponent) break;
    const std::uint64_t power = one + static_cast<std::uint64_t>(exponent) * hidden;
    values.insert(values.end(), {power - 1, power, power + 1, power + hidden / 2,
                                 one - static_cast<std::uint64_t>(exponent) * hidden});
  }
  return values;
}

std::uint64_t sample_float(FloatShape shape, std::mt19937_64& random) {
  const int bits = 1 + shape.exponent_bits + shape.mantissa_bits;
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t sign = (random() & 1) << (bits - 1);
  switch (random() % 8) {
    case 0:
    case 1: {
      const std::vector<std::uint64_t> values = special_floats(shape);
      return values[random() % values.size()] | sign;
    }
    case 2:
      return random() & mask;  // any bits
    case 3: {                  // few mantissa bits: exact results and ties
      const std::uint64_t exponent = ((std::uint64_t{1} << (shape.exponent_bits - 1)) - 9 + random() % 18)
                                     << shape.mantissa_bits;
      return sign | exponent |
             ((random() & 15) << (shape.mantissa_bits > 4 ? shape.mantissa_bits - 4 : 0) &
              ((std::uint64_t{1} << shape.mantissa_bits) - 1));
    }
    default: {  // near one, so that operands meet
      const std::uint64_t exponent = ((std::uint64_t{1} << (shape.exponent_bits - 1)) - 9 + random() % 18)
                                     << shape.mantissa_bits;
      return sign | exponent | (random() & ((std::uint64_t{1} << shape.mantissa_bits) - 1));
    }
  }
}

std::uint64_t sample_integer(int bits, std::mt19937_64& random) {
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);
  switch (random() % 6) {
    case 0: {
      const std::uint64_t values[] = {0,
                                      1,
                                      2,
                                      ~std::uint64_t{0},
                                      ~std::uint64_t{1},
                                      top,
                                      top - 1,
                                      top + 1,
                                      31,
                                      32,
                                      33,
                                      63,
                                      64,
                                      65,
                                      0x7f,
                                      0x80,
                                      0xff,
                                      0x7fff,
                                      0x8000,
                                      0xffff};
      return values[random() % std::size(values)] & mask;
    }
    case 1:
      return random() % 70 & mask;
    case 2:
      return (random() >> (random() % 64)) & mask;
    default:
      return random() & mask;
  }
}

std::optional<FloatShape> float_shape(PtxType type) {
  switch (type) {
    case PtxType::f64:
      return FloatShape{11, 52};
    case PtxType::f32:
      return FloatShape{8, 23};
    case PtxType::f16:
      return FloatShape{5, 10};
    case PtxType::bf16:
      return FloatShape{8, 7};
    default:
      return std::nullopt;
  }
}

// What chance does not bring together: several NaN operands, a product just below the smallest normal number, a sum
// that cancels.
void set_rare_floats(const LaneForm& form, LaneSample& sample, int lane, std::mt19937_64& random) {
  const auto kind = random() % 3;
  for (std::size_t i = 0; i < form.sources.size() && i < sample.source.size(); ++i) {
    const std::optional<FloatShape> shape = float_shape(form.sources[i]);
    if (!shape) continue;
    const std::uint64_t hidden = std::uint64_t{1} << shape->mantissa_bits;
    const std::uint64_t infinity = ((std::uint64_t{1} << shape->exponent_bits) - 1) << shape->mantissa_bits;
    const std::uint64_t one = ((std::uint64_t{1} << (shape->exponent_bits - 1)) - 1) << shape->mantissa_bits;
    const std::uint64_t sign = (random() & 1) << (shape->exponent_bits + shape->mantissa_bits);
    std::uint64_t value = lane_value(sample.source[i], form.sources[i], lane);
    if (kind == 0 && random() % 4 != 0) value = sign | infinity | (random() & (hidden - 1)) | 1;
    if (kind == 1) value = sign | (i == 0 ? hidden + random() % 3 : i == 1 ? one - random() % 5 : random() % 2);
    if (kind == 2 && i == 2) value = lane_value(sample.source[0], form.sources[0], lane) ^ sign;
    if (kind == 2 && i == 1) value = one | sign;
    set_lane_value(sample.source[i], form.sources[i], lane, value);
  }
}

}  // namespace

bool has_wide_lanes(PtxType type) { return bytes_of(type) == 8; }

std::uint64_t lane_value(const LaneSample::SlotBytes& slot, PtxType type, int lane) {
  if (has_wide_lanes(type)) {
    std::uint64_t value = 0;
    std::memcpy(&value, slot.bytes + 8 * lane, 8);
    return value;
  }
  std::uint32_t value = 0;
  std::memcpy(&value, slot.bytes + 4 * lane, 4);
  return value;
}

void set_lane_value(LaneSample::SlotBytes& slot, PtxType type, int lane, std::uint64_t bits) {
  if (has_wide_lanes(type)) {
    std::memcpy(slot.bytes + 8 * lane, &bits, 8);
  } else {
    const std::uint32_t low = static_cast<std::uint32_t>(bits);
    std::memcpy(slot.bytes + 4 * lane, &low, 4);
  }
}

std::uint64_t sample_value(PtxType type, std::mt19937_64& random) {
  if (const std::optional<FloatShape> shape = float_shape(type)) return sample_float(*shape, random);
  switch (type) {
    case PtxType::f16x2:
      return sample_float({5, 10}, random) << 16 | sample_float({5, 10}, random);
    case PtxType::bf16x2:
      return sample_float({8, 7}, random) << 16 | sample_float({8, 7}, random);
    case PtxType::u8:
    case PtxType::s8:
    case PtxType::b8:
      return sample_integer(16, random);  // the register is wider: its upper half must not matter
    default:
      return sample_integer(8 * bytes_of(type), random);
  }
}

LaneSample make_sample(const LaneForm& form, std::mt19937_64& random) {
  LaneSample sample;
  for (std::byte& byte : sample.destination.bytes) byte = static_cast<std::byte>(random());
  for (auto& slot : sample.source) {
    for (std::byte& byte : slot.bytes) byte = static_cast<std::byte>(random());
  }
  for (std::size_t i = 0; i < form.sources.size() && i < sample.source.size(); ++i) {
    if (form.sources[i] == PtxType::pred) continue;
    for (int lane = 0; lane < 32; ++lane)
      set_lane_value(sample.source[i], form.sources[i], lane, sample_value(form.sources[i], random));
  }
  for (int lane = 3; lane < 32; lane += 8) {
    set_rare_floats(form, sample, lane, random);
  }
  // Equal operands are rare by chance.
  if (form.sources.size() >= 2 && form.sources[0] == form.sources[1] && form.sources[0] != PtxType::pred) {
    for (int lane = 0; lane < 32; lane += 7)
      set_lane_value(sample.source[1], form.sources[0], lane, lane_value(sample.source[0], form.sources[0], lane));
  }
  sample.predicate_in = static_cast<std::uint32_t>(random());
  sample.predicate_in_other = static_cast<std::uint32_t>(random());
  sample.predicate_out = static_cast<std::uint32_t>(random());
  sample.predicate_out_other = static_cast<std::uint32_t>(random());
  return sample;
}

void run_sample(const LaneForm& form, LaneSample& sample, std::uint32_t active) {
  LaneArguments arguments;
  arguments.destination = sample.destination.bytes;
  for (std::size_t i = 0; i < 4; ++i) arguments.source[i] = sample.source[i].bytes;
  arguments.active = active;
  arguments.predicate_in = sample.predicate_in;
  arguments.predicate_in_other = sample.predicate_in_other;
  arguments.predicate_out = &sample.predicate_out;
  arguments.predicate_out_other = &sample.predicate_out_other;
  form.run(arguments);
}

}  // namespace kw
