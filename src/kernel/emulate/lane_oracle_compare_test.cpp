// setp, set, selp, slct by exact comparison.
#include "kernel/emulate/lane_oracle.h"

namespace kw::oracle {
namespace {

// Less, equal, greater, or nothing when a NaN is involved.
std::optional<int> ordering(const std::string& type, bool ftz, std::uint64_t a, std::uint64_t b) {
  if (const std::optional<Format> format = format_of(type)) {
    Number x = decode(*format, a), y = decode(*format, b);
    if (ftz) x = flushed(*format, x), y = flushed(*format, y);
    if (x.kind == Number::Kind::nan || y.kind == Number::Kind::nan) return std::nullopt;
    return compare(x, y);
  }
  const int width = std::atoi(type.c_str() + 1);
  auto value = [&](std::uint64_t bits) {
    Integer number = Integer(bits) & ((Integer(1) << width) - 1);
    if (type[0] == 's' && number >= (Integer(1) << (width - 1))) number -= Integer(1) << width;
    return number;
  };
  return value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0;
}

bool holds(const std::string& name, std::optional<int> order) {
  if (name == "num") return order.has_value();
  if (name == "nan") return !order.has_value();
  if (!order) return name.size() == 3;  // equ, neu, ltu, ... are true of NaN
  const std::string base = name.substr(0, 2);
  if (base == "eq") return *order == 0;
  if (base == "ne") return *order != 0;
  if (base == "lt" || base == "lo") return *order < 0;
  if (base == "le" || base == "ls") return *order <= 0;
  if (base == "gt" || base == "hi") return *order > 0;
  return *order >= 0;  // ge, hs
}

bool combined(const Form& form, bool compared, bool predicate) {
  if (form.has("and")) return compared && predicate;
  if (form.has("or")) return compared || predicate;
  if (form.has("xor")) return compared != predicate;
  return compared;
}

std::uint64_t yes(const std::string& type) {
  if (type == "f32") return 0x3f800000u;
  if (type == "f16") return 0x3c00u;
  if (type == "bf16") return 0x3f80u;
  if (type == "u16" || type == "s16") return 0xffffu;
  return 0xffffffffu;
}

}  // namespace

std::optional<Outcome> expected_comparison(const Form& form, const Operands& o) {
  const std::string& op = form.opcode;
  if (op == "selp") return Outcome{o.predicate ? o.value[0] : o.value[1]};
  if (op == "slct") {
    const std::optional<int> order = ordering(form.types[1], form.has("ftz"), o.value[2], 0);
    return Outcome{order && *order >= 0 ? o.value[0] : o.value[1]};
  }
  if (op != "setp" && op != "set") return std::nullopt;
  const std::string& source = form.types.back();
  const std::string& comparison = form.modifiers.front();
  if (!source.ends_with("x2")) {
    const bool compared = holds(comparison, ordering(source, form.has("ftz"), o.value[0], o.value[1]));
    if (op == "setp")
      return Outcome{std::nullopt, combined(form, compared, o.predicate), combined(form, !compared, o.predicate)};
    return Outcome{combined(form, compared, o.predicate) ? yes(form.types[0]) : 0};
  }
  const std::string half = source.substr(0, source.size() - 2);
  const bool low = combined(
      form, holds(comparison, ordering(half, form.has("ftz"), o.value[0] & 0xffff, o.value[1] & 0xffff)), o.predicate);
  const bool high = combined(
      form, holds(comparison, ordering(half, form.has("ftz"), o.value[0] >> 16, o.value[1] >> 16)), o.predicate);
  if (op == "setp") return Outcome{std::nullopt, low, high};
  const std::uint64_t one = form.types[0] == source ? yes(half) : 0xffffu;
  return Outcome{(low ? one : 0) | (high ? one << 16 : 0)};
}

}  // namespace kw::oracle
