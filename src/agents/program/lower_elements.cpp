// Operations on each element alone: arithmetic, comparisons, functions.

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "agents/program/elementwise.h"

namespace kw::program {
namespace {

using Terms = std::vector<TermId>;

// Functions of the table of scalar operations under PyTorch's names.
struct Named {
  std::string_view name;
  ScalarOp op;
};
constexpr Named real_functions[] = {
    {"exp", ScalarOp::exp},        {"exp2", ScalarOp::exp2},        {"expm1", ScalarOp::expm1},
    {"log", ScalarOp::log},        {"log2", ScalarOp::log2},        {"log10", ScalarOp::log10},
    {"log1p", ScalarOp::log1p},    {"sqrt", ScalarOp::square_root}, {"rsqrt", ScalarOp::reciprocal_root},
    {"sin", ScalarOp::sin},        {"cos", ScalarOp::cos},          {"tan", ScalarOp::tan},
    {"asin", ScalarOp::asin},      {"acos", ScalarOp::acos},        {"atan", ScalarOp::atan},
    {"arcsin", ScalarOp::asin},    {"arccos", ScalarOp::acos},      {"arctan", ScalarOp::atan},
    {"sinh", ScalarOp::sinh},      {"cosh", ScalarOp::cosh},        {"tanh", ScalarOp::tanh},
    {"asinh", ScalarOp::asinh},    {"acosh", ScalarOp::acosh},      {"atanh", ScalarOp::atanh},
    {"erf", ScalarOp::erf},        {"erfc", ScalarOp::erfc},        {"lgamma", ScalarOp::lgamma},
    {"gammaln", ScalarOp::lgamma},
};
// These leave whole numbers as they are.
constexpr Named any_functions[] = {
    {"abs", ScalarOp::absolute},    {"absolute", ScalarOp::absolute}, {"neg", ScalarOp::negate},
    {"negative", ScalarOp::negate}, {"sign", ScalarOp::sign},         {"sgn", ScalarOp::sign},
    {"floor", ScalarOp::floor},     {"ceil", ScalarOp::ceil},         {"trunc", ScalarOp::truncate},
    {"fix", ScalarOp::truncate},    {"round", ScalarOp::round},
};

template <std::size_t count>
std::optional<ScalarOp> named(const Named (&table)[count], std::string_view name) {
  for (const Named& each : table)
    if (each.name == name) return each.op;
  return std::nullopt;
}

Value lower_real_function(Lowering& to, const Arguments& a) {
  const auto op = named(real_functions, a.function);
  return of_real(to, a, [&](TermId x) { return to.graph.apply(*op, x); });
}

Value lower_any_function(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (a.function == "round" && a.has("decimals") && to.constant_whole(a["decimals"], "decimals") != 0)
    to.fail("`round` to decimals");
  return Value::of(to.failed() ? 0 : to.unary(*named(any_functions, a.function), x));
}

Value lower_relu(Lowering& to, const Arguments& a) {
  return Value::of(to.failed() ? 0 : to.with(ScalarOp::maximum, to.tensor(a["input"]), 0));
}

// ---- Two operands ----

constexpr Named binary_functions[] = {
    {"add", ScalarOp::add},
    {"sub", ScalarOp::subtract},
    {"subtract", ScalarOp::subtract},
    {"mul", ScalarOp::multiply},
    {"multiply", ScalarOp::multiply},
    {"minimum", ScalarOp::minimum},
    {"maximum", ScalarOp::maximum},
    {"bitwise_and", ScalarOp::bit_and},
    {"bitwise_or", ScalarOp::bit_or},
    {"bitwise_xor", ScalarOp::bit_xor},
    {"remainder", ScalarOp::remainder},
    {"fmod", ScalarOp::truncated_remainder},
    {"floor_divide", ScalarOp::floor_divide},
    {"bitwise_left_shift", ScalarOp::shift_left},
    {"bitwise_right_shift", ScalarOp::shift_right},
    {"fmin", ScalarOp::minimum},
    {"fmax", ScalarOp::maximum},
    {"__and__", ScalarOp::bit_and},
    {"__or__", ScalarOp::bit_or},
    {"__xor__", ScalarOp::bit_xor},
};

Value lower_binary(Lowering& to, const Arguments& a) {
  const ScalarOp op = *named(binary_functions, a.function);
  Value right = a["other"];
  if (a.values.size() > 2 && a.has("alpha") && a["alpha"].is_number())
    right = Value::of(to.binary(ScalarOp::multiply, right, a["alpha"]));
  return Value::of(to.binary(op, a["input"], right));
}

Value lower_rsub(Lowering& to, const Arguments& a) {
  return Value::of(to.binary(ScalarOp::subtract, a["other"], a["input"]));
}

Value lower_divide(Lowering& to, const Arguments& a) {
  const std::vector<Value> both{a["input"], a["other"]};
  const std::string mode = a.has("rounding_mode") ? to.text(a["rounding_mode"], "rounding_mode") : "";
  const Dtype type = to.promoted(both);
  if (mode == "floor") return Value::of(to.binary(ScalarOp::floor_divide, both[0], both[1]));
  const bool trunc = mode == "trunc";
  const Dtype computed = is_floating_point(type) || trunc ? type : Dtype::float32;
  return Value::of(to.elements(
      both,
      [&](const Terms& t) {
        const TermId made = to.divide(t[0], t[1]);
        return trunc && is_floating_point(computed) ? to.graph.apply(ScalarOp::truncate, made) : made;
      },
      computed));
}

// Small whole powers are products, and halves roots, as PyTorch does it.
Value lower_power(Lowering& to, const Arguments& a) {
  const std::vector<Value> both{a["input"], a["exponent"]};
  std::optional<double> exponent;
  if (both[1].is(Value::Kind::whole) && both[1].whole.constant())
    exponent = static_cast<double>(*both[1].whole.constant());
  if (both[1].is(Value::Kind::real) && to.graph.term(both[1].real).kind == TermKind::real)
    exponent = to.graph.term(both[1].real).real;
  return Value::of(to.elements(both, [&](const Terms& t) {
    const TermId x = t[0];
    const bool floating = is_floating_point(to.graph.term(x).dtype);
    if (exponent == 2) return to.multiply(x, x);
    if (exponent == 3) return to.multiply(to.multiply(x, x), x);
    if (exponent == 1) return x;
    if (floating && exponent == 0.5) return to.graph.apply(ScalarOp::square_root, x);
    if (floating && exponent == -0.5) return to.graph.apply(ScalarOp::reciprocal_root, x);
    if (floating && exponent == -1) return to.divide(to.number(1, to.graph.term(x).dtype), x);
    return to.graph.apply(ScalarOp::power, x, t[1]);
  }));
}

Value lower_compare(Lowering& to, const Arguments& a) {
  const std::string_view name = a.function;
  const bool swap = name == "gt" || name == "ge" || name == "greater" || name == "greater_equal";
  const ScalarOp op = name == "eq"                                                          ? ScalarOp::equal
                      : name == "ne" || name == "not_equal"                                 ? ScalarOp::not_equal
                      : name == "lt" || name == "gt" || name == "less" || name == "greater" ? ScalarOp::less
                                                                                            : ScalarOp::less_equal;
  return Value::of(to.binary(op, a[swap ? "other" : "input"], a[swap ? "input" : "other"]));
}

Value lower_logic(Lowering& to, const Arguments& a) {
  const auto truth = [&](const Value& value) { return to.cast(to.tensor(value), Dtype::boolean); };
  const NodeId x = truth(a["input"]);
  if (a.function == "logical_not") return Value::of(to.failed() ? 0 : to.unary(ScalarOp::logical_not, x));
  const NodeId y = truth(a["other"]);
  const ScalarOp op = a.function == "logical_and"  ? ScalarOp::logical_and
                      : a.function == "logical_or" ? ScalarOp::logical_or
                                                   : ScalarOp::not_equal;
  return Value::of(to.failed() ? 0 : to.binary(op, x, y));
}

Value lower_bit_not(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  return Value::of(to.unary(to.dtype(x) == Dtype::boolean ? ScalarOp::logical_not : ScalarOp::bit_not, x));
}

Value lower_test(Lowering& to, const Arguments& a) {
  return of_real(to, a, [&](TermId x) {
    const TermId nan = to.graph.apply(ScalarOp::is_nan, x);
    if (a.function == "isnan") return nan;
    const TermId infinite = to.graph.apply(ScalarOp::is_infinite, x);
    if (a.function == "isinf") return infinite;
    return to.graph.apply(ScalarOp::logical_not, to.graph.apply(ScalarOp::logical_or, nan, infinite));
  });
}

// ---- Three operands, and what takes tensors or numbers ----

Value lower_where(Lowering& to, const Arguments& a) {
  const NodeId condition = to.cast(to.tensor(a["condition"]), Dtype::boolean);
  if (to.failed()) return {};
  const std::vector<Value> both{a["input"], a["other"]};
  const Dtype type = to.promoted(both);
  // All three broadcast together; the condition's term is bool again.
  return Value::of(to.elements(
      std::vector<Value>{both[0], both[1], Value::of(condition)},
      [&](const Terms& t) { return to.graph.select(to.graph.cast(t[2], Dtype::boolean), t[0], t[1]); }, type, type));
}

Value lower_masked_fill(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  const NodeId mask = to.cast(to.tensor(a["mask"]), Dtype::boolean);
  if (to.failed()) return {};
  return Value::of(to.elements(
      std::vector<Value>{Value::of(x), a["value"], Value::of(mask)},
      [&](const Terms& t) { return to.graph.select(to.graph.cast(t[2], Dtype::boolean), t[1], t[0]); }, to.dtype(x),
      to.dtype(x)));
}

Value lower_clamp(Lowering& to, const Arguments& a) {
  Value made = a["input"];
  if (a.function != "clamp_max" && a.has("min")) made = Value::of(to.binary(ScalarOp::maximum, made, a["min"]));
  if (a.function != "clamp_min" && a.has("max")) made = Value::of(to.binary(ScalarOp::minimum, made, a["max"]));
  if (a.function == "clamp_max") made = Value::of(to.binary(ScalarOp::minimum, made, a["min"]));
  return Value::of(to.tensor(made));
}

Value lower_lerp(Lowering& to, const Arguments& a) {
  return Value::of(to.elements({a["input"], a["end"], a["weight"]}, [&](const Terms& t) {
    return to.add(t[0], to.multiply(t[2], to.subtract(t[1], t[0])));
  }));
}

Value lower_addc(Lowering& to, const Arguments& a) {
  const bool divides = a.function == "addcdiv";
  return Value::of(to.elements({a["input"], a["tensor1"], a["tensor2"], a["value"]}, [&](const Terms& t) {
    const TermId scaled = to.multiply(t[3], t[1]);
    return to.add(t[0], divides ? to.divide(scaled, t[2]) : to.multiply(scaled, t[2]));
  }));
}

Value lower_xlogy(Lowering& to, const Arguments& a) {
  return Value::of(to.elements({a["input"], a["other"]}, [&](const Terms& t) {
    const TermId zero = to.number(0, to.graph.term(t[0]).dtype);
    return to.graph.select(to.graph.apply(ScalarOp::equal, t[0], zero), zero,
                           to.multiply(t[0], to.graph.apply(ScalarOp::log, t[1])));
  }));
}

Value lower_two_reals(Lowering& to, const Arguments& a) {
  const NodeId x = to.floating(to.tensor(a["input"])), y = to.tensor(a["other"]);
  return Value::of(to.elements(std::vector<NodeId>{x, y}, [&](const Terms& t) {
    if (a.function == "hypot")
      return to.graph.apply(ScalarOp::square_root, to.add(to.multiply(t[0], t[0]), to.multiply(t[1], t[1])));
    if (a.function == "logaddexp") {
      const TermId top = to.graph.apply(ScalarOp::maximum, t[0], t[1]);
      const TermId apart = to.graph.apply(ScalarOp::absolute, to.subtract(t[0], t[1]));
      const TermId small = to.graph.apply(ScalarOp::exp, to.graph.apply(ScalarOp::negate, apart));
      return to.add(top, to.graph.apply(ScalarOp::log1p, small));
    }
    return to.graph.apply(a.function == "ldexp" ? ScalarOp::ldexp : ScalarOp::atan2, t[0], t[1]);
  }));
}

Value lower_frexp(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  const auto exponent = [&](const Terms& t) { return to.graph.apply(ScalarOp::frexp_exponent, t[0]); };
  const NodeId power = to.elements(std::vector<NodeId>{x}, exponent);
  const NodeId mantissa = to.elements(std::vector<NodeId>{x}, [&](const Terms& t) {
    const TermId minus = to.graph.apply(ScalarOp::negate, exponent(t));
    return to.graph.apply(ScalarOp::ldexp, t[0], to.graph.cast(minus, to.graph.term(t[0]).dtype));
  });
  return Value::of_list({Value::of(mantissa), Value::of(power)});
}

}  // namespace

std::span<const Operation> element_operations() {
  static const std::vector<Operation> table{
      {"exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan arcsin arccos arctan sinh cosh tanh "
       "asinh acosh "
       "atanh erf erfc lgamma gammaln",
       "input", lower_real_function},
      {"abs absolute neg negative sign sgn floor ceil trunc fix", "input", lower_any_function},
      {"round", "input, decimals=None", lower_any_function},
      {"relu", "input, inplace=False", lower_relu},
      {"add sub subtract", "input, other, alpha=1", lower_binary},
      {"mul multiply minimum maximum bitwise_and bitwise_or bitwise_xor remainder fmod floor_divide bitwise_left_shift "
       "bitwise_right_shift fmin fmax __and__ __or__ __xor__",
       "input, other", lower_binary},
      {"rsub", "input, other", lower_rsub},
      {"div divide true_divide", "input, other, rounding_mode=None", lower_divide},
      {"pow", "input, exponent", lower_power},
      {"float_power", "input, exponent", lower_power},
      {"square", "input",
       [](Lowering& to, const Arguments& a) {
         return Value::of(to.binary(ScalarOp::multiply, a["input"], a["input"]));
       }},
      {"eq ne lt le gt ge less less_equal greater greater_equal not_equal", "input, other", lower_compare},
      {"logical_and logical_or logical_xor", "input, other", lower_logic},
      {"logical_not", "input", lower_logic},
      {"bitwise_not", "input", lower_bit_not},
      {"isnan isinf isfinite", "input", lower_test},
      {"where", "condition, input, other", lower_where},
      {"masked_fill", "input, mask, value", lower_masked_fill},
      {"clamp clip", "input, min=None, max=None", lower_clamp},
      {"clamp_min clamp_max", "input, min", lower_clamp},
      {"lerp", "input, end, weight", lower_lerp},
      {"addcmul addcdiv", "input, tensor1, tensor2, value=1", lower_addc},
      {"xlogy", "input, other", lower_xlogy},
      {"atan2 arctan2 hypot logaddexp ldexp", "input, other", lower_two_reals},
      {"frexp", "input", lower_frexp},
  };
  return table;
}

}  // namespace kw::program
