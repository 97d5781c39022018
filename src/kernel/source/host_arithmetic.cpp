#include "kernel/source/host_arithmetic.h"

#include <optional>

#include <cmath>

namespace kw {
namespace {

using Wide = __int128;

Error cannot_convert(const HostType& from, const HostType& to) {
  return Error{"a value of type " + from.name + " cannot become " + to.name, "", {}};
}

const HostType& storage_of(const HostType& type) {
  return type.kind == TypeKind::enumeration ? *type.enumeration->underlying : type;
}

// The value as a mathematical integer.
Wide wide(const HostValue& value) {
  return is_signed_integer(storage_of(*value.type)) ? Wide{value.integer()}
                                                    : Wide{static_cast<std::uint64_t>(value.integer())};
}

// Reduces to the type, or reports signed overflow.
Result<HostValue> from_wide(Wide value, const HostType* type, std::string_view op) {
  if (is_signed_integer(*type)) {
    const Wide limit = Wide{1} << (integer_bits(*type) - 1);
    if (value >= limit || value < -limit) {
      return Error{"signed integer overflow in `" + std::string(op) + "` of type " + type->name,
                   "compute in size_t or long long",
                   {}};
    }
  }
  return make_integer(type, static_cast<std::int64_t>(static_cast<std::uint64_t>(value)));
}

Result<HostValue> real_to_integer(double value, const HostType* to) {
  if (to->kind == TypeKind::bool_) return make_integer(to, value != 0);
  const double whole = std::trunc(value);
  const int bits = integer_bits(*to);
  const double low = is_signed_integer(*to) ? -std::ldexp(1.0, bits - 1) : 0.0;
  const double high = std::ldexp(1.0, is_signed_integer(*to) ? bits - 1 : bits);
  // An unsigned target accepts (-1, 0), which truncates to 0.
  if (!(whole >= low && whole < high)) {
    return Error{"the value " + std::to_string(value) + " does not fit " + to->name, "", {}};
  }
  if (!is_signed_integer(*to) && bits == 64) {
    return make_integer(to, static_cast<std::int64_t>(static_cast<std::uint64_t>(whole)));
  }
  return make_integer(to, static_cast<std::int64_t>(whole));
}

double integer_to_real(const HostValue& value, const HostType& to) {
  // Directly to float: over double it would round twice. The 16-bit types are made from the double.
  const bool is_signed = is_signed_integer(storage_of(*value.type));
  const auto bits = static_cast<std::uint64_t>(value.integer());
  if (to.kind == TypeKind::float_) {
    return static_cast<double>(is_signed ? static_cast<float>(value.integer()) : static_cast<float>(bits));
  }
  return is_signed ? static_cast<double>(value.integer()) : static_cast<double>(bits);
}

bool is_pointer_like(const HostType& type) { return type.kind == TypeKind::pointer || type.kind == TypeKind::null; }

Result<HostValue> convert_to_pointer(const HostValue& value, const HostType* to, Conversion how) {
  const HostType& from = *value.type;
  if (value.is_integer_value() && value.integer() == 0 && is_integer(from)) return make_null(to);
  if (from.kind == TypeKind::null) return make_null(to);
  if (from.kind == TypeKind::function && to->element->kind == TypeKind::void_) return HostValue{to, value.data};
  if (from.kind == TypeKind::string) return HostValue{to, value.data};
  if (from.kind != TypeKind::pointer) return cannot_convert(from, *to);
  HostValue result = value;
  result.type = to;
  if (how == Conversion::reinterpret || how == Conversion::cast) {
    const bool device = value.is_device_pointer();
    if (!device && from.element->plain != to->element->plain && to->element->kind != TypeKind::void_ &&
        from.element->kind != TypeKind::void_ && to->element->kind != TypeKind::pointer) {
      return Error{"the launcher casts a pointer to its own variables from " + from.name + " to " + to->name +
                       ", which the interpreter does not know",
                   "",
                   {}};
    }
    return result;
  }
  const bool loses_const = from.element->is_const && !to->element->is_const;
  const bool same = from.element->plain == to->element->plain || to->element->kind == TypeKind::void_;
  if (!same || loses_const) {
    Error error = cannot_convert(from, *to);
    error.advice = loses_const && same ? "it would lose const" : "cast it with reinterpret_cast if that is meant";
    return error;
  }
  return result;
}

}  // namespace

const HostType* promoted(const HostType& type, const TypeTable& types) {
  if (type.kind == TypeKind::enumeration) {
    if (type.enumeration->scoped) return nullptr;
    // Without a type of its own an enum becomes int, whatever gcc stores it in.
    return type.enumeration->fixed ? promoted(*type.enumeration->underlying, types) : types.int_type();
  }
  if (!is_integer(type)) return type.plain;
  return integer_bits(type) < 32 ? types.int_type() : type.plain;
}

const HostType* common_type(const HostType& a, const HostType& b, const TypeTable& types) {
  const HostType* x = promoted(a, types);
  const HostType* y = promoted(b, types);
  if (x == nullptr || y == nullptr) return nullptr;
  if (is_small_float(*x) && x == y) return x;
  if (!is_arithmetic(*x) || !is_arithmetic(*y)) return nullptr;
  for (const TypeKind kind : {TypeKind::double_, TypeKind::float_}) {
    if (x->kind == kind || y->kind == kind) return types.basic(kind);
  }
  if (x == y) return x;
  // The kinds are ordered by rank, signed before unsigned: int, uint, long, ulong, long long, unsigned long long.
  const HostType* higher = x->kind > y->kind ? x : y;
  const HostType* lower = higher == x ? y : x;
  if (is_signed_integer(*higher) && !is_signed_integer(*lower) && lower->bytes == higher->bytes) {
    return types.basic(static_cast<TypeKind>(static_cast<int>(higher->kind) + 1));  // long long with unsigned long
  }
  return higher;
}

const HostType* binary_result_type(std::string_view op, const HostType& a, const HostType& b, const TypeTable& types) {
  if (op == "==" || op == "!=" || op == "<" || op == ">" || op == "<=" || op == ">=" || op == "&&" || op == "||") {
    return types.bool_type();
  }
  if (op == ",") return b.plain;
  if (op == "<<" || op == ">>") return is_integer(a) || a.kind == TypeKind::enumeration ? promoted(a, types) : nullptr;
  if (a.kind == TypeKind::pointer && (op == "+" || op == "-")) {
    return b.kind == TypeKind::pointer ? types.basic(TypeKind::long_) : a.plain;
  }
  if (b.kind == TypeKind::pointer && op == "+") return b.plain;
  return common_type(a, b, types);
}

int conversion_rank(const HostType& from, const HostType& to) {
  if (from.plain == to.plain) return 0;
  if (is_arithmetic(from) && is_arithmetic(to)) {
    const bool promotes = (is_integer(from) && integer_bits(from) < 32 && to.kind == TypeKind::int_) ||
                          (from.kind == TypeKind::float_ && to.kind == TypeKind::double_);
    return promotes ? 1 : 2;
  }
  if (from.kind == TypeKind::enumeration && is_arithmetic(to)) return from.enumeration->scoped ? -1 : 1;
  if ((is_small_float(from) && is_arithmetic(to)) || (is_small_float(to) && is_arithmetic(from))) return 2;
  if (to.kind == TypeKind::pointer) {
    if (from.kind == TypeKind::null) return 2;
    if (from.kind == TypeKind::function && to.element->kind == TypeKind::void_) return 2;
    if (from.kind != TypeKind::pointer) return -1;
    if (from.element->is_const && !to.element->is_const) return -1;
    return from.element->plain == to.element->plain ? 1 : to.element->kind == TypeKind::void_ ? 2 : -1;
  }
  if (from.kind == TypeKind::structure && from.structure->constant_type != nullptr && is_arithmetic(to)) return 3;
  if (to.kind == TypeKind::bool_ && from.kind == TypeKind::pointer) return 2;
  if (to.kind == TypeKind::structure && to.structure->is_dim3 && is_arithmetic(from)) return 2;
  return -1;
}

Result<HostValue> convert(const HostValue& value, const HostType* to, Conversion how, TypeTable& types) {
  to = to->plain;
  const HostType& from = *value.type->plain;
  if (!value.is_set() || value.type->plain == to) {
    HostValue same = value;
    same.type = to;
    return same;
  }
  if (from.kind == TypeKind::structure && from.structure->constant_type != nullptr && is_arithmetic(*to)) {
    return convert(make_integer(from.structure->constant_type, from.structure->constant), to, how, types);
  }
  if (is_integer(*to)) {
    if (value.is_double_value()) return real_to_integer(value.real(), to);
    if (value.is_integer_value() &&
        (is_integer(from) ||
         (from.kind == TypeKind::enumeration && (how != Conversion::implicit || !from.enumeration->scoped)))) {
      return make_integer(to, value.integer());
    }
    if (to->kind == TypeKind::bool_ && is_pointer_like(from)) {
      KW_TRY(const bool set, truth(value));
      return make_integer(to, set);
    }
    return cannot_convert(from, *to);
  }
  if (is_floating(*to) || is_small_float(*to)) {
    if (value.is_double_value()) return make_real(to, value.real());
    if (value.is_integer_value() && (is_integer(from) || !from.enumeration->scoped || how != Conversion::implicit)) {
      return make_real(to, integer_to_real(value, *to));
    }
    return cannot_convert(from, *to);
  }
  switch (to->kind) {
    case TypeKind::enumeration:
      if (how != Conversion::implicit && value.is_integer_value()) return make_integer(to, value.integer());
      return cannot_convert(from, *to);
    case TypeKind::pointer:
      return convert_to_pointer(value, to, how);
    case TypeKind::function:
      if (from.kind == TypeKind::pointer && how != Conversion::implicit &&
          std::holds_alternative<std::shared_ptr<const FunctionValue>>(value.data)) {
        return HostValue{to, value.data};
      }
      if (from.kind == TypeKind::null) return make_null(to);
      return cannot_convert(from, *to);
    case TypeKind::stream:
      if (from.kind == TypeKind::null || (value.is_integer_value() && value.integer() == 0)) {
        return HostValue{to, StreamValue{true}};
      }
      return cannot_convert(from, *to);
    case TypeKind::structure:
      if (to->structure->is_dim3 && (value.is_integer_value() || value.is_double_value())) {
        KW_TRY(HostValue x, convert(value, types.basic(TypeKind::uint), how, types));
        const HostValue one = make_integer(types.basic(TypeKind::uint), 1);
        return HostValue{to, HostValue::Aggregate{std::move(x), one, one}};
      }
      if (to->structure->is_dim3 && from.kind == TypeKind::structure && from.structure->name == "uint3") {
        return HostValue{to, value.data};
      }
      return cannot_convert(from, *to);
    case TypeKind::optional: {
      if (from.name == "std::nullopt_t") return HostValue{to, HostValue::Aggregate{}};
      KW_TRY(HostValue inside, convert(value, to->element, Conversion::implicit, types));
      return HostValue{to, HostValue::Aggregate{std::move(inside)}};
    }
    case TypeKind::void_:
      return HostValue{to, std::int64_t{0}};
    default:
      return cannot_convert(from, *to);
  }
}

Result<bool> truth(const HostValue& value) {
  if (!value.is_set()) return Error{"a variable is used before it has a value", "", {}};
  if (value.is_integer_value() && !(value.type->kind == TypeKind::enumeration && value.type->enumeration->scoped)) {
    return value.integer() != 0;
  }
  if (value.is_double_value() && is_floating(*value.type)) return value.real() != 0;
  if (value.is_device_pointer()) return value.device_pointer().buffer != DevicePointer::null_buffer;
  if (value.is_host_pointer()) return value.host_pointer().target != nullptr;
  if (value.type->kind == TypeKind::function) return true;
  if (value.type->kind == TypeKind::optional) return !value.parts().empty();
  return Error{"a value of type " + value.type->name + " is neither true nor false", "", {}};
}

Result<HostValue> apply_unary(std::string_view op, const HostValue& value, TypeTable& types) {
  if (op == "!") {
    KW_TRY(const bool set, truth(value));
    return make_integer(types.bool_type(), !set);
  }
  const HostType* type = promoted(*value.type, types);
  const bool usable = type != nullptr && (value.is_integer_value() || value.is_double_value());
  if (!usable) return Error{"the operator " + std::string(op) + " cannot be used on " + value.type->name, "", {}};
  KW_TRY(HostValue operand, convert(value, type, Conversion::implicit, types));
  if (op == "+") return operand;
  if (op == "-") {
    if (operand.is_double_value()) return make_real(type, -operand.real());
    return from_wide(-wide(operand), type, "-");
  }
  if (op == "~" && operand.is_integer_value()) return make_integer(type, ~operand.integer());
  return Error{"the operator " + std::string(op) + " cannot be used on " + value.type->name, "", {}};
}

namespace {

Result<HostValue> pointer_plus(const HostValue& pointer, Wide count) {
  const HostType& element = *pointer.type->element;
  if (element.kind == TypeKind::void_ || element.bytes == 0) {
    return Error{"arithmetic on a pointer to void", "cast it to the element's type first", {}};
  }
  const Wide limit = Wide{1} << 62;
  if (count > limit || count < -limit) return Error{"a pointer is moved too far", "", {}};
  HostValue result = pointer;
  result.type = pointer.type->plain;
  if (pointer.is_device_pointer()) {
    DevicePointer moved = pointer.device_pointer();
    const Wide offset = moved.offset_bytes + count * static_cast<Wide>(element.bytes);
    if (offset > limit || offset < -limit) return Error{"a pointer is moved too far", "", {}};
    if (moved.buffer == DevicePointer::null_buffer && count != 0) return Error{"arithmetic on a null pointer", "", {}};
    moved.offset_bytes = static_cast<std::int64_t>(offset);
    result.data = moved;
    return result;
  }
  if (!pointer.is_host_pointer()) return Error{"arithmetic on a pointer that the interpreter cannot follow", "", {}};
  HostPointer moved = pointer.host_pointer();
  const Wide index = (moved.index < 0 ? 0 : moved.index) + count;
  const Wide size =
      moved.index >= 0 && moved.target->is_aggregate() ? static_cast<Wide>(moved.target->parts().size()) : 1;
  if (index < 0 || index > size) return Error{"a pointer leaves its array", "", {}};
  if (moved.index < 0 && index != 0) return Error{"a pointer leaves its variable", "", {}};
  if (moved.index >= 0) moved.index = static_cast<std::int64_t>(index);
  result.data = moved;
  return result;
}

Result<HostValue> pointer_operation(std::string_view op, const HostValue& a, const HostValue& b, TypeTable& types) {
  const auto refuse = [&] {
    return Error{
        "the operator " + std::string(op) + " cannot be used on " + a.type->name + " and " + b.type->name, "", {}};
  };
  const bool a_pointer = is_pointer_like(*a.type), b_pointer = is_pointer_like(*b.type);
  if (op == "+" && a_pointer && is_integer(*b.type)) return pointer_plus(a, wide(b));
  if (op == "+" && b_pointer && is_integer(*a.type)) return pointer_plus(b, wide(a));
  if (op == "-" && a_pointer && is_integer(*b.type)) return pointer_plus(a, -wide(b));
  const bool equality = op == "==" || op == "!=";
  if (equality) {
    KW_TRY(const bool a_set, truth(a));
    KW_TRY(const bool b_set, truth(b));
    bool same = a_set == b_set;
    if (a_set && b_set) {
      if (a.is_device_pointer() && b.is_device_pointer())
        same = a.device_pointer() == b.device_pointer();
      else if (a.is_host_pointer() && b.is_host_pointer())
        same = a.host_pointer() == b.host_pointer();
      else
        same = false;
    }
    return make_integer(types.bool_type(), same == (op == "=="));
  }
  if (op == "-" && a.is_host_pointer() && b.is_host_pointer() && a.type->element->plain == b.type->element->plain) {
    const HostPointer x = a.host_pointer(), y = b.host_pointer();
    if (x.target != y.target) return Error{"pointers into different arrays are subtracted", "", {}};
    return make_integer(types.basic(TypeKind::long_), x.index - y.index);
  }
  if (!a.is_device_pointer() || !b.is_device_pointer()) return refuse();
  const DevicePointer x = a.device_pointer(), y = b.device_pointer();
  if (x.buffer != y.buffer) return Error{"pointers into different buffers are compared or subtracted", "", {}};
  if (op == "-" && a.type->kind == TypeKind::pointer && a.type->element->bytes > 0) {
    const auto bytes = static_cast<std::int64_t>(a.type->element->bytes);
    return make_integer(types.basic(TypeKind::long_), (x.offset_bytes - y.offset_bytes) / bytes);
  }
  if (op == "<") return make_integer(types.bool_type(), x.offset_bytes < y.offset_bytes);
  if (op == ">") return make_integer(types.bool_type(), x.offset_bytes > y.offset_bytes);
  if (op == "<=") return make_integer(types.bool_type(), x.offset_bytes <= y.offset_bytes);
  if (op == ">=") return make_integer(types.bool_type(), x.offset_bytes >= y.offset_bytes);
  return refuse();
}

Result<HostValue> shift(std::string_view op, const HostValue& a, const HostValue& b, TypeTable& types) {
  const HostType* type = promoted(*a.type, types);
  if (type == nullptr || !a.is_integer_value() || !b.is_integer_value()) {
    return Error{"the operator " + std::string(op) + " needs whole numbers", "", {}};
  }
  const Wide count = wide(b);
  const int bits = integer_bits(*type);
  if (count < 0 || count >= bits) {
    return Error{
        "a shift of " + type->name + " by " + print(b), "the count must be from 0 to " + std::to_string(bits - 1), {}};
  }
  const HostValue value = make_integer(type, a.integer());
  const int n = static_cast<int>(count);
  if (op == "<<") {  // C++20, and what every compiler does before it: modulo 2^bits
    return make_integer(type, static_cast<std::int64_t>(static_cast<std::uint64_t>(value.integer()) << n));
  }
  return make_integer(type, static_cast<std::int64_t>(wide(value) >> n));
}

// Nothing where the operator compares nothing.
template <class Number>
std::optional<bool> compared(std::string_view op, Number x, Number y) {
  if (op == "<") return x < y;
  if (op == ">") return x > y;
  if (op == "<=") return x <= y;
  if (op == ">=") return x >= y;
  if (op == "==") return x == y;
  if (op == "!=") return x != y;
  return std::nullopt;
}

Result<HostValue> real_operation(std::string_view op, double x, double y, const HostType* type, TypeTable& types) {
  // Computed in double: one rounding to float is then the float result for + - * /, since 53 >= 2 * 24 + 2.
  if (op == "+") return make_real(type, x + y);
  if (op == "-") return make_real(type, x - y);
  if (op == "*") return make_real(type, x * y);
  if (op == "/") {
    if (y == 0) return Error{"division by zero", "", {}};
    return make_real(type, x / y);
  }
  if (const auto order = compared(op, x, y)) return make_integer(types.bool_type(), *order);
  return Error{"the operator " + std::string(op) + " cannot be used on " + type->name, "", {}};
}

Result<HostValue> integer_operation(std::string_view op, const HostValue& a, const HostValue& b, const HostType* type,
                                    TypeTable& types) {
  const Wide x = wide(a), y = wide(b);
  if (op == "+") return from_wide(x + y, type, op);
  if (op == "-") return from_wide(x - y, type, op);
  if (op == "*") {
    if (is_signed_integer(*type)) return from_wide(x * y, type, op);
    return make_integer(type, static_cast<std::int64_t>(static_cast<std::uint64_t>(a.integer()) *
                                                        static_cast<std::uint64_t>(b.integer())));
  }
  if (op == "/" || op == "%") {
    if (y == 0) return Error{op == "/" ? "division by zero" : "the remainder of a division by zero", "", {}};
    return from_wide(op == "/" ? x / y : x % y, type, op);
  }
  if (op == "&") return make_integer(type, a.integer() & b.integer());
  if (op == "|") return make_integer(type, a.integer() | b.integer());
  if (op == "^") return make_integer(type, a.integer() ^ b.integer());
  if (const auto order = compared(op, x, y)) return make_integer(types.bool_type(), *order);
  return Error{"the operator " + std::string(op) + " is not known", "", {}};
}

}  // namespace

Result<HostValue> apply_binary(std::string_view op, const HostValue& a, const HostValue& b, TypeTable& types) {
  if (!a.is_set() || !b.is_set()) return Error{"a variable is used before it has a value", "", {}};
  if (is_pointer_like(*a.type) || is_pointer_like(*b.type)) return pointer_operation(op, a, b, types);
  if (op == "<<" || op == ">>") return shift(op, a, b, types);
  const bool comparison = binary_result_type(op, *a.type, *b.type, types) == types.bool_type();
  if (comparison && a.type->kind == TypeKind::enumeration && a.type->plain == b.type->plain) {
    return integer_operation(op, a, b, a.type->enumeration->underlying, types);
  }
  const HostType* type = common_type(*a.type, *b.type, types);
  if (type == nullptr) {
    return Error{
        "the operator " + std::string(op) + " cannot be used on " + a.type->name + " and " + b.type->name, "", {}};
  }
  KW_TRY(const HostValue x, convert(a, type, Conversion::implicit, types));
  KW_TRY(const HostValue y, convert(b, type, Conversion::implicit, types));
  if (x.is_double_value()) return real_operation(op, x.real(), y.real(), type, types);
  return integer_operation(op, x, y, type, types);
}

}  // namespace kw
