#pragma once
// What one lane of a PTX instruction must give, computed from the text of the form in the slowest, plainest way:
// floating point as exact fractions of big integers rounded once, bits one at a time. For tests only; shares no code
// with lanes/.

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Warray-bounds"  // GCC 12 is wrong about the small-value buffer of cpp_int
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif
#include <boost/multiprecision/cpp_int.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernel/emulate/lane_operations.h"

namespace kw::oracle {

using Integer = boost::multiprecision::cpp_int;

// "cvt.rn.ftz.f32.f64@d8": the opcode, every modifier, the types among them in order, the widths.
struct Form {
  std::string opcode;
  std::vector<std::string> modifiers;
  std::vector<std::string> types;
  std::string widths;
  bool has(std::string_view modifier) const;
};
Form parse_form(const std::string& text);

struct Operands {
  std::uint64_t value[4] = {0, 0, 0, 0};
  bool predicate = false;
  bool predicate_other = false;
};
struct Outcome {
  std::optional<std::uint64_t> value = std::nullopt;
  std::optional<bool> predicate = std::nullopt;
  std::optional<bool> predicate_other = std::nullopt;
  double tolerance = 0;           // of an approximate function: relative
  double absolute_tolerance = 0;  // likewise: absolute
};
// Nothing for a form that this oracle does not know.
std::optional<Outcome> expected(const Form& form, const Operands& operands);
std::optional<Outcome> expected_integer(const Form& form, const Operands& operands);
std::optional<Outcome> expected_bits(const Form& form, const Operands& operands);
std::optional<Outcome> expected_float(const Form& form, const Operands& operands);
std::optional<Outcome> expected_comparison(const Form& form, const Operands& operands);
std::optional<Outcome> expected_conversion(const Form& form, const Operands& operands);
std::optional<Outcome> expected_approximation(const Form& form, const Operands& operands);

enum class Round { nearest, zero, down, up, away };

struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity = true;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
std::optional<Format> format_of(const std::string& type);  // of f16, bf16, f32, f64, tf32, e4m3, e5m2

// (-1)^negative * magnitude * 2^exponent. The lowest bit of magnitude may stand for "and something more".
struct Number {
  enum class Kind { finite, infinite, nan } kind = Kind::finite;
  bool negative = false;
  Integer magnitude = 0;
  int exponent = 0;
  bool is_zero() const { return kind == Kind::finite && magnitude == 0; }
};
Number decode(Format format, std::uint64_t bits);
// flush: a result below the smallest normal number, rounded as if exponents had no limit, becomes zero.
std::uint64_t encode(Format format, const Number& number, Round round, bool flush = false,
                     bool saturate_finite = false);
std::uint64_t canonical_nan(Format format);
Number flushed(Format format, Number number);

Number add(const Number& a, const Number& b, Round round);  // round decides the sign of an exact zero
Number multiply(const Number& a, const Number& b);
Number divide(const Number& a, const Number& b);
Number square_root(const Number& a);
Number negate(Number a);
Number whole(const Number& a, Round round);     // rounded to a whole number; the sign of zero is kept
int compare(const Number& a, const Number& b);  // of numbers that are not NaN; -0 equals +0
Number from_integer(const Integer& value);
Integer to_integer(const Number& a);  // of a whole number
Round rounding_of(const Form& form);

}  // namespace kw::oracle
