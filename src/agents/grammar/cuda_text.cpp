// Expressions as CUDA text.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "agents/grammar/scalar_expression.h"

namespace kw {
namespace {

// Text with how tightly its outermost operator binds: 3 an atom, 2 a product, 1 a sum, 0 a conditional.
struct Piece {
  std::string text;
  int binding = 3;
};

std::string bracketed(const Piece& piece, int least) {
  return piece.binding < least ? "(" + piece.text + ")" : piece.text;
}

bool is_name(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

class CudaText {
 public:
  CudaText(const ScalarExpression& e, const std::vector<std::string>& values, const HoistArgument& hoist,
           const HelperFunction& helper, bool integer, bool nested)
      : e_(e), values_(values), hoist_(hoist), helper_(helper), integer_(integer), nested_(nested) {}

  // What would make a line long gets a name of its own.
  Piece piece(int at) {
    Piece made = piece_of(at);
    const bool root = at + 1 == static_cast<int>(e_.nodes.size());
    const bool leaf = arity_of(e_.nodes[static_cast<std::size_t>(at)].op) == 0;
    if (root || leaf || nested_ || made.text.size() <= longest_part) return made;
    return {hoist_(made.text), 3};
  }

 private:
  static constexpr std::size_t longest_part = 48;

  Piece piece_of(int at) {
    const ScalarNode& node = e_.nodes[static_cast<std::size_t>(at)];
    switch (node.op) {
      case Op::operand:
        return {values_[static_cast<std::size_t>(node.index)], 3};
      case Op::constant:
        return {cuda_constant(node.value, integer_), node.value < 0 ? 1 : 3};
      case Op::add:
        return infix(node, "+", 1, 1);
      case Op::subtract:
        return infix(node, "-", 1, 2);
      case Op::multiply:
        return infix(node, "*", 2, 2);
      case Op::divide:
        return infix(node, "/", 2, 3);
      case Op::maximum:
        return two_calls(node, integer_ ? "max" : "fmaxf");
      case Op::minimum:
        return two_calls(node, integer_ ? "min" : "fminf");
      case Op::select: {
        const Piece condition = piece(node.first), yes = piece(node.second), no = piece(node.third);
        return {fmt::format("{} > {} ? {} : {}", bracketed(condition, 1), integer_ ? "0" : "0.0f", bracketed(yes, 1),
                            bracketed(no, 1)),
                0};
      }
      case Op::negate:
        return {"-" + bracketed(piece(node.first), 3), 1};
      case Op::absolute:
        return call(node, integer_ ? "abs" : "fabsf");
      case Op::relu:
        return integer_ ? Piece{"max(" + piece(node.first).text + ", 0)"}
                        : Piece{"fmaxf(" + piece(node.first).text + ", 0.0f)"};
      case Op::clamp: {
        const std::string low = cuda_constant(-node.value, integer_), high = cuda_constant(node.value, integer_);
        return {fmt::format(fmt::runtime(integer_ ? "min(max({}, {}), {})" : "fminf(fmaxf({}, {}), {})"),
                            piece(node.first).text, low, high),
                3};
      }
      case Op::tanh:
        return call(node, "tanhf");
      case Op::exp:
        return call(node, "expf");
      case Op::log1p:
        return call(node, "log1pf");
      case Op::sqrt:
        return call(node, "sqrtf");
      case Op::rsqrt:
        return call(node, "rsqrtf");
      case Op::sin:
        return call(node, "sinf");
      case Op::cos:
        return call(node, "cosf");
      default:
        return activation(node);
    }
  }

  Piece infix(const ScalarNode& node, const char* sign, int left, int right) {
    const Piece first = piece(node.first), second = piece(node.second);
    return {fmt::format("{} {} {}", bracketed(first, left), sign, bracketed(second, right)), left};
  }
  Piece call(const ScalarNode& node, const char* function) {
    return {fmt::format("{}({})", function, piece(node.first).text), 3};
  }
  Piece two_calls(const ScalarNode& node, const char* function) {
    const std::string first = piece(node.first).text, second = piece(node.second).text;
    return {fmt::format("{}({}, {})", function, first, second), 3};
  }

  // What needs its argument several times, or is long enough for a function of its own.
  Piece activation(const ScalarNode& node) {
    const std::string suffix =
        node.op == Op::leaky_relu ? std::to_string(static_cast<int>(node.value * 100)) : std::string();
    const std::string name = std::string(name_of(node.op)) + suffix;
    // Before its argument, so that functions are defined in the order in which the PyTorch text names them.
    if (nested_ && helper_(name, formula(node, "v").text)) return {name + "(" + piece(node.first).text + ")", 3};
    const Piece argument = piece(node.first);
    if (node.op == Op::square && is_name(argument.text)) return {argument.text + " * " + argument.text, 2};
    if (!integer_ && node.op != Op::square && helper_(name, formula(node, "v").text))
      return {name + "(" + argument.text + ")", 3};
    return formula(node, is_name(argument.text) ? argument.text : hoist_(argument.text));
  }

  static Piece formula(const ScalarNode& node, const std::string& v) {
    const std::string slope = cuda_constant(node.value, false);
    switch (node.op) {
      case Op::square:
        return {fmt::format("{0} * {0}", v), 2};
      case Op::leaky_relu:
        return {fmt::format("{0} > 0.0f ? {0} : {1} * {0}", v, slope), 0};
      case Op::sigmoid:
        return {fmt::format("1.0f / (1.0f + expf(-{}))", v), 2};
      case Op::hard_sigmoid:
        return {fmt::format("fminf(fmaxf({} + 3.0f, 0.0f), 6.0f) / 6.0f", v), 2};
      case Op::silu:
        return {fmt::format("{0} / (1.0f + expf(-{0}))", v), 2};
      case Op::gelu:
        return {fmt::format("0.5f * {0} * (1.0f + erff({0} * 0.70710678f))", v), 2};
      case Op::gelu_tanh:
        return {fmt::format("0.5f * {0} * (1.0f + tanhf(0.7978845608f * ({0} + 0.044715f * {0} * {0} * {0})))", v), 2};
      case Op::elu:
        return {fmt::format("{0} > 0.0f ? {0} : expm1f({0})", v), 0};
      case Op::softplus:
        return {fmt::format("fmaxf({0}, 0.0f) + log1pf(expf(-fabsf({0})))", v), 1};
      case Op::hard_swish:
        return {fmt::format("{0} * fminf(fmaxf({0} + 3.0f, 0.0f), 6.0f) / 6.0f", v), 2};
      default:
        return {};
    }
  }

  const ScalarExpression& e_;
  const std::vector<std::string>& values_;
  const HoistArgument& hoist_;
  const HelperFunction& helper_;
  const bool integer_;
  const bool nested_;
};

}  // namespace

std::string cuda_text(const ScalarExpression& expression, const std::vector<std::string>& values,
                      const HoistArgument& hoist, const HelperFunction& helper, bool integer, bool nested) {
  CudaText writer(expression, values, hoist, helper, integer, nested);
  return writer.piece(static_cast<int>(expression.nodes.size()) - 1).text;
}

}  // namespace kw
