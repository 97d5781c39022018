#include "agents/grammar/scalar_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace kw {
namespace {

struct OpFacts {
  Op op;
  std::string_view name;
  int arity;
};

constexpr std::array op_facts{
    OpFacts{Op::operand, "operand", 0},
    OpFacts{Op::constant, "constant", 0},
    OpFacts{Op::add, "add", 2},
    OpFacts{Op::subtract, "subtract", 2},
    OpFacts{Op::multiply, "multiply", 2},
    OpFacts{Op::divide, "divide", 2},
    OpFacts{Op::maximum, "maximum", 2},
    OpFacts{Op::minimum, "minimum", 2},
    OpFacts{Op::select, "select", 3},
    OpFacts{Op::negate, "negate", 1},
    OpFacts{Op::absolute, "absolute", 1},
    OpFacts{Op::square, "square", 1},
    OpFacts{Op::relu, "relu", 1},
    OpFacts{Op::leaky_relu, "leaky_relu", 1},
    OpFacts{Op::clamp, "clamp", 1},
    OpFacts{Op::sigmoid, "sigmoid", 1},
    OpFacts{Op::hard_sigmoid, "hard_sigmoid", 1},
    OpFacts{Op::tanh, "tanh", 1},
    OpFacts{Op::silu, "silu", 1},
    OpFacts{Op::gelu, "gelu", 1},
    OpFacts{Op::gelu_tanh, "gelu_tanh", 1},
    OpFacts{Op::elu, "elu", 1},
    OpFacts{Op::softplus, "softplus", 1},
    OpFacts{Op::hard_swish, "hard_swish", 1},
    OpFacts{Op::exp, "exp", 1},
    OpFacts{Op::log1p, "log1p", 1},
    OpFacts{Op::sqrt, "sqrt", 1},
    OpFacts{Op::rsqrt, "rsqrt", 1},
    OpFacts{Op::sin, "sin", 1},
    OpFacts{Op::cos, "cos", 1},
};

bool commutative(Op op) { return op == Op::add || op == Op::multiply || op == Op::maximum || op == Op::minimum; }

class Drawing {
 public:
  Drawing(Random& random, const DrawLimits& limits) : random_(random), limits_(limits) {}

