// Exact numbers and their rounding into a format.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "kernel/emulate/lane_oracle.h"

namespace kw::oracle {

bool Form::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

Form parse_form(const std::string& text) {
  Form form;
  const std::size_t at = std::min(text.find('@'), text.size());
  form.widths = text.substr(at);
  std::string rest = text.substr(0, at) + ".";
  for (std::size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
    const std::string part = rest.substr(0, dot);
    rest.erase(0, dot + 1);
    if (form.opcode.empty()) {
      form.opcode = part;
      continue;
    }
    form.modifiers.push_back(part);
    const bool type = part == "pred" ||
                      (part.size() >= 2 && std::string("bsufe").find(part[0]) != std::string::npos &&
                       std::isdigit(part[1]) != 0 && part != "b4e" && part != "f4e") ||
                      part == "bf16" || part == "bf16x2" || part == "tf32";
    if (type) form.types.push_back(part);
  }
  return form;
}

Round rounding_of(const Form& form) {
  if (form.has("rz") || form.has("rzi")) return Round::zero;
  if (form.has("rm") || form.has("rmi")) return Round::down;
  if (form.has("rp") || form.has("rpi")) return Round::up;
  if (form.has("rna")) return Round::away;
  return Round::nearest;
}

std::optional<Format> format_of(const std::string& type) {
  if (type == "f64") return Format{11, 52};
  if (type == "f32" || type == "f32x2") return Format{8, 23};
  if (type == "f16" || type == "f16x2") return Format{5, 10};
  if (type == "bf16" || type == "bf16x2") return Format{8, 7};
  if (type == "tf32") return Format{8, 10};
  if (type == "e5m2x2") return Format{5, 2};
  if (type == "e4m3x2") return Format{4, 3, false};
  return std::nullopt;
}

std::uint64_t canonical_nan(Format format) {
  if (format.bits() == 64) return 0xfff8000000000000u;
  return (std::uint64_t{1} << (format.bits() - 1)) - 1;
}

Number decode(Format format, std::uint64_t bits) {
  Number number;
  number.negative = ((bits >> (format.bits() - 1)) & 1) != 0;
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const int exponent =
      static_cast<int>((bits >> format.mantissa_bits) & ((std::uint64_t{1} << format.exponent_bits) - 1));
  const int top = (1 << format.exponent_bits) - 1;
  if (exponent == top && (format.has_infinity || mantissa == (std::uint64_t{1} << format.mantissa_bits) - 1)) {
    number.kind = mantissa != 0 ? Number::Kind::nan : Number::Kind::infinite;
    return number;
  }
  number.magnitude = exponent == 0 ? Integer(mantissa) : Integer(mantissa | (std::uint64_t{1} << format.mantissa_bits));
  number.exponent = std::max(exponent, 1) - format.bias() - format.mantissa_bits;
  return number;
}

namespace {

// magnitude * 2^exponent in units of 2^quantum.
Integer in_units(const Number& number, int quantum, Round round) {
  const int shift = quantum - number.exponent;
  if (shift <= 0) return number.magnitude << -shift;
  const Integer kept = number.magnitude >> shift;
  const Integer lost = number.magnitude - (kept << shift);
  const Integer half = Integer(1) << (shift - 1);
  bool up = false;
  switch (round) {
    case Round::nearest:
      up = lost > half || (lost == half && (kept & 1) != 0);
      break;
    case Round::away:
      up = lost >= half;
      break;
    case Round::zero:
      break;
    case Round::down:
      up = lost != 0 && number.negative;
      break;
    case Round::up:
      up = lost != 0 && !number.negative;
      break;
  }
  return up ? kept + 1 : kept;
}

int highest_exponent(const Number& number) {
  return static_cast<int>(boost::multiprecision::msb(number.magnitude)) + number.exponent;
}

}  // namespace

std::uint64_t encode(Format format, const Number& number, Round round, bool flush, bool saturate_finite) {
  const std::uint64_t sign = number.negative ? std::uint64_t{1} << (format.bits() - 1) : 0;
  const std::uint64_t infinity = ((std::uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  const std::uint64_t largest =
      format.has_infinity ? infinity - 1 : infinity + (std::uint64_t{1} << format.mantissa_bits) - 2;
  if (number.kind == Number::Kind::nan) return canonical_nan(format);
  if (number.kind == Number::Kind::infinite) return sign | (saturate_finite ? largest : infinity);
  if (number.magnitude == 0) return sign;
  const int smallest = 1 - format.bias();  // exponent of the smallest normal number
  const int unlimited = highest_exponent(number) - format.mantissa_bits;
  if (flush) {
    Number rounded = number;
    rounded.magnitude = in_units(number, unlimited, round);
    rounded.exponent = unlimited;
    if (highest_exponent(rounded) < smallest) return sign;
  }
  const int quantum = std::max(unlimited, smallest - format.mantissa_bits);
  const Integer units = in_units(number, quantum, round);
  // Bits of a float are its units plus the exponent, and a carry into the exponent is what it should be.
  const std::uint64_t fields =
      static_cast<std::uint64_t>(units) +
      (static_cast<std::uint64_t>(quantum - (smallest - format.mantissa_bits)) << format.mantissa_bits);
  if (highest_exponent(number) > format.bias() + 1 || fields > largest) {
    const bool outwards = round == Round::nearest || round == Round::away ||
                          (round == Round::down && number.negative) || (round == Round::up && !number.negative);
    return sign | (outwards && !saturate_finite ? infinity : largest);
  }
  return sign | fields;
}

Number flushed(Format format, Number number) {
  if (number.kind == Number::Kind::finite && number.magnitude != 0 && highest_exponent(number) < 1 - format.bias())
    number.magnitude = 0;
  return number;
}

Number negate(Number a) {
  a.negative = !a.negative;
  return a;
}

Number add(const Number& a, const Number& b, Round round) {
  Number result;
  if (a.kind != Number::Kind::finite || b.kind != Number::Kind::finite) {
    const bool opposite = a.kind == b.kind && a.negative != b.negative;
    result.kind = a.kind == Number::Kind::nan || b.kind == Number::Kind::nan || opposite ? Number::Kind::nan
                                                                                         : Number::Kind::infinite;
    result.negative = a.kind == Number::Kind::infinite ? a.negative : b.negative;
    return result;
  }
  if (a.is_zero() && b.is_zero()) {
    result.negative = a.negative == b.negative ? a.negative : round == Round::down;
    return result;
  }
  result.exponent = std::min(a.is_zero() ? b.exponent : a.exponent, b.is_zero() ? a.exponent : b.exponent);
  auto signed_units = [&](const Number& x) {
    const Integer units = x.is_zero() ? Integer(0) : Integer(x.magnitude << (x.exponent - result.exponent));
    return x.negative ? Integer(-units) : units;
  };
  const Integer sum = signed_units(a) + signed_units(b);
  result.negative = sum < 0 || (sum == 0 && round == Round::down);
  result.magnitude = boost::multiprecision::abs(sum);
  return result;
}

Number multiply(const Number& a, const Number& b) {
  Number result;
  result.negative = a.negative != b.negative;
  if (a.kind != Number::Kind::finite || b.kind != Number::Kind::finite) {
    const bool invalid = a.kind == Number::Kind::nan || b.kind == Number::Kind::nan || a.is_zero() || b.is_zero();
    result.kind = invalid ? Number::Kind::nan : Number::Kind::infinite;
    return result;
  }
  result.magnitude = a.magnitude * b.magnitude;
  result.exponent = a.exponent + b.exponent;
  return result;
}

Number divide(const Number& a, const Number& b) {
  Number result;
  result.negative = a.negative != b.negative;
  if (a.kind == Number::Kind::nan || b.kind == Number::Kind::nan ||
      (a.kind == Number::Kind::infinite && b.kind == Number::Kind::infinite) || (a.is_zero() && b.is_zero())) {
    result.kind = Number::Kind::nan;
  } else if (a.kind == Number::Kind::infinite || b.is_zero()) {
    result.kind = Number::Kind::infinite;
  } else if (b.kind == Number::Kind::finite && !a.is_zero()) {
    constexpr int extra = 200;
    const Integer scaled = a.magnitude << extra;
    const Integer quotient = scaled / b.magnitude;
    result.magnitude = (quotient << 1) | (quotient * b.magnitude == scaled ? 0 : 1);
    result.exponent = a.exponent - b.exponent - extra - 1;
  }
  return result;
}

Number square_root(const Number& a) {
  Number result = a;
  if (a.kind == Number::Kind::nan || a.is_zero()) return result;
  if (a.negative) {
    result.kind = Number::Kind::nan;
    return result;
  }
  if (a.kind == Number::Kind::infinite) return result;
  const int extra = 400 + (a.exponent & 1);
  Integer rest;
  const Integer root = boost::multiprecision::sqrt(Integer(a.magnitude << extra), rest);
  result.magnitude = (root << 1) | (rest == 0 ? 0 : 1);
  result.exponent = (a.exponent - extra) / 2 - 1;
  return result;
}

Number whole(const Number& a, Round round) {
  Number result = a;
  if (a.kind != Number::Kind::finite || a.exponent >= 0) return result;
  result.magnitude = in_units(a, 0, round);
  result.exponent = 0;
  return result;
}

int compare(const Number& a, const Number& b) {
  if (a.kind == Number::Kind::infinite && b.kind == Number::Kind::infinite && a.negative == b.negative) return 0;
  const Number difference = add(a, negate(b), Round::nearest);
  return difference.is_zero() ? 0 : difference.negative ? -1 : 1;
}

Number from_integer(const Integer& value) {
  Number number;
  number.negative = value < 0;
  number.magnitude = boost::multiprecision::abs(value);
  return number;
}

Integer to_integer(const Number& a) {
  const Integer magnitude = a.magnitude << a.exponent;
  return a.negative ? Integer(-magnitude) : magnitude;
}

std::optional<Outcome> expected(const Form& form, const Operands& operands) {
  for (const auto family : {expected_bits, expected_comparison, expected_conversion, expected_approximation,
                            expected_float, expected_integer}) {
    if (std::optional<Outcome> outcome = family(form, operands)) return outcome;
  }
  return std::nullopt;
}

// The oracle itself, against the compiler's arithmetic.
TEST(LaneOracle, RoundsLikeTheMachine) {
  const Format single{8, 23};
  for (const float a : {1.0f, 0.1f, 3.4e38f, 1e-45f, 1.17549435e-38f, 16777217.0f, 0.333333343f}) {
    for (const float b : {3.0f, 0.7f, 2.0f, 1e-30f, 16777215.0f}) {
      const Number x = decode(single, std::bit_cast<std::uint32_t>(a)),
                   y = decode(single, std::bit_cast<std::uint32_t>(b));
      auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
      volatile float va = a, vb = b;
      EXPECT_EQ(encode(single, add(x, y, Round::nearest), Round::nearest), bits(va + vb));
      EXPECT_EQ(encode(single, multiply(x, y), Round::nearest), bits(va * vb));
      EXPECT_EQ(encode(single, divide(x, y), Round::nearest), bits(va / vb));
      EXPECT_EQ(encode(single, square_root(x), Round::nearest), bits(__builtin_sqrtf(va)));
      EXPECT_EQ(compare(x, y) < 0, va < vb);
    }
  }
  EXPECT_EQ(encode(single, decode(Format{11, 52}, std::bit_cast<std::uint64_t>(1e300)), Round::zero), 0x7f7fffffu);
  EXPECT_EQ(encode(single, decode(Format{11, 52}, std::bit_cast<std::uint64_t>(1e300)), Round::up), 0x7f800000u);
}

}  // namespace kw::oracle
