// Expressions as numbers.

#include <algorithm>
#include <cmath>

#include "agents/grammar/scalar_expression.h"

namespace kw {

double evaluate(const ScalarExpression& expression, const std::vector<double>& operands) {
  std::vector<double> values;
  for (const ScalarNode& node : expression.nodes) {
    const auto child = [&](int at) { return at < 0 ? 0.0 : values[static_cast<std::size_t>(at)]; };
    const double a = child(node.first), b = child(node.second);
    const double six = std::clamp(a + 3, 0.0, 6.0) / 6;
    const double sigmoid = 1 / (1 + std::exp(-a));
    double value = 0;
    switch (node.op) {
      case Op::operand:
        value = operands[static_cast<std::size_t>(node.index)];
        break;
      case Op::constant:
        value = node.value;
        break;
      case Op::add:
        value = a + b;
        break;
      case Op::subtract:
        value = a - b;
        break;
      case Op::multiply:
        value = a * b;
        break;
      case Op::divide:
        value = a / b;
        break;
      case Op::maximum:
        value = std::max(a, b);
        break;
      case Op::minimum:
        value = std::min(a, b);
        break;
      case Op::select:
        value = a > 0 ? b : child(node.third);
        break;
      case Op::negate:
        value = -a;
        break;
      case Op::absolute:
        value = std::abs(a);
        break;
      case Op::square:
        value = a * a;
        break;
      case Op::relu:
        value = std::max(a, 0.0);
        break;
      case Op::leaky_relu:
        value = a > 0 ? a : node.value * a;
        break;
      case Op::clamp:
        value = std::clamp(a, -node.value, node.value);
        break;
      case Op::sigmoid:
        value = sigmoid;
        break;
      case Op::hard_sigmoid:
        value = six;
        break;
      case Op::tanh:
        value = std::tanh(a);
        break;
      case Op::silu:
        value = a * sigmoid;
        break;
      case Op::gelu:
        value = 0.5 * a * (1 + std::erf(a * std::sqrt(0.5)));
        break;
      case Op::gelu_tanh:
        value = 0.5 * a * (1 + std::tanh(std::sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)));
        break;
      case Op::elu:
        value = a > 0 ? a : std::expm1(a);
        break;
      case Op::softplus:
        value = std::max(a, 0.0) + std::log1p(std::exp(-std::abs(a)));
        break;
      case Op::hard_swish:
        value = a * six;
        break;
      case Op::exp:
        value = std::exp(a);
        break;
      case Op::log1p:
        value = std::log1p(a);
        break;
      case Op::sqrt:
        value = std::sqrt(a);
        break;
      case Op::rsqrt:
        value = 1 / std::sqrt(a);
        break;
      case Op::sin:
        value = std::sin(a);
        break;
      case Op::cos:
        value = std::cos(a);
        break;
    }
    values.push_back(value);
  }
  return values.back();
}

}  // namespace kw