  ScalarExpression draw(const std::vector<OperandUse>& operands) {
    products_left_ = limits_.products;
    std::vector<OperandUse> scalars;
    std::vector<int> parts;
    for (const OperandUse& use : operands) {
      if (use.scalar) {
        scalars.push_back(use);
      } else {
        if (!use.positive && !use.computed) plain_.push_back(use.index);
        if (use.computed) computed_.push_back(use.index);
        parts.push_back(place(leaf(use.index)));
        positive_.push_back(use.positive);
      }
    }
    KW_CHECK(!parts.empty());
    int unaries = limits_.operators - static_cast<int>(operands.size()) + 1;
    std::vector<bool> positive = positive_;
    while (parts.size() > 1 || !scalars.empty() || unaries > 0) {
      const auto at = static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(parts.size()) - 1));
      if (unaries > 0 && random_.uniform() < 0.5) {
        --unaries;
        parts[at] = unary(parts[at]);
        positive[at] = false;
      } else if (!scalars.empty() && random_.uniform() < 0.6) {
        parts[at] = with_scalar(parts[at], scalars.back().index);
        positive[at] = false;
        scalars.pop_back();
      } else if (parts.size() > 1) {
        std::size_t other = (at + 1) % parts.size();
        parts[at] = binary(parts[at], parts[other], positive[other]);
        positive[at] = false;
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(other));
        positive.erase(positive.begin() + static_cast<std::ptrdiff_t>(other));
      } else if (unaries > 0) {
        --unaries;
        parts[at] = unary(parts[at]);
      }
    }
    made_.nodes = in_order(parts.front());
    return std::move(made_);
  }

 private:
  static ScalarNode leaf(int index) { return {Op::operand, -1, -1, -1, index, 0}; }
  int place(ScalarNode node) {
    made_.nodes.push_back(node);
    return static_cast<int>(made_.nodes.size()) - 1;
  }
  int constant(double value) { return place({Op::constant, -1, -1, -1, 0, value}); }
  int apply(Op op, int first, int second = -1, int third = -1, double value = 0) {
    return place({op, first, second, third, 0, value});
  }
  double pick(std::initializer_list<double> values) {
    return values.begin()[random_.integer(0, static_cast<std::int64_t>(values.size()) - 1)];
  }
  Op pick(std::initializer_list<Op> ops) {
    return ops.begin()[random_.integer(0, static_cast<std::int64_t>(ops.size()) - 1)];
  }

  int unary(int part) {
    if (limits_.integers) {
      const double kind = random_.uniform();
      if (kind < 0.2) return apply(Op::add, part, constant(pick({1, 2, 3, 5, 7, 10})));
      if (kind < 0.35) return apply(Op::subtract, part, constant(pick({1, 2, 3, 4, 8})));
      if (kind < 0.5 && products_left_-- > 0) return apply(Op::multiply, part, constant(pick({2, 3, 4, 5, -1, -2})));
      return apply(pick({Op::negate, Op::absolute, Op::relu, Op::clamp}), part, -1, -1, pick({5, 10, 20, 50}));
    }
    const double kind = random_.uniform();
    if (kind < 0.10) return apply(Op::multiply, part, constant(pick({0.5, 2, 0.25, 0.1, 1.5, 3, 0.75, -0.5})));
    if (kind < 0.18) return apply(Op::add, part, constant(pick({1, 0.5, 2, 0.1, 3, 0.25})));
    if (kind < 0.23) return apply(Op::subtract, part, constant(pick({1, 0.5, 2, 0.25})));
    if (kind < 0.26) return apply(Op::subtract, constant(pick({1, 2, 0.5})), part);
    if (kind < 0.30) return apply(Op::maximum, part, constant(pick({-1, 0.5, 0.1, -0.25})));
    if (kind < 0.34) return apply(Op::minimum, part, constant(pick({1, 2, 3, 0.5})));
    if (kind < 0.38) return apply(Op::exp, apply(Op::negate, apply(Op::absolute, part)));
    if (kind < 0.41) return apply(Op::log1p, apply(Op::absolute, part));
    if (kind < 0.44) return apply(Op::sqrt, apply(Op::add, apply(Op::absolute, part), constant(pick({1, 0.5, 0.1}))));
    if (kind < 0.47) return apply(Op::rsqrt, apply(Op::add, apply(Op::absolute, part), constant(pick({1, 0.5, 2}))));
    if (kind < 0.50) return apply(Op::divide, part, apply(Op::add, constant(1), apply(Op::absolute, part)));
    if (kind < 0.54 && products_left_-- > 0) return apply(Op::square, part);
    const Op op = pick({Op::relu, Op::relu,     Op::leaky_relu, Op::clamp,  Op::sigmoid,  Op::sigmoid, Op::hard_sigmoid,
                        Op::tanh, Op::tanh,     Op::silu,       Op::silu,   Op::gelu,     Op::gelu,    Op::gelu_tanh,
                        Op::elu,  Op::softplus, Op::hard_swish, Op::negate, Op::absolute, Op::sin,     Op::cos});
    double value = 0;
    if (op == Op::leaky_relu) value = pick({0.01, 0.1, 0.2, 0.05});
    if (op == Op::clamp) value = pick({1, 2, 0.5, 6, 3});
    // Of large arguments the sine amplifies every rounding of what was computed before.
    if (op == Op::sin || op == Op::cos) part = apply(Op::tanh, part);
    return apply(op, part, -1, -1, value);
  }

  int binary(int first, int second, bool second_positive) {
    if (second_positive && !limits_.integers && random_.uniform() < 0.4) return apply(Op::divide, first, second);
    if (random_.uniform() < 0.5) std::swap(first, second);
    const double kind = random_.uniform();
    if (kind < 0.30) return apply(Op::add, first, second);
    if (kind < 0.46) return apply(Op::subtract, first, second);
    if (kind < 0.76 && products_left_-- > 0) return apply(Op::multiply, first, second);
    // Dividing by a long sum makes much of its rounding where it is nearly zero.
    if (kind < 0.82 && !limits_.integers && !holds_computed(second))
      return apply(Op::divide, first, apply(Op::add, apply(Op::absolute, second), constant(pick({1, 2, 0.5}))));
    if (kind < 0.87 && !plain_.empty()) {
      const auto at = random_.integer(0, static_cast<std::int64_t>(plain_.size()) - 1);
      return apply(Op::select, place(leaf(plain_[static_cast<std::size_t>(at)])), first, second);
    }
    return apply(kind < 0.94 ? Op::maximum : Op::minimum, first, second);
  }

  bool holds_computed(int at) const {
    if (at < 0) return false;
    const ScalarNode& node = made_.nodes[static_cast<std::size_t>(at)];
    if (node.op == Op::operand) return std::find(computed_.begin(), computed_.end(), node.index) != computed_.end();
    return holds_computed(node.first) || holds_computed(node.second) || holds_computed(node.third);
  }

  int with_scalar(int part, int scalar) {
    const int other = place(leaf(scalar));
    const double kind = random_.uniform();
    if (kind < 0.5) return apply(Op::multiply, part, other);
    if (kind < 0.8) return apply(Op::add, part, other);
    return apply(Op::subtract, part, other);
  }

  // A tree: what is used twice is written twice, children before parents.
  std::vector<ScalarNode> in_order(int root) const {
    std::vector<ScalarNode> ordered;
    const auto visit = [&](auto&& self, int at) -> int {
      ScalarNode node = made_.nodes[static_cast<std::size_t>(at)];
      if (node.first >= 0) node.first = self(self, node.first);
      if (node.second >= 0) node.second = self(self, node.second);
      if (node.third >= 0) node.third = self(self, node.third);
      ordered.push_back(node);
      return static_cast<int>(ordered.size()) - 1;
    };
    visit(visit, root);
    return ordered;
  }

  Random& random_;
  const DrawLimits& limits_;
  ScalarExpression made_;
  std::vector<int> plain_;     // operands that have both signs
  std::vector<int> computed_;  // operands that are rounded already
  std::vector<bool> positive_;
  int products_left_ = 0;
};

