// Values: constants as Python text, conversions, operators.

#include <cmath>
#include <cstdio>

#include "kernel/export/launcher_translator.h"

namespace kw {
namespace {

const HostType& stored_as(const HostType& type) {
  return type.kind == TypeKind::enumeration ? *type.enumeration->underlying : type;
}

// "i32", "u64": how results of arithmetic of this type are checked or wrapped.
std::string suffix_of(const HostType& type) {
  return (is_signed_integer(type) ? "i" : "u") + std::to_string(integer_bits(type));
}

bool always_fits(const HostType& from, const HostType& to) {
  if (from.kind == TypeKind::bool_) return true;
  if (to.kind == TypeKind::bool_) return false;
  const int from_bits = integer_bits(from), to_bits = integer_bits(to);
  if (is_signed_integer(from) == is_signed_integer(to)) return from_bits <= to_bits;
  return !is_signed_integer(from) && from_bits < to_bits;
}

bool is_comparison(std::string_view op) {
  return op == "==" || op == "!=" || op == "<" || op == ">" || op == "<=" || op == ">=";
}

bool is_pointer_type(const HostType& type) { return type.kind == TypeKind::pointer || type.kind == TypeKind::null; }

std::string real_text(double value) {
  if (std::isnan(value)) return "math.nan";
  if (std::isinf(value)) return value > 0 ? "math.inf" : "-math.inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

}  // namespace

LauncherTranslator::Code LauncherTranslator::plain(const HostType* type, std::string text) const {
  Code code;
  code.type = type->plain;
  code.text = std::move(text);
  return code;
}

std::string LauncherTranslator::literal(const HostValue& value) {
  if (value.is_integer_value()) {
    const bool negative = is_signed_integer(stored_as(*value.type));
    return negative ? std::to_string(value.integer()) : std::to_string(static_cast<std::uint64_t>(value.integer()));
  }
  if (value.is_double_value()) return real_text(value.real());
  if (value.is_aggregate()) {
    std::string parts;
    for (const HostValue& part : value.parts()) parts += (parts.empty() ? "" : ", ") + literal(part);
    return value.type->kind == TypeKind::array ? "Array([" + parts + "])"
                                               : record_class(*value.type) + "(" + parts + ")";
  }
  if (const auto* stream = std::get_if<StreamValue>(&value.data)) return stream->is_default ? "None" : "rt.stream";
  if (value.is_device_pointer()) return "NULL";
  if (std::holds_alternative<std::string_view>(value.data)) return "\"\"";
  return "None";
}

LauncherTranslator::Code LauncherTranslator::code_of(const HostValue& value) {
  Code code;
  code.type = value.type->plain;
  if (const auto* function = std::get_if<std::shared_ptr<const FunctionValue>>(&value.data)) {
    code.function = *function;
    return code;
  }
  code.text = literal(value);
  if (value.is_integer_value() || value.is_double_value()) code.constant = value;
  return code;
}

Result<LauncherTranslator::Code> LauncherTranslator::converted(Code code, const HostType* to, Conversion how,
                                                               TokenIndex token) {
  to = to->plain;
  if (code.type->plain == to) return code;
  if (code.constant) {
    KW_TRY_AT(const HostValue value, convert(*code.constant, to, how, types_), token);
    return code_of(value);
  }
  const HostType& from = *code.type;
  // The interpreter knows which conversions there are; a value of the type is enough to ask it.
  const bool number = is_arithmetic(from) || is_small_float(from) || from.kind == TypeKind::enumeration;
  if (number) {
    HostValue sample = is_floating(from) || is_small_float(from) ? make_real(&from, 1) : make_integer(&from, 1);
    if (to->kind == TypeKind::pointer || to->kind == TypeKind::stream) return refuse("this conversion", token);
    KW_TRY_AT(const HostValue checked, convert(sample, to, how, types_), token);
    static_cast<void>(checked);
  }
  if (number && (is_integer(*to) || to->kind == TypeKind::enumeration)) {
    const HostType& wanted = stored_as(*to);
    const HostType& given = stored_as(from);
    if (wanted.kind == TypeKind::bool_) return plain(to, "to_bool(" + code.text + ")");
    if (is_integer(given) && always_fits(given, wanted)) return plain(to, code.text);
    return plain(to, "to_" + suffix_of(wanted) + "(" + code.text + ")");
  }
  if (number && (is_floating(*to) || is_small_float(*to))) {
    const char* name = to->kind == TypeKind::float_    ? "f32("
                       : to->kind == TypeKind::double_ ? "float("
                       : to->kind == TypeKind::half    ? "f16("
                                                       : "bf16(";
    return plain(to, name + code.text + ")");
  }
  if (to->kind == TypeKind::structure && to->structure->is_dim3 && is_arithmetic(from)) {
    KW_TRY(const Code x, converted(std::move(code), types_.basic(TypeKind::uint), Conversion::implicit, token));
    return plain(to, "dim3(" + x.text + ", 1, 1)");
  }
  if (to->kind == TypeKind::bool_ && is_pointer_type(from)) return plain(to, "to_bool(" + code.text + ")");
  if (to->kind == TypeKind::pointer || to->kind == TypeKind::function) {
    const bool accepted = is_pointer_type(from) || from.kind == TypeKind::function || from.kind == TypeKind::string;
    if (!accepted) return refuse("a conversion from " + from.name + " to " + to->name, token);
    if (from.kind == TypeKind::null) return plain(to, "NULL");
    if (from.kind == TypeKind::pointer && to->kind == TypeKind::pointer && how == Conversion::implicit &&
        conversion_rank(from, *to) < 0) {
      return fail("a value of type " + from.name + " cannot become " + to->name, token);
    }
    code.type = to;
    return code;
  }
  if (to->kind == TypeKind::stream && from.kind == TypeKind::null) return plain(to, "None");
  return refuse("a conversion from " + from.name + " to " + to->name, token);
}

Result<LauncherTranslator::Code> LauncherTranslator::unary(std::string_view op, const Code& a, TokenIndex token) {
  if (a.constant) {
    KW_TRY_AT(const HostValue value, apply_unary(op, *a.constant, types_), token);
    return code_of(value);
  }
  if (op == "!") {
    if (a.type->kind == TypeKind::structure) return refuse("`!` of a struct", token);
    return plain(types_.bool_type(), "(not " + a.text + ")");
  }
  const HostType* type = promoted(*a.type, types_);
  if (type == nullptr || !is_arithmetic(*type)) {
    return fail("the operator " + std::string(op) + " cannot be used on " + a.type->name, token);
  }
  KW_TRY(const Code operand, converted(a, type, Conversion::implicit, token));
  if (op == "+") return operand;
  if (op == "-") {
    if (is_floating(*type)) return plain(type, "(-" + operand.text + ")");
    return plain(type, suffix_of(*type) + "(-" + operand.text + ")");
  }
  if (op == "~" && is_integer(*type)) {
    const std::string text = "~" + operand.text;
    return plain(type, is_signed_integer(*type) ? "(" + text + ")" : suffix_of(*type) + "(" + text + ")");
  }
  return refuse("the operator " + std::string(op), token);
}

Result<LauncherTranslator::Code> LauncherTranslator::pointer_binary(std::string_view op, const Code& a, const Code& b,
                                                                    TokenIndex token) {
  const bool a_pointer = is_pointer_type(*a.type), b_pointer = is_pointer_type(*b.type);
  if (op == "==" || op == "!=") {
    const std::string same = "same(" + (a.constant ? "NULL" : a.text) + ", " + (b.constant ? "NULL" : b.text) + ")";
    return plain(types_.bool_type(), op == "==" ? same : "(not " + same + ")");
  }
  const HostType* moved = a_pointer ? a.type : b.type;
  const std::uint64_t bytes = moved->kind == TypeKind::pointer ? moved->element->bytes : 0;
  if (bytes == 0) return fail("arithmetic on a pointer to void", token, "cast it to the element's type first");
  const std::string size = std::to_string(bytes);
  if (a_pointer && b_pointer && op == "-") {
    return plain(types_.basic(TypeKind::long_), "distance(" + a.text + ", " + b.text + ", " + size + ")");
  }
  if (a_pointer && b_pointer && is_comparison(op)) {
    return plain(types_.bool_type(), "(distance(" + a.text + ", " + b.text + ", 1) " + std::string(op) + " 0)");
  }
  if (a_pointer && is_integer(*b.type) && (op == "+" || op == "-")) {
    return plain(a.type, "plus(" + a.text + ", " + (op == "-" ? "-" + b.text : b.text) + ", " + size + ")");
  }
  if (b_pointer && is_integer(*a.type) && op == "+") {
    return plain(b.type, "plus(" + b.text + ", " + a.text + ", " + size + ")");
  }
  return refuse("the operator " + std::string(op) + " on pointers", token);
}

Result<LauncherTranslator::Code> LauncherTranslator::binary(std::string_view op, const Code& a, const Code& b,
                                                            TokenIndex token) {
  if (a.constant && b.constant) {
    KW_TRY_AT(const HostValue value, apply_binary(op, *a.constant, *b.constant, types_), token);
    return code_of(value);
  }
  if (is_pointer_type(*a.type) || is_pointer_type(*b.type)) return pointer_binary(op, a, b, token);
  if (a.type->kind == TypeKind::structure || b.type->kind == TypeKind::structure) {
    return refuse("an operator of a struct", token);
  }
  const std::string name(op);
  if (op == "<<" || op == ">>") {
    const HostType* type = promoted(*a.type, types_);
    if (type == nullptr || !is_integer(*type) || !is_integer(stored_as(*b.type))) {
      return fail("the operator " + name + " needs whole numbers", token);
    }
    KW_TRY(const Code x, converted(a, type, Conversion::implicit, token));
    const std::string shifted =
        (op == "<<" ? "shl(" : "shr(") + x.text + ", " + b.text + ", " + std::to_string(integer_bits(*type)) + ")";
    return plain(type, op == "<<" ? "to_" + suffix_of(*type) + "(" + shifted + ")" : shifted);
  }
  const bool comparison = is_comparison(op);
  if (comparison && a.type->kind == TypeKind::enumeration && a.type->plain == b.type->plain) {
    return plain(types_.bool_type(), "(" + a.text + " " + name + " " + b.text + ")");
  }
  if (comparison && a.type->kind == TypeKind::stream && b.type->kind == TypeKind::stream) {
    return plain(types_.bool_type(), "(" + a.text + (op == "==" ? " is " : " is not ") + b.text + ")");
  }
  const HostType* type = common_type(*a.type, *b.type, types_);
  if (type == nullptr || !is_arithmetic(*type)) {
    return fail("the operator " + name + " cannot be used on " + a.type->name + " and " + b.type->name, token);
  }
  KW_TRY(const Code x, converted(a, type, Conversion::implicit, token));
  KW_TRY(const Code y, converted(b, type, Conversion::implicit, token));
  if (comparison) return plain(types_.bool_type(), "(" + x.text + " " + name + " " + y.text + ")");
  const std::string whole = x.text + " " + name + " " + y.text;
  if (is_floating(*type)) {
    if (op != "+" && op != "-" && op != "*" && op != "/") return refuse("the operator " + name, token);
    const std::string result = op == "/" ? "fdiv(" + x.text + ", " + y.text + ")" : "(" + whole + ")";
    if (type->kind == TypeKind::double_) return plain(type, result);
    return plain(type, "f32" + (op == "/" ? "(" + result + ")" : result));
  }
  if (op == "/") return plain(type, suffix_of(*type) + "(div(" + x.text + ", " + y.text + "))");
  if (op == "%") return plain(type, "rem(" + x.text + ", " + y.text + ")");
  if (op == "&" || op == "|" || op == "^") return plain(type, "(" + whole + ")");
  if (op == "+" || op == "-" || op == "*") return plain(type, suffix_of(*type) + "(" + whole + ")");
  return refuse("the operator " + name, token);
}

}  // namespace kw
