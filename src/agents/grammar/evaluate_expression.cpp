// Expressions as numbers.

#include <algorithm>
#include <cmath>

#include "agents/grammar/scalar_expression.h"

namespace kw {

namespace {

// a, b, c: the values of its children, 0 for those that it does not have.
double node_value(const ScalarNode& node, const std::vector<double>& operands, double a, double b, double c) {
  const double six = std::clamp(a + 3, 0.0, 6.0) / 6;
  const double sigmoid = 1 / (1 + std::exp(-a));
  switch (node.op) {
    case Op::operand:
      return operands[static_cast<std::size_t>(node.index)];
    case Op::constant:
      return node.value;
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      return a / b;
    case Op::maximum:
      return std::max(a, b);
    case Op::minimum:
      return std::min(a, b);
    case Op::select:
      return a > 0 ? b : c;
    case Op::negate:
      return -a;
    case Op::absolute:
      return std::abs(a);
    case Op::square:
      return a * a;
    case Op::relu:
      return std::max(a, 0.0);
    case Op::leaky_relu:
      return a > 0 ? a : node.value * a;
    case Op::clamp:
      return std::clamp(a, -node.value, node.value);
    case Op::sigmoid:
      return sigmoid;
    case Op::hard_sigmoid:
      return six;
    case Op::tanh:
      return std::tanh(a);
    case Op::silu:
      return a * sigmoid;
    case Op::gelu:
      return 0.5 * a * (1 + std::erf(a * std::sqrt(0.5)));
    case Op::gelu_tanh:
      return 0.5 * a * (1 + std::tanh(std::sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)));
    case Op::elu:
      return a > 0 ? a : std::expm1(a);
    case Op::softplus:
      return std::max(a, 0.0) + std::log1p(std::exp(-std::abs(a)));
    case Op::hard_swish:
      return a * six;
    case Op::exp:
      return std::exp(a);
    case Op::log1p:
      return std::log1p(a);
    case Op::sqrt:
      return std::sqrt(a);
    case Op::rsqrt:
      return 1 / std::sqrt(a);
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::cos(a);
  }
  return 0;
}

}  // namespace

double evaluate(const ScalarExpression& expression, const std::vector<double>& operands) {
  std::vector<double> values;
  for (const ScalarNode& node : expression.nodes) {
    const auto child = [&](int at) { return at < 0 ? 0.0 : values[static_cast<std::size_t>(at)]; };
    values.push_back(node_value(node, operands, child(node.first), child(node.second), child(node.third)));
  }
  return values.back();
}

}  // namespace kw
