// Arithmetic of floating point as exact numbers, rounded once; NaN and signs as PTX and the hardware have them.
#include "kernel/emulate/lane_oracle.h"

namespace kw::oracle {
namespace {

bool is_nan(Format format, std::uint64_t bits) { return decode(format, bits).kind == Number::Kind::nan; }
std::uint64_t sign_bit(Format format) { return std::uint64_t{1} << (format.bits() - 1); }
std::uint64_t quiet(std::uint64_t bits) { return bits | 0x0008000000000000u; }

// f64 hands the payload of an operand on, the others have one NaN.
std::uint64_t nan_result(Format format, const Form& form, const Operands& o, int sources) {
  if (format.bits() != 64) return canonical_nan(format);
  std::vector<int> order = {0};
  if (sources == 2) order = form.opcode == "div" ? std::vector<int>{0, 1} : std::vector<int>{1, 0};
  if (sources == 3) order = {1, 2, 0};
  for (const int i : order) {
    if (is_nan(format, o.value[i])) return quiet(o.value[i]);
  }
  return canonical_nan(format);
}

std::uint64_t saturated(Format format, std::uint64_t bits) {
  const Number number = decode(format, bits);
  if (number.kind == Number::Kind::nan || number.negative || number.is_zero()) return 0;
  const Number one = from_integer(1);
  return number.kind == Number::Kind::infinite || compare(number, one) > 0 ? encode(format, one, Round::nearest) : bits;
}

std::uint64_t extreme(Format format, const Form& form, std::uint64_t a, std::uint64_t b) {
  auto prepared = [&](std::uint64_t bits) {
    if (form.has("ftz") && flushed(format, decode(format, bits)).is_zero()) bits &= sign_bit(format);
    return form.has("xorsign") ? bits & ~sign_bit(format) : bits;
  };
  const std::uint64_t sign = form.has("xorsign") ? (a ^ b) & sign_bit(format) : 0;
  const std::uint64_t x = prepared(a), y = prepared(b);
  const bool x_nan = is_nan(format, x), y_nan = is_nan(format, y);
  if ((x_nan && y_nan) || (form.has("NaN") && (x_nan || y_nan)))
    return format.bits() == 64 ? quiet(b) : canonical_nan(format);
  if (x_nan) return y | sign;
  if (y_nan) return x | sign;
  const Number p = decode(format, x), q = decode(format, y);
  int order = compare(p, q);
  if (order == 0) order = static_cast<int>(q.negative) - static_cast<int>(p.negative);  // -0 is below +0
  const bool first = form.opcode.starts_with("min") ? order <= 0 : order >= 0;
  return (first ? x : y) | sign;
}

std::optional<std::uint64_t> scalar(Format format, const Form& form, const Operands& o) {
  const std::string& op = form.opcode;
  const std::uint64_t a_bits = o.value[0], b_bits = o.value[1];
  if (op == "min" || op == "max") return extreme(format, form, a_bits, b_bits);
  if (op == "min3" || op == "max3") return extreme(format, form, extreme(format, form, a_bits, b_bits), o.value[2]);
  if (op == "copysign") return (a_bits & sign_bit(format)) | (b_bits & (sign_bit(format) - 1));
  if (op == "abs" || op == "neg") {
    if (is_nan(format, a_bits)) return nan_result(format, form, o, 1);
    const std::uint64_t kept =
        form.has("ftz") && flushed(format, decode(format, a_bits)).is_zero() ? a_bits & sign_bit(format) : a_bits;
    return op == "abs" ? kept & ~sign_bit(format) : kept ^ sign_bit(format);
  }
  Number operand[3];
  for (int i = 0; i < 3; ++i) {
    operand[i] = decode(format, o.value[i]);
    if (form.has("ftz")) operand[i] = flushed(format, operand[i]);
  }
  const Round round = rounding_of(form);
  Number result;
  int sources = 2;
  if (op == "add") {
    result = add(operand[0], operand[1], round);
  } else if (op == "sub") {
    result = add(operand[0], negate(operand[1]), round);
  } else if (op == "mul") {
    result = multiply(operand[0], operand[1]);
  } else if (op == "fma" || op == "mad") {
    result = add(multiply(operand[0], operand[1]), operand[2], round);
    sources = 3;
  } else if (op == "div") {
    result = divide(operand[0], operand[1]);
  } else if (op == "rcp") {
    result = divide(from_integer(1), operand[0]);
    sources = 1;
  } else if (op == "sqrt") {
    result = square_root(operand[0]);
    sources = 1;
  } else {
    return std::nullopt;
  }
  std::uint64_t bits = result.kind == Number::Kind::nan ? nan_result(format, form, o, sources)
                                                        : encode(format, result, round, form.has("ftz"));
  if (form.has("sat")) bits = saturated(format, bits);
  if (form.has("relu") && !is_nan(format, bits) && (bits & sign_bit(format)) != 0) bits = 0;
  return bits;
}

std::optional<Outcome> tested(Format format, const Form& form, std::uint64_t bits) {
  const Number number = decode(format, bits);
  const bool subnormal = !number.is_zero() && flushed(format, number).is_zero();
  bool holds = false;
  if (form.has("finite")) holds = number.kind == Number::Kind::finite;
  if (form.has("infinite")) holds = number.kind == Number::Kind::infinite;
  if (form.has("number")) holds = number.kind != Number::Kind::nan;
  if (form.has("notanumber")) holds = number.kind == Number::Kind::nan;
  if (form.has("normal")) holds = number.kind == Number::Kind::finite && !subnormal;
  if (form.has("subnormal")) holds = subnormal;
  return Outcome{std::nullopt, holds};
}

}  // namespace

std::optional<Outcome> expected_float(const Form& form, const Operands& o) {
  if (form.types.empty()) return std::nullopt;
  const std::optional<Format> format = format_of(form.types[0]);
  if (!format) return std::nullopt;
  if (form.opcode == "testp") return tested(*format, form, o.value[0]);
  if (!form.types[0].ends_with("x2")) {
    const std::optional<std::uint64_t> bits = scalar(*format, form, o);
    return bits ? std::optional(Outcome{*bits}) : std::nullopt;
  }
  const int width = format->bits();
  std::uint64_t result = 0;
  for (int half = 0; half < 2; ++half) {
    Operands part;
    for (int i = 0; i < 3; ++i) part.value[i] = (o.value[i] >> (width * half)) & ((std::uint64_t{1} << width) - 1);
    const std::optional<std::uint64_t> bits = scalar(*format, form, part);
    if (!bits) return std::nullopt;
    result |= *bits << (width * half);
  }
  return Outcome{result};
}

}  // namespace kw::oracle
