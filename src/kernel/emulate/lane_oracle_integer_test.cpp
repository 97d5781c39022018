// Whole numbers by their mathematical value, in big integers.
#include "kernel/emulate/lane_oracle.h"

namespace kw::oracle {
namespace {

int width_of(const std::string& type) { return type.size() > 1 ? std::atoi(type.c_str() + 1) : 0; }
bool is_integer(const std::string& type) {
  return type.size() >= 2 && (type[0] == 'u' || type[0] == 's' || type[0] == 'b') && type != "bf16" && type != "bf16x2";
}

Integer value_of(const std::string& type, std::uint64_t bits) {
  const int width = width_of(type);
  Integer value = Integer(bits) & ((Integer(1) << width) - 1);
  if (type[0] == 's' && value >= (Integer(1) << (width - 1))) value -= Integer(1) << width;
  return value;
}
std::uint64_t wrapped(int width, const Integer& value) {
  Integer rest = value % (Integer(1) << width);
  if (rest < 0) rest += Integer(1) << width;
  return static_cast<std::uint64_t>(rest);
}
Integer floor_shift(const Integer& value, int bits) {  // >> of a negative cpp_int is not defined everywhere
  const Integer unit = Integer(1) << bits;
  Integer quotient = value / unit;
  if (value < 0 && quotient * unit != value) --quotient;
  return quotient;
}
Integer clamp(const std::string& type, const Integer& value) {
  const int width = width_of(type);
  const Integer highest =
      type[0] == 's' ? Integer((Integer(1) << (width - 1)) - 1) : Integer((Integer(1) << width) - 1);
  const Integer lowest = type[0] == 's' ? Integer(-highest - 1) : Integer(0);
  return value > highest ? highest : value < lowest ? lowest : value;
}
Integer absolute(const Integer& value) { return value < 0 ? Integer(-value) : value; }

std::optional<Outcome> packed_halves(const Form& form, const Operands& o) {
  Form single = form;
  const std::string type = form.types[0].substr(0, 3);
  single.types = {type};
  std::uint64_t result = 0;
  for (int half = 0; half < 2; ++half) {
    Operands part;
    for (int i = 0; i < 3; ++i) part.value[i] = (o.value[i] >> (16 * half)) & 0xffff;
    const std::optional<Outcome> outcome = expected_integer(single, part);
    if (!outcome) return std::nullopt;
    result |= *outcome->value << (16 * half);
  }
  return Outcome{result};
}

std::optional<Outcome> dot_product(const Form& form, const Operands& o) {
  const bool a_signed = form.types[0] == "s32", b_signed = form.types[1] == "s32";
  Integer sum = value_of(a_signed || b_signed ? "s32" : "u32", o.value[2]);
  const int products = form.opcode == "dp4a" ? 4 : 2;
  const int first = form.has("hi") ? 2 : 0;
  for (int i = 0; i < products; ++i) {
    const std::string a_type = std::string(a_signed ? "s" : "u") + (products == 4 ? "8" : "16");
    sum += value_of(a_type, o.value[0] >> ((products == 4 ? 8 : 16) * i)) *
           value_of(b_signed ? "s8" : "u8", o.value[1] >> (8 * (i + first)));
  }
  return Outcome{wrapped(32, sum)};
}

std::optional<Outcome> with_carry(const Form& form, const Operands& o) {
  const std::string& type = form.types[0];
  const int width = width_of(type);
  const std::string natural = "u" + std::to_string(width);
  const bool reads = form.opcode.back() == 'c';
  const Integer carry = reads && o.predicate ? 1 : 0;
  Integer first = value_of(natural, o.value[0]), second = value_of(natural, o.value[1]);
  if (form.opcode.starts_with("mad")) {
    const Integer product = value_of(type, o.value[0]) * value_of(type, o.value[1]);
    first = form.has("hi") ? wrapped(width, floor_shift(product, width)) : wrapped(width, product);
    second = value_of(natural, o.value[2]);
  }
  const Integer total =
      form.opcode.starts_with("sub") ? Integer(first - second - carry) : Integer(first + second + carry);
  Outcome outcome{wrapped(width, total)};
  if (form.has("cc")) outcome.predicate = total < 0 || total >= (Integer(1) << width);
  return outcome;
}

}  // namespace

std::optional<Outcome> expected_integer(const Form& form, const Operands& o) {
  if (form.types.empty() || !is_integer(form.types[0])) return std::nullopt;
  const std::string& op = form.opcode;
  if (form.types[0].ends_with("x2")) return packed_halves(form, o);
  if (op == "dp4a" || op == "dp2a") return dot_product(form, o);
  if (form.has("cc") || op == "addc" || op == "subc" || op == "madc") return with_carry(form, o);
  if (op == "vabsdiff4") {
    Integer sum = value_of("u32", o.value[2]), bytes = 0;
    for (int i = 0; i < 4; ++i) {
      const Integer difference =
          absolute(value_of("u8", o.value[0] >> (8 * i)) - value_of("u8", o.value[1] >> (8 * i)));
      sum += difference;
      bytes += difference << (8 * i);
    }
    return Outcome{wrapped(32, form.has("add") ? sum : bytes)};
  }
  const std::string& type = form.types[0];
  const int width = width_of(type);
  const Integer a = value_of(type, o.value[0]), b = value_of(type, o.value[1]);
  const Integer c = value_of(form.has("wide") ? type.substr(0, 1) + std::to_string(2 * width) : type, o.value[2]);
  auto result = [&](const Integer& value) {
    return Outcome{wrapped(width, form.has("sat") ? clamp(type, value) : value)};
  };
  if (op == "add") return result(a + b);
  if (op == "sub") return result(a - b);
  if (op == "neg") return result(-a);
  if (op == "abs") return result(absolute(a));
  if (op == "sad") return result(c + absolute(a - b));
  if (op == "min" || op == "max") {
    const Integer chosen = (a < b) == (op == "min") ? a : b;
    return result(form.has("relu") && chosen < 0 ? Integer(0) : chosen);
  }
  if (op == "mul" || op == "mad") {
    const Integer product = a * b, addend = op == "mad" ? c : Integer(0);
    if (form.has("wide")) return Outcome{wrapped(2 * width, product + addend)};
    if (form.has("lo")) return result(product + addend);
    const Integer high = floor_shift(product, width);
    return result(high + addend);
  }
  if (op == "mul24" || op == "mad24") {
    const std::string low = type.substr(0, 1) + "24";
    const Integer product = value_of(low, o.value[0]) * value_of(low, o.value[1]);
    const Integer part = form.has("lo") ? product : value_of(type, wrapped(32, floor_shift(product, 16)));
    return result(part + (op == "mad24" ? c : Integer(0)));
  }
  if (op == "div" || op == "rem") {
    if (b == 0) return result(-1);
    return result(op == "div" ? Integer(a / b) : Integer(a % b));
  }
  return std::nullopt;
}

}  // namespace kw::oracle
