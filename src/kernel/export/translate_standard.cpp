// Functions of the C++ library and of CUDA's headers that launchers compute sizes with.

#include "kernel/export/launcher_translator.h"

namespace kw {
namespace {

constexpr std::string_view one_argument[] = {"ceil",  "floor", "sqrt", "log2", "log", "log10", "exp", "exp2",
                                             "round", "trunc", "fabs", "cbrt", "sin", "cos",   "tanh"};
constexpr std::string_view two_arguments[] = {"pow", "fmin", "fmax", "fmod"};

// The name without the f of the float version; empty when it is none of these.
std::string_view math_name(std::string_view name, std::size_t arguments, bool* single) {
  const auto known = [&](std::string_view wanted) {
    for (const std::string_view one : one_argument) {
      if (arguments == 1 && one == wanted) return true;
    }
    for (const std::string_view two : two_arguments) {
      if (arguments == 2 && two == wanted) return true;
    }
    return false;
  };
  *single = false;
  if (known(name)) return name;
  *single = true;
  if (name.ends_with('f') && known(name.substr(0, name.size() - 1))) return name.substr(0, name.size() - 1);
  return "";
}

}  // namespace

Result<LauncherTranslator::Code> LauncherTranslator::minimum(std::string_view name, const Expr& expr) {
  const NamePart& part = expr.children[0]->name.parts.back();
  const bool standard = expr.children[0]->name.parts.size() > 1;
  const Expr* list =
      expr.children.size() == 2 && expr.children[1]->kind == ExprKind::braces ? expr.children[1] : nullptr;
  std::vector<Code> values;
  for (std::size_t i = list != nullptr ? 0 : 1; i < (list != nullptr ? list : &expr)->children.size(); ++i) {
    KW_TRY(Code value, translate(*(list != nullptr ? list : &expr)->children[i]));
    if (!is_arithmetic(*value.type)) return fail("`" + std::string(name) + "` needs numbers", expr.token);
    values.push_back(std::move(value));
  }
  if (values.empty() || (list == nullptr && values.size() != 2)) {
    return refuse("`" + std::string(name) + "` with " + std::to_string(values.size()) + " arguments", expr.token);
  }
  const HostType* type = values[0].type->plain;
  if (part.has_arguments) {
    if (part.arguments.size() != 1 || part.arguments[0].type == nullptr) {
      return refuse("these template arguments", expr.token);
    }
    KW_TRY(type, resolve(*part.arguments[0].type));
    if (!is_arithmetic(*type)) return fail("`" + std::string(name) + "` needs numbers", expr.token);
  } else {
    for (const Code& value : values) {
      const HostType* other = value.type->plain;
      if (other == type) continue;
      const bool mixed = !standard && ((is_integer(*other) && is_integer(*type) && other->bytes == type->bytes) ||
                                       (is_floating(*other) && is_floating(*type)));
      if (!mixed) {
        return fail("`" + std::string(name) + "` gets " + type->name + " and " + other->name, expr.token,
                    "cast one of them: the compiler cannot choose");
      }
      type = common_type(*type, *other, types_);
    }
  }
  std::string parts;
  std::optional<HostValue> known;
  bool constant = true;
  for (const Code& value : values) {
    KW_TRY(const Code one, converted(value, type, Conversion::implicit, expr.token));
    parts += (parts.empty() ? "" : ", ") + one.text;
    if (!one.constant) {
      constant = false;
    } else if (constant) {
      if (!known) known = one.constant;
      const bool less = name == "min";
      KW_TRY_AT(const HostValue better,
                apply_binary("<", less ? *one.constant : *known, less ? *known : *one.constant, types_), expr.token);
      if (better.integer() != 0) known = one.constant;
    }
  }
  if (constant && known) return code_of(*known);
  return plain(type, std::string(name) + "(" + parts + ")");
}

Result<LauncherTranslator::Code> LauncherTranslator::math_call(std::string_view name,
                                                               const std::vector<Code>& arguments, TokenIndex token) {
  bool single = false;
  const std::string base(math_name(name, arguments.size(), &single));
  bool floats = true;
  for (const Code& argument : arguments) {
    if (!is_arithmetic(*argument.type)) return fail("`" + std::string(name) + "` needs numbers", token);
    floats = floats && argument.type->kind == TypeKind::float_;
  }
  single = single || floats;
  const HostType* type = types_.basic(single ? TypeKind::float_ : TypeKind::double_);
  std::string parts;
  for (const Code& argument : arguments) {
    KW_TRY(const Code one, converted(argument, type, Conversion::implicit, token));
    parts += ", " + one.text;
  }
  const std::string text = "c_math(\"" + base + "\"" + parts + ")";
  return plain(type, single ? "f32(" + text + ")" : text);
}

Result<std::optional<LauncherTranslator::Code>> LauncherTranslator::standard_call(std::string_view name,
                                                                                  const Expr& expr) {
  using Maybe = std::optional<Code>;
  const auto some = [](Result<Code> result) -> Result<Maybe> {
    if (!result.ok()) return std::move(result).error();
    return Maybe(std::move(result).value());
  };
  const std::size_t count = expr.children.size() - 1;
  const std::string line = std::to_string(program_.position_of(expr.token).line);
  if (name == "min" || name == "max") return some(minimum(name, expr));
  if (name == "swap" && count == 2) {
    KW_TRY(const Target a, target_of(*expr.children[1]));
    KW_TRY(const Target b, target_of(*expr.children[2]));
    if (a.type != b.type) return fail("`swap` needs two variables of one type", expr.token);
    KW_TRY(const Code first, read_target(a));
    KW_TRY(const Code second, read_target(b));
    const std::string kept_name = unique_name("swapped");
    emit(kept_name + " = " + kept(first));
    KW_TRY_VOID(write(a, second));
    KW_TRY_VOID(write(b, plain(b.type, kept_name)));
    return Maybe(plain(types_.basic(TypeKind::void_), "None"));
  }
  if (name.starts_with("make_")) {
    const HostType* type = types_.named(name.substr(5));
    if (type == nullptr || type->kind != TypeKind::structure || type->structure->fields.size() != count) return Maybe();
    return some(build(type, {expr.children.begin() + 1, expr.children.end()}, true, expr.token));
  }
  if (name.starts_with("__builtin_huge_val") || name.starts_with("__builtin_inf") ||
      name.starts_with("__builtin_nan")) {
    KW_TRY(const std::optional<HostValue> value, call_standard(name, expr));
    if (value) return Maybe(code_of(*value));
    return Maybe();
  }
  bool single = false;
  const bool math = !math_name(name, count, &single).empty() || name == "rsqrtf";
  const bool conversion = name.starts_with("__") && name.find('2') != std::string_view::npos;
  const bool known = name == "abs" || name == "labs" || name == "llabs" || name == "assert" || name == "move" ||
                     name == "clamp" || name == "__builtin_expect" || name == "__builtin_clz" ||
                     name == "__builtin_ctz" || name == "__builtin_popcount";
  if (!math && !conversion && !known) return Maybe();
  std::vector<Code> values;
  for (std::size_t i = 1; i <= count; ++i) {
    KW_TRY(Code value, translate(*expr.children[i]));
    values.push_back(std::move(value));
  }
  if (name == "rsqrtf" && count == 1) {
    KW_TRY(const Code x, converted(values[0], types_.basic(TypeKind::float_), Conversion::implicit, expr.token));
    return Maybe(plain(types_.basic(TypeKind::float_), "f32(fdiv(1.0, f32(c_math(\"sqrt\", " + x.text + "))))"));
  }
  if (math) return some(math_call(name, values, expr.token));
  if (name == "clamp" && count == 3) {
    for (const Code& value : values) {
      if (value.type->plain != values[0].type->plain) {
        return fail("`clamp` needs three values of one type", expr.token);
      }
    }
    return Maybe(
        plain(values[0].type, "max(" + values[1].text + ", min(" + values[0].text + ", " + values[2].text + "))"));
  }
  if (name == "__builtin_expect" && count == 2) return Maybe(values[0]);
  if (count != 1) return fail("`" + std::string(name) + "` gets the wrong number of arguments", expr.token);
  if (name == "move") return Maybe(values[0]);
  if (name == "assert") {
    block_->open("if not " + values[0].text + ":")->add("refuse(\"an assert fails for these sizes\", " + line + ")");
    return Maybe(plain(types_.basic(TypeKind::void_), "None"));
  }
  if (name.starts_with("__builtin_")) {
    KW_TRY(const Code bits, converted(values[0], types_.basic(TypeKind::uint), Conversion::implicit, expr.token));
    return Maybe(plain(types_.int_type(), std::string(name.substr(10)) + "(" + bits.text + ")"));
  }
  if (name.ends_with("abs")) {
    const HostType* type = promoted(*values[0].type, types_);
    if (type == nullptr || !is_arithmetic(*type)) return fail("`abs` needs a number", expr.token);
    KW_TRY(const Code x, converted(values[0], type, Conversion::implicit, expr.token));
    const std::string text = "abs(" + x.text + ")";
    const bool whole = is_integer(*type) && is_signed_integer(*type);
    return Maybe(plain(type, whole ? "i" + std::to_string(integer_bits(*type)) + "(" + text + ")" : text));
  }
  const auto kinds = converted_kinds(name);
  if (!kinds) return Maybe();
  KW_TRY(Code value, converted(values[0], types_.basic(kinds->first), Conversion::implicit, expr.token));
  return some(converted(std::move(value), types_.basic(kinds->second), Conversion::cast, expr.token));
}

}  // namespace kw