// Text with how tightly its outermost operator binds: 3 an atom, 2 a product, 1 a sum.
struct Piece {
  std::string text;
  int binding = 3;
};

std::string bracketed(const Piece& piece, int least) {
  return piece.binding < least ? "(" + piece.text + ")" : piece.text;
}

Piece torch_piece(const ScalarExpression& e, int at, const std::vector<std::string>& names) {
  const ScalarNode& node = e.nodes[static_cast<std::size_t>(at)];
  const auto child = [&](int place) { return torch_piece(e, place, names); };
  const auto call = [&](std::string_view function, std::string_view more = "") {
    return Piece{fmt::format("{}({}{})", function, child(node.first).text, more), 3};
  };
  switch (node.op) {
    case Op::operand:
      return {names[static_cast<std::size_t>(node.index)], 3};
    case Op::constant:
      return {torch_constant(node.value), node.value < 0 ? 1 : 3};
    case Op::add:
      return {bracketed(child(node.first), 1) + " + " + bracketed(child(node.second), 1), 1};
    case Op::subtract:
      return {bracketed(child(node.first), 1) + " - " + bracketed(child(node.second), 2), 1};
    case Op::multiply:
      return {bracketed(child(node.first), 2) + " * " + bracketed(child(node.second), 2), 2};
    case Op::divide:
      return {bracketed(child(node.first), 2) + " / " + bracketed(child(node.second), 3), 2};
    case Op::maximum:
    case Op::minimum: {
      const bool most = node.op == Op::maximum;
      const ScalarNode& second = e.nodes[static_cast<std::size_t>(node.second)];
      if (second.op == Op::constant)
        return call("torch.clamp", fmt::format(", {}={}", most ? "min" : "max", torch_constant(second.value)));
      return {fmt::format("torch.{}({}, {})", most ? "maximum" : "minimum", child(node.first).text,
                          child(node.second).text),
              3};
    }
    case Op::select:
      return {fmt::format("torch.where({} > 0, {}, {})", bracketed(child(node.first), 1), child(node.second).text,
                          child(node.third).text),
              3};
    case Op::negate:
      return {"-" + bracketed(child(node.first), 3), 1};
    case Op::absolute:
      return call("torch.abs");
    case Op::square:
      return call("torch.square");
    case Op::relu:
      return call("torch.relu");
    case Op::leaky_relu:
      return call("F.leaky_relu", ", " + torch_constant(node.value));
    case Op::clamp:
      return call("torch.clamp", fmt::format(", {}, {}", torch_constant(-node.value), torch_constant(node.value)));
    case Op::sigmoid:
      return call("torch.sigmoid");
    case Op::hard_sigmoid:
      return call("F.hardsigmoid");
    case Op::tanh:
      return call("torch.tanh");
    case Op::silu:
      return call("F.silu");
    case Op::gelu:
      return call("F.gelu");
    case Op::gelu_tanh:
      return call("F.gelu", ", approximate=\"tanh\"");
    case Op::elu:
      return call("F.elu");
    case Op::softplus:
      return call("F.softplus");
    case Op::hard_swish:
      return call("F.hardswish");
    case Op::exp:
      return call("torch.exp");
    case Op::log1p:
      return call("torch.log1p");
    case Op::sqrt:
      return call("torch.sqrt");
    case Op::rsqrt:
      return call("torch.rsqrt");
    case Op::sin:
      return call("torch.sin");
    case Op::cos:
      return call("torch.cos");
  }
  return {};
}

