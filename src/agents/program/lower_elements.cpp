// Operations on each element alone: arithmetic, comparisons, functions, activations, casts.

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "agents/program/lowering.h"

namespace kw::program {
namespace {

using Terms = std::vector<TermId>;

// An activation or function of one tensor, in floating point; whole numbers become float32 first.
template <class Body>
Value of_real(Lowering& to, const Arguments& a, const Body& body) {
  const NodeId x = to.floating(to.tensor(a["input"]));
  return Value::of(to.elements(std::vector<NodeId>{x}, [&](const Terms& t) { return body(t[0]); }));
}

struct Functions {
  Lowering& to;
  Graph& g;
  explicit Functions(Lowering& lowering) : to(lowering), g(lowering.graph) {}
  TermId of(TermId like, double value) const { return to.number(value, g.term(like).dtype); }
  TermId apply(ScalarOp op, TermId x) const { return g.apply(op, x); }
  TermId apply(ScalarOp op, TermId x, double y) const { return g.apply(op, x, of(x, y)); }
  TermId sigmoid(TermId x) const {
    return to.divide(of(x, 1), to.plus(apply(ScalarOp::exp, apply(ScalarOp::negate, x)), 1));
  }
  // log(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|)).
  TermId softplus(TermId x) const {
    const TermId small = apply(ScalarOp::exp, apply(ScalarOp::negate, apply(ScalarOp::absolute, x)));
    return to.add(apply(ScalarOp::maximum, x, 0), apply(ScalarOp::log1p, small));
  }
  TermId clamp(TermId x, double low, double high) const {
    return apply(ScalarOp::minimum, apply(ScalarOp::maximum, x, low), high);
  }
  TermId positive(TermId x) const { return g.apply(ScalarOp::less, of(x, 0), x); }
};

// x > 0 ? x : alpha * (exp(x / by) - 1), all times `scale`.
TermId exponential_unit(const Functions& f, TermId x, double alpha, double by, double scale) {
  const TermId inner = f.apply(ScalarOp::expm1, f.to.times(x, by));
  return f.to.times(f.g.select(f.positive(x), x, f.to.times(inner, alpha)), scale);
}

Value lower_gelu(Lowering& to, const Arguments& a) {
  const std::string approximate = to.text(a["approximate"], "approximate");
  const Functions f(to);
  return of_real(to, a, [&](TermId x) {
    if (approximate == "none") {
      const TermId inner = f.apply(ScalarOp::erf, to.times(x, std::numbers::sqrt2 / 2));
      return to.multiply(to.times(x, 0.5), to.plus(inner, 1));
    }
    const TermId cube = to.multiply(to.multiply(x, x), x);
    const TermId inner = to.times(to.add(x, to.times(cube, 0.044715)), std::sqrt(2 / std::numbers::pi));
    return to.multiply(to.times(x, 0.5), to.plus(f.apply(ScalarOp::tanh, inner), 1));
  });
}

// Activations of one tensor and at most two constants, `a` and `b`.
struct Activation {
  std::string_view name;
  TermId (*body)(const Functions& f, TermId x, double a, double b);
};

// clang-format off
const Activation activations[] = {
    {"sigmoid", [](const Functions& f, TermId x, double, double) { return f.sigmoid(x); }},
    {"expit", [](const Functions& f, TermId x, double, double) { return f.sigmoid(x); }},
    {"silu", [](const Functions& f, TermId x, double, double) { return f.to.multiply(x, f.sigmoid(x)); }},
    {"swish", [](const Functions& f, TermId x, double, double) { return f.to.multiply(x, f.sigmoid(x)); }},
    {"mish", [](const Functions& f, TermId x, double, double) {
       return f.to.multiply(x, f.apply(ScalarOp::tanh, f.softplus(x))); }},
    {"logsigmoid", [](const Functions& f, TermId x, double, double) {
       return f.apply(ScalarOp::negate, f.softplus(f.apply(ScalarOp::negate, x))); }},
    {"softsign", [](const Functions& f, TermId x, double, double) {
       return f.to.divide(x, f.to.plus(f.apply(ScalarOp::absolute, x), 1)); }},
    {"tanhshrink", [](const Functions& f, TermId x, double, double) {
       return f.to.subtract(x, f.apply(ScalarOp::tanh, x)); }},
    {"hardsigmoid", [](const Functions& f, TermId x, double, double) {
       return f.to.divide(f.clamp(f.to.plus(x, 3), 0, 6), f.of(x, 6)); }},
    {"hardswish", [](const Functions& f, TermId x, double, double) {
       return f.to.divide(f.to.multiply(x, f.clamp(f.to.plus(x, 3), 0, 6)), f.of(x, 6)); }},
    {"relu6", [](const Functions& f, TermId x, double, double) { return f.clamp(x, 0, 6); }},
    {"selu", [](const Functions& f, TermId x, double, double) {
       return exponential_unit(f, x, 1.6732632423543772848, 1, 1.0507009873554804934); }},
    {"elu", [](const Functions& f, TermId x, double a, double) { return exponential_unit(f, x, a, 1, 1); }},
    {"celu", [](const Functions& f, TermId x, double a, double) { return exponential_unit(f, x, a, 1 / a, 1); }},
    {"leaky_relu", [](const Functions& f, TermId x, double a, double) {
       return f.g.select(f.positive(x), x, f.to.times(x, a)); }},
    {"hardtanh", [](const Functions& f, TermId x, double a, double b) { return f.clamp(x, a, b); }},
    {"threshold", [](const Functions& f, TermId x, double a, double b) {
       return f.g.select(f.g.apply(ScalarOp::less, f.of(x, a), x), x, f.of(x, b)); }},
    {"hardshrink", [](const Functions& f, TermId x, double a, double) {
       return f.g.select(f.g.apply(ScalarOp::less_equal, f.apply(ScalarOp::absolute, x), f.of(x, a)), f.of(x, 0), x); }},
    {"softshrink", [](const Functions& f, TermId x, double a, double) {
       const TermId low = f.g.select(f.g.apply(ScalarOp::less, x, f.of(x, -a)), f.to.plus(x, a), f.of(x, 0));
       return f.g.select(f.g.apply(ScalarOp::less, f.of(x, a), x), f.to.plus(x, -a), low); }},
    {"softplus", [](const Functions& f, TermId x, double beta, double threshold) {
       const TermId scaled = f.to.times(x, beta);
       const TermId soft = f.to.divide(f.softplus(scaled), f.of(x, beta));
       return f.g.select(f.g.apply(ScalarOp::less, f.of(x, threshold), scaled), x, soft); }},
    {"log1mexp", [](const Functions& f, TermId x, double, double) {
       return f.apply(ScalarOp::log1p, f.apply(ScalarOp::negate, f.apply(ScalarOp::exp, x))); }},
    {"sinc", [](const Functions& f, TermId x, double, double) {
       const TermId by = f.to.times(x, std::numbers::pi);
       const TermId zero = f.g.apply(ScalarOp::equal, x, f.of(x, 0));
       return f.g.select(zero, f.of(x, 1), f.to.divide(f.apply(ScalarOp::sin, by), by)); }},
    {"logit", [](const Functions& f, TermId x, double, double) {
       return f.apply(ScalarOp::log, f.to.divide(x, f.to.subtract(f.of(x, 1), x))); }},
    {"frac", [](const Functions& f, TermId x, double, double) {
       return f.to.subtract(x, f.apply(ScalarOp::truncate, x)); }},
    {"deg2rad", [](const Functions& f, TermId x, double, double) { return f.to.times(x, std::numbers::pi / 180); }},
    {"rad2deg", [](const Functions& f, TermId x, double, double) { return f.to.times(x, 180 / std::numbers::pi); }},
    {"reciprocal", [](const Functions& f, TermId x, double, double) { return f.to.divide(f.of(x, 1), x); }},
};
// clang-format on

Value lower_activation(Lowering& to, const Arguments& a) {
  const Functions f(to);
  const auto number = [&](std::size_t place) {
    return a.values.size() > place && a.values[place].is_number() ? to.constant_real(a.values[place], a.names[place])
                                                                  : 0;
  };
  for (const Activation& each : activations)
    if (each.name == a.function) return of_real(to, a, [&](TermId x) { return each.body(f, x, number(1), number(2)); });
  to.fail(fmt::format("`{}`", a.function));
  return {};
}

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

Value lower_prelu(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  NodeId weight = to.tensor(a["weight"], "weight");
  if (to.failed()) return {};
  // One weight a channel, which is axis 1.
  if (to.rank(weight) == 1 && to.rank(x) > 1 && !to.is_one(to.shape(weight)[0])) {
    Extents wide(static_cast<std::size_t>(to.rank(x)) - 1, Extent(1));
    wide[0] = to.shape(weight)[0];
    weight = to.reshape(weight, wide);
  }
  const Functions f(to);
  return Value::of(to.elements(std::vector<NodeId>{x, weight}, [&](const Terms& t) {
    return to.graph.select(f.positive(t[0]), t[0], to.multiply(t[1], t[0]));
  }));
}

Value lower_glu(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const int axis = to.axis(a["dim"], to.rank(x));
  if (to.failed() || to.rank(x) == 0) return {};
  const Extent half = quotient(to.shape(x)[static_cast<std::size_t>(axis)], 2);
  const NodeId value = to.narrow(x, axis, 0, half), gate = to.narrow(x, axis, half, half);
  const Functions f(to);
  return Value::of(to.elements(std::vector<NodeId>{value, gate},
                               [&](const Terms& t) { return to.multiply(t[0], f.sigmoid(t[1])); }));
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

// ---- Types and new tensors ----

Value lower_to(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  for (const Value& each : {a["dtype"], a["other"]}) {
    if (each.is(Value::Kind::dtype)) return Value::of(to.cast(x, each.dtype));
    if (each.is(Value::Kind::tensor)) return Value::of(to.cast(x, to.dtype(each.node)));
  }
  return Value::of(x);  // a device
}

constexpr std::pair<std::string_view, Dtype> cast_names[] = {
    {"float", Dtype::float32},     {"double", Dtype::float64}, {"half", Dtype::float16},
    {"bfloat16", Dtype::bfloat16}, {"int", Dtype::int32},      {"long", Dtype::int64},
    {"bool", Dtype::boolean},      {"char", Dtype::int8},      {"byte", Dtype::uint8},
};

Value lower_cast(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  for (const auto& [name, dtype] : cast_names)
    if (name == a.function) return Value::of(to.cast(x, dtype));
  return {};
}

Value lower_filled(Lowering& to, const Arguments& a) {
  const std::string& name = a.function;
  const bool like = name.ends_with("_like") || name.starts_with("new_") || name == "fill" || name == "zero";
  Extents shape;
  Value fill = Value::of_whole(name.find("one") != std::string::npos ? 1 : 0);
  Dtype dtype = Dtype::float32;
  if (like) {
    const NodeId x = to.tensor(a["input"]);
    if (to.failed()) return {};
    dtype = to.dtype(x);
    shape = name.starts_with("new_") ? to.wholes(a["size"], "size") : to.shape(x);
  } else {
    shape = to.wholes(a["size"], "size");
  }
  if (name.find("full") != std::string::npos || name == "fill") {
    fill = a["fill_value"];
    if (!like) dtype = to.promoted({fill});
  }
  if (a["dtype"].is(Value::Kind::dtype)) dtype = a["dtype"].dtype;
  if (fill.is(Value::Kind::tensor)) return Value::of(to.expand(to.cast(fill.node, dtype), shape));
  return Value::of(to.map(dtype, shape, [&](const Axes&) { return to.number_term(fill, dtype); }));
}

Value lower_arange(Lowering& to, const Arguments& a) {
  const std::vector<Value>& given = a["args"].items;
  if (given.empty() || given.size() > 3) {
    to.fail("`arange` with such arguments");
    return {};
  }
  const Value zero = Value::of_whole(0), one = Value::of_whole(1);
  const Value start = given.size() > 1 ? given[0] : zero, end = given.size() > 1 ? given[1] : given[0];
  const Value step = given.size() > 2 ? given[2] : one;
  const Dtype dtype = a["dtype"].is(Value::Kind::dtype) ? a["dtype"].dtype : to.promoted({start, end, step});
  const auto whole_of = [&](const Value& value, std::string_view what) {
    if (!value.is(Value::Kind::real)) return to.whole(value, what);
    const double number = to.constant_real(value, what);
    if (number != std::floor(number)) to.fail("`arange` with fractions");
    return Extent(static_cast<std::int64_t>(number));
  };
  const Extent first = whole_of(start, "start"), by = whole_of(step, "step");
  const Extent distance = whole_of(end, "end") - first;
  if (to.failed() || by.constant().value_or(1) == 0) return {};
  const bool down = by.constant().value_or(1) < 0;
  const Extent count =
      down ? quotient(Extent(0) - distance - by - Extent(1), Extent(0) - by) : quotient(distance + by - Extent(1), by);
  return Value::of(to.map(dtype, {count}, [&](const Axes& at) {
    return to.add(to.number_term(Value::of_whole(first), dtype),
                  to.multiply(to.graph.cast(at[0], dtype), to.number_term(Value::of_whole(by), dtype)));
  }));
}

Value lower_linspace(Lowering& to, const Arguments& a) {
  const Extent steps = to.whole(a["steps"], "steps");
  const Dtype dtype = a["dtype"].is(Value::Kind::dtype) ? a["dtype"].dtype : Dtype::float32;
  return Value::of(to.map(dtype, {steps}, [&](const Axes& at) {
    const TermId first = to.number_term(a["start"], dtype), last = to.number_term(a["end"], dtype);
    const TermId by = to.divide(to.subtract(last, first), to.number_term(Value::of_whole(steps - Extent(1)), dtype));
    return to.add(first, to.multiply(to.graph.cast(at[0], dtype), by));
  }));
}

Value lower_eye(Lowering& to, const Arguments& a) {
  const Extent rows = to.whole(a["n"], "n"), cols = a["m"].is(Value::Kind::whole) ? a["m"].whole : rows;
  const Dtype dtype = a["dtype"].is(Value::Kind::dtype) ? a["dtype"].dtype : Dtype::float32;
  return Value::of(to.map(dtype, {rows, cols}, [&](const Axes& at) {
    return to.graph.cast(to.graph.apply(ScalarOp::equal, at[0], at[1]), dtype);
  }));
}

Value lower_tensor(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["data"], "data");
  return Value::of(a["dtype"].is(Value::Kind::dtype) ? to.cast(x, a["dtype"].dtype) : x);
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
      {"gelu", "input, approximate='none'", lower_gelu},
      {"sigmoid expit logsigmoid softsign tanhshrink frac deg2rad rad2deg reciprocal sinc logit", "input",
       lower_activation},
      {"silu swish mish hardsigmoid hardswish relu6 selu", "input, inplace=False", lower_activation},
      {"elu celu", "input, alpha=1.0, inplace=False", lower_activation},
      {"leaky_relu", "input, negative_slope=0.01, inplace=False", lower_activation},
      {"hardtanh", "input, min_val=-1.0, max_val=1.0, inplace=False", lower_activation},
      {"threshold", "input, threshold, value, inplace=False", lower_activation},
      {"hardshrink softshrink", "input, lambd=0.5", lower_activation},
      {"softplus", "input, beta=1.0, threshold=20.0", lower_activation},
      {"prelu", "input, weight", lower_prelu},
      {"glu", "input, dim=-1", lower_glu},
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
      {"to type type_as", "input, dtype=None, other=None, non_blocking=False, copy=False, device=None", lower_to},
      {"float double half bfloat16 int long bool char byte", "input", lower_cast},
      {"zeros_like ones_like empty_like",
       "input, dtype=None, layout=None, device=None, memory_format=None, pin_memory=None", lower_filled},
      {"full_like", "input, fill_value, dtype=None, layout=None, device=None, memory_format=None, pin_memory=None",
       lower_filled},
      {"zeros ones empty", "*size, dtype=None, layout=None, device=None, pin_memory=None", lower_filled},
      {"full", "size, fill_value, dtype=None, layout=None, device=None, pin_memory=None", lower_filled},
      {"new_zeros new_ones new_empty", "input, *size, dtype=None, layout=None, device=None, pin_memory=None",
       lower_filled},
      {"new_full", "input, size, fill_value, dtype=None, layout=None, device=None, pin_memory=None", lower_filled},
      {"arange", "*args, dtype=None, layout=None, device=None, pin_memory=None", lower_arange},
      {"linspace", "start, end, steps, dtype=None, layout=None, device=None, pin_memory=None", lower_linspace},
      {"eye", "n, m=None, dtype=None, layout=None, device=None, pin_memory=None", lower_eye},
      {"tensor scalar_tensor", "data, dtype=None, device=None, layout=None, pin_memory=None", lower_tensor},
  };
  return table;
}

}  // namespace kw::program
