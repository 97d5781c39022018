// cvt by exact value.
#include "kernel/emulate/lane_oracle.h"

namespace kw::oracle {
namespace {

int width_of(const std::string& type) { return std::atoi(type.c_str() + 1); }

Integer integer_value(const std::string& type, std::uint64_t bits) {
  const int width = width_of(type);
  Integer value = Integer(bits) & ((Integer(1) << width) - 1);
  if (type[0] == 's' && value >= (Integer(1) << (width - 1))) value -= Integer(1) << width;
  return value;
}
Integer clamped(const std::string& type, const Integer& value) {
  const int width = width_of(type);
  const Integer highest =
      type[0] == 's' ? Integer((Integer(1) << (width - 1)) - 1) : Integer((Integer(1) << width) - 1);
  const Integer lowest = type[0] == 's' ? Integer(-highest - 1) : Integer(0);
  return value > highest ? highest : value < lowest ? lowest : value;
}
std::uint64_t low_bits(int width, const Integer& value) {
  Integer rest = value % (Integer(1) << width);
  if (rest < 0) rest += Integer(1) << width;
  return static_cast<std::uint64_t>(rest);
}

// A result of the type in its register: 8 bits live in 16, wider registers (widths "@d4", "@d8") are filled by the
// sign.
std::uint64_t in_register(const Form& form, const std::string& type, const Integer& value) {
  const int width = width_of(type);
  int register_bits = std::max(width, 16);
  if (form.widths.find("d4") != std::string::npos) register_bits = 32;
  if (form.widths.find("d8") != std::string::npos) register_bits = 64;
  return low_bits(register_bits, integer_value(type, low_bits(width, value)));
}

// NaN between f64 and the others keeps sign and leading payload; everywhere else it is the canonical one, or the bits
// just move.
std::uint64_t nan_between(const std::string& from, const std::string& to, bool ftz, std::uint64_t bits) {
  const Format source = *format_of(from), target = *format_of(to);
  const bool moves = !ftz && to == "f32" && (from == "bf16" || from == "f32");
  if (moves) return bits << (target.mantissa_bits - source.mantissa_bits);
  if (from == "f64" && to == "f64") return bits;
  if (from != "f64" && to != "f64") return canonical_nan(target);
  if (ftz && from == "f32") bits = 0x7fffffffu;
  const std::uint64_t sign = (bits >> (source.bits() - 1)) & 1;
  std::uint64_t payload = bits & ((std::uint64_t{1} << source.mantissa_bits) - 1);
  const int move = target.mantissa_bits - source.mantissa_bits;
  payload = move >= 0 ? payload << move : payload >> -move;
  payload |= std::uint64_t{1} << (target.mantissa_bits - 1);
  const std::uint64_t exponent = (std::uint64_t{1} << target.exponent_bits) - 1;
  return sign << (target.bits() - 1) | exponent << target.mantissa_bits | payload;
}

std::uint64_t float_to_float(const Form& form, const std::string& from, const std::string& to, std::uint64_t bits,
                             bool round_to_whole) {
  const Format source = *format_of(from), target = *format_of(to);
  Number number = decode(source, bits);
  const bool ftz = form.has("ftz");
  // To f16 the hardware ignores .ftz; otherwise it flushes f32, on either side.
  if (ftz && from == "f32" && to != "f16") number = flushed(source, number);
  if (form.has("relu") && number.kind != Number::Kind::nan && number.negative) number = Number{};
  if (form.has("sat")) {
    if (round_to_whole) number = whole(number, rounding_of(form));
    if (number.kind == Number::Kind::nan || number.negative || number.is_zero()) number = Number{};
    if (number.kind == Number::Kind::infinite || compare(number, from_integer(1)) > 0) number = from_integer(1);
  }
  if (number.kind == Number::Kind::nan && round_to_whole)
    return from == "f64" ? bits | 0x0008000000000000u : canonical_nan(target);
  if (number.kind == Number::Kind::nan) return nan_between(from, to, ftz, bits);
  if (round_to_whole) number = whole(number, rounding_of(form));
  return encode(target, number, rounding_of(form), ftz && to == "f32", form.has("satfinite"));
}

std::uint64_t to_tf32(const Form& form, std::uint64_t bits) {
  const Format single{8, 23}, tf32{8, 10};
  Number number = decode(single, bits);
  if (form.has("relu") && number.kind != Number::Kind::nan && number.negative) number = Number{};
  if (number.kind == Number::Kind::nan && form.has("rna")) {
    return (bits & 0xffffe000u) - (form.has("satfinite") ? 0x2000u : 0u);  // seen on an H200
  }
  return encode(tf32, number, rounding_of(form), false, form.has("satfinite")) << 13;
}

std::optional<Outcome> packed(const Form& form, const Operands& o) {
  const std::string &to = form.types[0], &from = form.types[1];
  auto element = [](const std::string& type) { return type.substr(0, type.size() - 2); };
  const bool to_pair = to.ends_with("x2"), from_pair = from.ends_with("x2");
  if (!to_pair) return std::nullopt;
  std::string target = element(to);
  const int width = format_of(to)->bits();
  std::uint64_t result = 0;
  for (int half = 0; half < 2; ++half) {
    std::uint64_t bits = o.value[1 - half];
    std::string source = from;
    if (from_pair) {
      const int source_width = format_of(from)->bits();
      bits = (o.value[0] >> (source_width * half)) & ((std::uint64_t{1} << source_width) - 1);
      source = from;
    }
    Number number = decode(*format_of(source), bits);
    if (form.has("relu") && number.kind != Number::Kind::nan && number.negative) number = Number{};
    result |= encode(*format_of(to), number, rounding_of(form), false, form.has("satfinite")) << (width * half);
  }
  return Outcome{result};
}

std::optional<Outcome> packed_integers(const Form& form, const Operands& o) {
  const std::string& type = form.types[0];
  const int width = width_of(type);
  const std::uint64_t a = low_bits(width, clamped(type, integer_value("s32", o.value[0])));
  const std::uint64_t b = low_bits(width, clamped(type, integer_value("s32", o.value[1])));
  const std::uint64_t c = width == 16 ? 0 : o.value[2] << (2 * width);
  return Outcome{(c | a << width | b) & 0xffffffffu};
}

}  // namespace

std::optional<Outcome> expected_conversion(const Form& form, const Operands& o) {
  if (form.opcode != "cvt") return std::nullopt;
  if (form.has("pack")) return packed_integers(form, o);
  const std::string &to = form.types[0], &from = form.types[1];
  if (to == "tf32") return Outcome{to_tf32(form, o.value[0])};
  if (to.ends_with("x2")) return packed(form, o);
  const std::optional<Format> source = format_of(from), target = format_of(to);
  const bool to_whole = form.has("rni") || form.has("rzi") || form.has("rmi") || form.has("rpi");
  if (!source && !target) {
    const Integer value = integer_value(from, o.value[0]);
    return Outcome{in_register(form, to, form.has("sat") ? clamped(to, value) : value)};
  }
  if (!source) return Outcome{encode(*target, from_integer(integer_value(from, o.value[0])), rounding_of(form))};
  if (target) return Outcome{float_to_float(form, from, to, o.value[0], to_whole)};
  Number number = decode(*source, o.value[0]);
  if (form.has("ftz")) number = flushed(*source, number);
  if (number.kind == Number::Kind::nan) return Outcome{0};
  if (number.kind == Number::Kind::infinite)
    return Outcome{in_register(form, to, clamped(to, Integer(number.negative ? -1 : 1) << 100))};
  return Outcome{in_register(form, to, clamped(to, to_integer(whole(number, rounding_of(form)))))};
}

}  // namespace kw::oracle
