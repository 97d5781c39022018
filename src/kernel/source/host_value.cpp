#include "kernel/source/host_value.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace kw {
namespace {

// Rounds to `mantissa` stored bits with the given exponent range, to nearest even; done on a double, where every
// intermediate value is exact.
double round_to(double value, int mantissa, int min_exponent, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), min_exponent);
  const double unit = std::ldexp(1.0, exponent - mantissa);
  const double rounded = std::nearbyint(value / unit) * unit;
  return std::abs(rounded) > largest ? std::copysign(INFINITY, value) : rounded;
}

std::uint16_t encode(double value, int mantissa, int min_exponent, int max_exponent, double largest) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int exponent_mask = max_exponent - min_exponent + 2;
  if (std::isnan(value)) return 0x7FFF;  // CUDA's canonical NaN
  const double rounded = std::abs(round_to(value, mantissa, min_exponent, largest));
  if (std::isinf(rounded)) return static_cast<std::uint16_t>(sign | exponent_mask << mantissa);
  if (rounded == 0) return sign;
  const int exponent = std::ilogb(rounded);
  if (exponent < min_exponent) {  // subnormal
    return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(rounded, mantissa - min_exponent)));
  }
  const int fraction = static_cast<int>(std::ldexp(rounded, mantissa - exponent)) - (1 << mantissa);
  return static_cast<std::uint16_t>(sign | (exponent - min_exponent + 1) << mantissa | fraction);
}

double decode(std::uint16_t bits, int mantissa, int min_exponent, int max_exponent) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = (bits & 0x7FFF) >> mantissa;
  const int fraction = bits & ((1 << mantissa) - 1);
  if (exponent == max_exponent - min_exponent + 2) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, min_exponent - mantissa);
  return sign * std::ldexp((1 << mantissa) + fraction, exponent - 1 + min_exponent - mantissa);
}

constexpr double half_largest = 65504.0;
const double bfloat16_largest = std::ldexp(255.0, 120);

}  // namespace

std::uint16_t half_bits(double value) { return encode(value, 10, -14, 15, half_largest); }
double half_value(std::uint16_t bits) { return decode(bits, 10, -14, 15); }
std::uint16_t bfloat16_bits(double value) { return encode(value, 7, -126, 127, bfloat16_largest); }
double bfloat16_value(std::uint16_t bits) { return decode(bits, 7, -126, 127); }

HostValue make_integer(const HostType* type, std::int64_t value) {
  const HostType& storage = type->kind == TypeKind::enumeration ? *type->enumeration->underlying : *type;
  if (storage.kind == TypeKind::bool_) return {type, std::int64_t{value != 0}};
  const int bits = integer_bits(storage);
  if (bits < 64) {
    const auto shifted = static_cast<std::uint64_t>(value) << (64 - bits);
    value = is_signed_integer(storage) ? static_cast<std::int64_t>(shifted) >> (64 - bits)
                                       : static_cast<std::int64_t>(shifted >> (64 - bits));
  }
  return {type, value};
}

HostValue make_real(const HostType* type, double value) {
  switch (type->kind) {
    case TypeKind::float_:
      return {type, static_cast<double>(static_cast<float>(value))};
    case TypeKind::half:
      return {type, half_value(half_bits(value))};
    case TypeKind::bfloat16:
      return {type, bfloat16_value(bfloat16_bits(value))};
    default:
      return {type, value};
  }
}

HostValue make_null(const HostType* type) { return {type, DevicePointer{}}; }

void assign(HostValue& target, const HostValue& source) {
  if (&target == &source) return;
  if (target.is_aggregate() && source.is_aggregate() && target.parts().size() == source.parts().size()) {
    for (std::size_t i = 0; i < target.parts().size(); ++i) assign(target.parts()[i], source.parts()[i]);
  } else {
    target.data = source.data;
  }
}

void end_life(HostValue& value) {
  if (value.is_aggregate()) {
    for (HostValue& part : value.parts()) end_life(part);
  } else {
    value.data = Unset{true};
  }
}

bool append_bytes(const HostValue& value, std::string& bytes, std::vector<EmbeddedPointer>& pointers) {
  const HostType& type = *value.type;
  const auto append = [&](std::uint64_t bits) {
    for (std::uint64_t i = 0; i < type.bytes; ++i) bytes.push_back(static_cast<char>(bits >> (8 * i)));
  };
  if (value.is_integer_value()) {
    append(static_cast<std::uint64_t>(value.integer()));
    return true;
  }
  if (value.is_double_value()) {
    const double real = value.real();
    switch (type.kind) {
      case TypeKind::float_:
        append(std::bit_cast<std::uint32_t>(static_cast<float>(real)));
        return true;
      case TypeKind::double_:
        append(std::bit_cast<std::uint64_t>(real));
        return true;
      case TypeKind::half:
        append(half_bits(real));
        return true;
      case TypeKind::bfloat16:
        append(bfloat16_bits(real));
        return true;
      default:
        return false;
    }
  }
  if (value.is_device_pointer()) {
    if (value.device_pointer().buffer != DevicePointer::null_buffer) {
      pointers.push_back({static_cast<std::uint32_t>(bytes.size()), value.device_pointer()});
    }
    append(0);
    return true;
  }
  if (!value.is_aggregate()) return false;
  const std::size_t begin = bytes.size();
  for (std::size_t i = 0; i < value.parts().size(); ++i) {
    if (type.kind == TypeKind::structure) bytes.resize(begin + type.structure->fields[i].offset_bytes, '\0');
    if (!append_bytes(value.parts()[i], bytes, pointers)) return false;
  }
  bytes.resize(begin + type.bytes, '\0');
  return true;
}

std::string print(const HostValue& value) {
  if (value.is_integer_value()) {
    const HostType& type = *value.type->plain;
    const std::string digits = type.kind == TypeKind::enumeration || is_signed_integer(type)
                                   ? std::to_string(value.integer())
                                   : std::to_string(static_cast<std::uint64_t>(value.integer()));
    switch (type.kind) {
      case TypeKind::bool_:
        return value.integer() != 0 ? "true" : "false";
      case TypeKind::int_:
        return digits;
      case TypeKind::uint:
        return digits + "u";
      case TypeKind::long_:
        return digits + "l";
      case TypeKind::ulong:
        return digits + "ul";
      case TypeKind::longlong:
        return digits + "ll";
      case TypeKind::ulonglong:
        return digits + "ull";
      default:
        return "(" + type.name + ")" + digits;
    }
  }
  if (value.is_double_value()) return std::to_string(value.real());
  return "a value of type " + value.type->name;
}

}  // namespace kw
