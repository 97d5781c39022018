// Activations: functions of one tensor and at most two constants.

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "agents/program/elementwise.h"

namespace kw::program {
namespace {

using Terms = std::vector<TermId>;

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

}  // namespace

std::span<const Operation> activation_operations() {
  static const std::vector<Operation> table{
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
  };
  return table;
}

}  // namespace kw::program
