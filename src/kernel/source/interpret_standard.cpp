// Functions of the C++ library and of CUDA's headers that launchers compute sizes with.

#include <cmath>
#include <limits>

#include "kernel/source/host_interpreter.h"

namespace kw {
namespace {

using FloatFunction = float (*)(float);
using DoubleFunction = double (*)(double);

struct MathFunction {
  std::string_view name;  // the double version; the float version ends in f
  FloatFunction single;
  DoubleFunction both;
};
// Called in their own precision: computing in double and rounding could differ in the last bit.
const MathFunction math_functions[] = {
    {"ceil", std::ceil, std::ceil},    {"floor", std::floor, std::floor}, {"sqrt", std::sqrt, std::sqrt},
    {"log2", std::log2, std::log2},    {"log", std::log, std::log},       {"log10", std::log10, std::log10},
    {"exp", std::exp, std::exp},       {"exp2", std::exp2, std::exp2},    {"round", std::round, std::round},
    {"trunc", std::trunc, std::trunc}, {"fabs", std::fabs, std::fabs},    {"cbrt", std::cbrt, std::cbrt},
    {"sin", std::sin, std::sin},       {"cos", std::cos, std::cos},       {"tanh", std::tanh, std::tanh},
};

// What INFINITY, HUGE_VAL and NAN stand for.
bool is_special_number(std::string_view name) {
  return name == "__builtin_huge_valf" || name == "__builtin_huge_val" || name == "__builtin_inff" ||
         name == "__builtin_inf" || name == "__builtin_nanf" || name == "__builtin_nan";
}

float reciprocal_root(float x) { return 1.0f / std::sqrt(x); }

}  // namespace

Result<HostValue> HostInterpreter::call_math(std::string_view name, const std::vector<HostValue>& arguments,
                                             TokenIndex token) {
  const HostType* single = types_.basic(TypeKind::float_);
  const HostType* full = types_.basic(TypeKind::double_);
  for (const HostValue& argument : arguments) {
    if (!is_arithmetic(*argument.type)) return fail("`" + std::string(name) + "` needs numbers", token);
  }
  const auto real = [&](std::size_t i, const HostType* type) -> double {
    const Result<HostValue> value = convert(arguments[i], type, Conversion::implicit, types_);
    return value.ok() ? value->real() : 0;
  };
  for (const MathFunction& function : math_functions) {
    const bool exact = name == function.name;
    const bool suffixed =
        name.size() == function.name.size() + 1 && name.back() == 'f' && name.starts_with(function.name);
    if ((!exact && !suffixed) || arguments.size() != 1) continue;
    if (suffixed || arguments[0].type->kind == TypeKind::float_) {
      return make_real(single, static_cast<double>(function.single(static_cast<float>(real(0, single)))));
    }
    return make_real(full, function.both(real(0, full)));
  }
  if (name == "rsqrtf" && arguments.size() == 1) {
    return make_real(single, static_cast<double>(reciprocal_root(static_cast<float>(real(0, single)))));
  }
  if (arguments.size() == 2) {
    const bool suffixed = name.back() == 'f';
    const std::string_view base = suffixed ? name.substr(0, name.size() - 1) : name;
    const bool floats = arguments[0].type->kind == TypeKind::float_ && arguments[1].type->kind == TypeKind::float_;
    const HostType* type = suffixed || floats ? single : full;
    const double x = real(0, type), y = real(1, type);
    const auto both = [&](auto function) {
      const double result = type == single ? static_cast<double>(function(static_cast<float>(x), static_cast<float>(y)))
                                           : static_cast<double>(function(x, y));
      return make_real(type, result);
    };
    if (base == "pow") return both([](auto a, auto b) { return std::pow(a, b); });
    if (base == "fmin") return both([](auto a, auto b) { return std::fmin(a, b); });
    if (base == "fmax") return both([](auto a, auto b) { return std::fmax(a, b); });
    if (base == "fmod") return both([](auto a, auto b) { return std::fmod(a, b); });
  }
  return Error{"", "", {}};  // not one of these
}

// min and max: std's need equal types, CUDA's also take a signed and an unsigned type of one width.
Result<HostValue> HostInterpreter::call_minimum(std::string_view name, const Expr& expr) {
  const NamePart& part = expr.children[0]->name.parts.back();
  const bool standard = expr.children[0]->name.parts.size() > 1;
  std::vector<HostValue> values;
  const Expr* list =
      expr.children.size() == 2 && expr.children[1]->kind == ExprKind::braces ? expr.children[1] : nullptr;
  for (std::size_t i = list != nullptr ? 0 : 1; i < (list != nullptr ? list : &expr)->children.size(); ++i) {
    KW_TRY(HostValue value, evaluate_set(*(list != nullptr ? list : &expr)->children[i]));
    if (!is_arithmetic(*value.type)) return fail("`" + std::string(name) + "` needs numbers", expr.token);
    values.push_back(std::move(value));
  }
  if (values.empty() || (list == nullptr && values.size() != 2)) {
    return unknown("`" + std::string(name) + "` with " + std::to_string(values.size()) + " arguments", expr.token);
  }
  const HostType* type = values[0].type->plain;
  if (part.has_arguments) {
    if (part.arguments.size() != 1 || part.arguments[0].type == nullptr)
      return unknown("these template arguments", expr.token);
    KW_TRY(type, resolve(*part.arguments[0].type));
    if (!is_arithmetic(*type)) return fail("`" + std::string(name) + "` needs numbers", expr.token);
  } else {
    for (const HostValue& value : values) {
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
  KW_TRY_AT(HostValue best, convert(values[0], type, Conversion::implicit, types_), expr.token);
  for (std::size_t i = 1; i < values.size(); ++i) {
    KW_TRY_AT(const HostValue value, convert(values[i], type, Conversion::implicit, types_), expr.token);
    const bool minimum = name == "min";
    KW_TRY_AT(const HostValue better, apply_binary("<", minimum ? value : best, minimum ? best : value, types_),
              expr.token);
    if (better.integer() != 0) best = value;
  }
  return best;
}

Result<HostValue> HostInterpreter::call_swap(const Expr& expr) {
  if (expr.children.size() != 3) return fail("`swap` needs two variables", expr.token);
  KW_TRY(HostValue * a, locate(*expr.children[1]));
  KW_TRY(HostValue * b, locate(*expr.children[2]));
  if (a->type != b->type) return fail("`swap` needs two variables of one type", expr.token);
  const HostValue old = *a;
  KW_TRY_VOID(store(*a, *b, expr.token));
  KW_TRY_VOID(store(*b, old, expr.token));
  return HostValue{types_.basic(TypeKind::void_), std::int64_t{0}};
}

// Output has no effect: the launcher is read, not run. Arguments have, where they change variables.
Result<HostValue> HostInterpreter::call_print(const Expr& expr) {
  for (std::size_t i = 1; i < expr.children.size(); ++i) {
    const Expr& argument = *expr.children[i];
    const bool stream = argument.kind == ExprKind::name && argument.name.parts.size() == 1 &&
                        (argument.name.parts[0].name == "stderr" || argument.name.parts[0].name == "stdout");
    if (stream) continue;
    KW_TRY(const HostValue ignored, evaluate(argument));
    static_cast<void>(ignored);
  }
  return make_integer(types_.int_type(), 0);
}

// make_float4(...)
Result<HostValue> HostInterpreter::call_vector(std::string_view name, const Expr& expr) {
  const HostType* type = types_.named(name.substr(5));
  if (type == nullptr || type->kind != TypeKind::structure ||
      type->structure->fields.size() != expr.children.size() - 1) {
    return unknown("the function `" + std::string(name) + "`", expr.token);
  }
  const std::vector<const Expr*> values(expr.children.begin() + 1, expr.children.end());
  return construct(type, values, true, expr.token);
}

std::optional<std::pair<TypeKind, TypeKind>> HostInterpreter::converted_kinds(std::string_view name) {
  TypeKind from = TypeKind::float_, to = TypeKind::float_;
  if (name == "__float2half" || name == "__float2half_rn")
    to = TypeKind::half;
  else if (name == "__float2bfloat16" || name == "__float2bfloat16_rn")
    to = TypeKind::bfloat16;
  else if (name == "__double2half")
    from = TypeKind::double_, to = TypeKind::half;
  else if (name == "__double2bfloat16")
    from = TypeKind::double_, to = TypeKind::bfloat16;
  else if (name == "__half2float")
    from = TypeKind::half;
  else if (name == "__bfloat162float")
    from = TypeKind::bfloat16;
  else
    return std::nullopt;
  return std::pair(from, to);
}

Result<std::optional<HostValue>> HostInterpreter::call_conversion(std::string_view name,
                                                                  const std::vector<HostValue>& arguments,
                                                                  TokenIndex token) {
  using Maybe = std::optional<HostValue>;
  const auto kinds = converted_kinds(name);
  if (!kinds) return Maybe();
  if (arguments.size() != 1) return fail("`" + std::string(name) + "` takes one argument", token);
  KW_TRY_AT(const HostValue value, convert(arguments[0], types_.basic(kinds->first), Conversion::implicit, types_),
            token);
  KW_TRY_AT(HostValue result, convert(value, types_.basic(kinds->second), Conversion::cast, types_), token);
  return Maybe(std::move(result));
}

Result<std::optional<HostValue>> HostInterpreter::call_standard(std::string_view name, const Expr& expr) {
  using Maybe = std::optional<HostValue>;
  const auto some = [](Result<HostValue> result) -> Result<Maybe> {
    if (!result.ok()) return std::move(result).error();
    return Maybe(std::move(result).value());
  };
  if (name == "min" || name == "max") return some(call_minimum(name, expr));
  if (name == "swap") return some(call_swap(expr));
  if (name == "printf" || name == "fprintf" || name == "puts" || name == "fflush" || name == "perror") {
    return some(call_print(expr));
  }
  if (name.starts_with("make_")) return some(call_vector(name, expr));
  const std::size_t count = expr.children.size() - 1;
  const bool known = name == "abs" || name == "labs" || name == "llabs" || name == "assert" || name == "move" ||
                     name == "clamp" || name == "__builtin_expect" || name == "__builtin_clz" ||
                     name == "__builtin_ctz" || name == "__builtin_popcount" || is_special_number(name);
  std::vector<HostValue> arguments;
  const auto evaluate_all = [&]() -> Result<void> {
    for (std::size_t i = 1; i <= count; ++i) {
      KW_TRY(HostValue value, evaluate_set(*expr.children[i]));
      arguments.push_back(std::move(value));
    }
    return {};
  };
  if (known) {
    KW_TRY_VOID(evaluate_all());
    if (is_special_number(name)) {
      const bool single = name.back() == 'f' && name != "__builtin_inf";
      return Maybe(make_real(types_.basic(single ? TypeKind::float_ : TypeKind::double_),
                             name.starts_with("__builtin_nan") ? std::numeric_limits<double>::quiet_NaN()
                                                               : std::numeric_limits<double>::infinity()));
    }
    if (name == "clamp" && count == 3) {
      KW_TRY_AT(const HostValue low, apply_binary("<", arguments[0], arguments[1], types_), expr.token);
      KW_TRY_AT(const HostValue high, apply_binary("<", arguments[2], arguments[0], types_), expr.token);
      for (const HostValue& value : arguments) {
        if (value.type->plain != arguments[0].type->plain)
          return fail("`clamp` needs three values of one type", expr.token);
      }
      return Maybe(low.integer() != 0 ? arguments[1] : high.integer() != 0 ? arguments[2] : arguments[0]);
    }
    if (name == "__builtin_expect" && count == 2) return Maybe(arguments[0]);
    if (count != 1) return fail("`" + std::string(name) + "` gets the wrong number of arguments", expr.token);
    if (name == "move") return Maybe(arguments[0]);
    if (name == "assert") {
      KW_TRY_AT(const bool holds, truth(arguments[0]), expr.token);
      if (!holds) return fail("an assert fails for these sizes", expr.token);
      return Maybe(HostValue{types_.basic(TypeKind::void_), std::int64_t{0}});
    }
    if (name.starts_with("__builtin_")) {
      KW_TRY_AT(const HostValue value,
                convert(arguments[0], types_.basic(TypeKind::uint), Conversion::implicit, types_), expr.token);
      const auto bits = static_cast<unsigned>(value.integer());
      if (bits == 0 && name != "__builtin_popcount") return fail("`" + std::string(name) + "` of 0", expr.token);
      const int result = name == "__builtin_clz"   ? __builtin_clz(bits)
                         : name == "__builtin_ctz" ? __builtin_ctz(bits)
                                                   : __builtin_popcount(bits);
      return Maybe(make_integer(types_.int_type(), result));
    }
    KW_TRY_AT(const HostValue negative, apply_binary("<", arguments[0], make_integer(types_.int_type(), 0), types_),
              expr.token);
    KW_TRY_AT(HostValue result, apply_unary(negative.integer() != 0 ? "-" : "+", arguments[0], types_), expr.token);
    return Maybe(std::move(result));
  }
  bool math = name == "rsqrtf";
  for (const MathFunction& function : math_functions)
    math = math || name == function.name ||
           (name.size() == function.name.size() + 1 && name.back() == 'f' && name.starts_with(function.name));
  for (const std::string_view two : {"pow", "fmin", "fmax", "fmod"})
    math = math || name == two || (name.size() == two.size() + 1 && name.back() == 'f' && name.starts_with(two));
  const bool conversion = name.starts_with("__") && name.find('2') != std::string_view::npos;
  if (!math && !conversion) return Maybe();
  KW_TRY_VOID(evaluate_all());
  if (conversion) return call_conversion(name, arguments, expr.token);
  Result<HostValue> result = call_math(name, arguments, expr.token);
  if (!result.ok() && result.error().message.empty()) {
    return fail("`" + std::string(name) + "` gets the wrong number of arguments", expr.token);
  }
  return some(std::move(result));
}

// std::numeric_limits<T>::max()
Result<HostValue> HostInterpreter::call_limits(const Name& name, TokenIndex token) {
  const NamePart& limits = name.parts.size() > 1 ? name.parts[name.parts.size() - 2] : name.parts.back();
  const std::string_view what = name.parts.back().name;
  if (limits.name != "numeric_limits" || limits.arguments.size() != 1 || limits.arguments[0].type == nullptr) {
    return unknown("`" + print(name).substr(0, 80) + "`", token);
  }
  KW_TRY(const HostType* type, resolve(*limits.arguments[0].type));
  if (is_integer(*type)) {
    const int bits = integer_bits(*type);
    const bool is_signed = is_signed_integer(*type);
    const auto all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    if (what == "max") return make_integer(type, static_cast<std::int64_t>(is_signed ? all >> 1 : all));
    if (what == "min" || what == "lowest") {
      return make_integer(type, is_signed ? static_cast<std::int64_t>(~(all >> 1)) : 0);
    }
  } else if (is_floating(*type)) {
    const bool single = type->kind == TypeKind::float_;
    using F = std::numeric_limits<float>;
    using D = std::numeric_limits<double>;
    if (what == "max") return make_real(type, single ? static_cast<double>(F::max()) : D::max());
    if (what == "min") return make_real(type, single ? static_cast<double>(F::min()) : D::min());
    if (what == "lowest") return make_real(type, single ? static_cast<double>(F::lowest()) : D::lowest());
    if (what == "infinity") return make_real(type, D::infinity());
    if (what == "epsilon") return make_real(type, single ? static_cast<double>(F::epsilon()) : D::epsilon());
  }
  return unknown("`" + print(name).substr(0, 80) + "`", token);
}

}  // namespace kw