std::string canonical_node(const ScalarExpression& e, int at, const std::vector<std::string>& labels) {
  const ScalarNode& node = e.nodes[static_cast<std::size_t>(at)];
  if (node.op == Op::operand) return labels[static_cast<std::size_t>(node.index)];
  if (node.op == Op::constant) return "c";
  std::string first = canonical_node(e, node.first, labels);
  std::string text(name_of(node.op));
  if (node.second < 0) return text + "(" + first + ")";
  std::string second = canonical_node(e, node.second, labels);
  if (commutative(node.op) && second < first) std::swap(first, second);
  text += "(" + first + "," + second;
  if (node.third >= 0) text += "," + canonical_node(e, node.third, labels);
  return text + ")";
}

}  // namespace

std::string_view name_of(Op op) { return op_facts[static_cast<std::size_t>(op)].name; }
int arity_of(Op op) { return op_facts[static_cast<std::size_t>(op)].arity; }

int ScalarExpression::uses_of(int operand) const {
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [&](const ScalarNode& node) {
    return node.op == Op::operand && node.index == operand;
  }));
}

ScalarExpression operand_expression(int index) {
  ScalarExpression made;
  made.nodes.push_back({Op::operand, -1, -1, -1, index, 0});
  return made;
}

ScalarExpression draw_expression(Random& random, const std::vector<OperandUse>& operands, const DrawLimits& limits) {
  return Drawing(random, limits).draw(operands);
}

std::string torch_text(const ScalarExpression& expression, const std::vector<std::string>& names) {
  return torch_piece(expression, static_cast<int>(expression.nodes.size()) - 1, names).text;
}

std::string canonical_text(const std::vector<const ScalarExpression*>& expressions,
                           const std::vector<std::string>& labels) {
  // Operands that share a label are told apart by numbers; which of them gets which number must not matter.
  std::vector<std::size_t> order(labels.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::string least;
  std::vector<std::string> numbered(labels.size());
  do {
    bool within_labels = true;
    for (std::size_t i = 0; i < order.size(); ++i) within_labels = within_labels && labels[i] == labels[order[i]];
    if (!within_labels) continue;
    for (std::size_t i = 0; i < order.size(); ++i) numbered[i] = labels[i] + std::to_string(order[i]);
    std::string text;
    for (const ScalarExpression* each : expressions)
      text += canonical_node(*each, static_cast<int>(each->nodes.size()) - 1, numbered) + ";";
    if (least.empty() || text < least) least = std::move(text);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

std::string cuda_constant(double value, bool integer) {
  if (integer) return fmt::format("{}", static_cast<long long>(value));
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string torch_constant(double value) { return fmt::format("{}", value); }

}  // namespace kw
