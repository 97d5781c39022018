// Arithmetic that costs more than it looks.

#include <algorithm>
#include <unordered_map>

#include "kernel/source/pitfalls_kernel.h"

namespace kw {
namespace {

bool is_double_literal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return false;
  const bool floating = text.find_first_of(".eE") != text.npos;
  return floating && text.find_first_of("fFlLhH_") == text.npos;
}

std::string_view float_name(std::string_view name) {
  static const std::unordered_map<std::string_view, std::string_view> names = {
      {"exp", "expf"},     {"log", "logf"},   {"sqrt", "sqrtf"}, {"rsqrt", "rsqrtf"}, {"sin", "sinf"},
      {"cos", "cosf"},     {"tan", "tanf"},   {"tanh", "tanhf"}, {"erf", "erff"},     {"fabs", "fabsf"},
      {"fmax", "fmaxf"},   {"fmin", "fminf"}, {"pow", "powf"},   {"exp2", "exp2f"},   {"log2", "log2f"},
      {"floor", "floorf"}, {"ceil", "ceilf"}, {"fma", "fmaf"},   {"log1p", "log1pf"}, {"expm1", "expm1f"}};
  const auto found = names.find(name);
  return found == names.end() ? std::string_view{} : found->second;
}

bool is_whole_type(std::string_view type) {
  return type == "int" || type == "unsigned" || type == "unsigned int" || type == "long" || type == "long long" ||
         type == "size_t" || type == "uint32_t" || type == "int32_t" || type == "int64_t" || type == "uint64_t" ||
         type == "short" || type == "unsigned long long";
}

class ArithmeticPitfalls {
 public:
  ArithmeticPitfalls(const KernelView& kernel, PitfallReport& report)
      : kernel_(kernel), tree_(kernel.tree()), report_(report) {}

  void run() {
    for (NodeIndex i = kernel_.body(); i < tree_[kernel_.body()].end; ++i) {
      if (tree_.is(i, "number_literal")) check_literal(i);
      if (tree_.is(i, "call_expression")) check_call(i);
      if (tree_.is(i, "binary_expression")) check_binary(i);
    }
  }

 private:
  std::string_view operation(NodeIndex expression) const {
    const NodeIndex node = tree_.child(expression, "operator");
    return node == no_node ? std::string_view{} : tree_[node].text;
  }

  // `float s = 0.0;` costs nothing; `2.0 * x` is computed in double precision.
  void check_literal(NodeIndex literal) {
    if (kernel_.mentions_double() || !is_double_literal(tree_[literal].text)) return;
    NodeIndex parent = tree_[literal].parent;
    while (parent != no_node &&
           (tree_.is(parent, "parenthesized_expression") || tree_.is(parent, "unary_expression"))) {
      parent = tree_[parent].parent;
    }
    const bool computed =
        tree_.is(parent, "binary_expression") ||
        (tree_.is(parent, "assignment_expression") && operation(parent).size() == 2 && operation(parent) != "==");
    if (!computed || only_literals(parent)) return;
    report_.add(tree_[literal], "double-literal", Severity::warning,
                std::string(tree_[literal].text.substr(0, 40)) + " makes this expression double precision",
                "write " + std::string(tree_[literal].text.substr(0, 40)) + "f");
  }

  // 1.0 / 3.0 is computed by the compiler.
  bool only_literals(NodeIndex expression) const {
    for (NodeIndex i = expression; i < tree_[expression].end; ++i) {
      if (tree_.is(i, "identifier") || tree_.is(i, "call_expression")) return false;
    }
    return true;
  }

  void check_call(NodeIndex call) {
    if (kernel_.mentions_double()) return;
    const std::string_view name = called_name(tree_, call);
    const std::string_view better = float_name(name);
    if (better.empty() || is_half_call(call)) return;
    const std::vector<NodeIndex> arguments = tree_.named_children(tree_.child(call, "arguments"));
    if (name == "pow" && arguments.size() == 2 && constant_value(tree_, arguments[1], {})) {
      report_.add(tree_[call], "pow-of-integer", Severity::warning,
                  "pow with a whole-number exponent is computed in double precision", "multiply instead: x * x");
      return;
    }
    report_.add(tree_[call], "double-function", Severity::note,
                std::string(name) + " becomes double precision as soon as an argument is",
                "write " + std::string(better));
  }

  // A qualified name (cuda::std::exp, hexp) chooses by its argument.
  bool is_half_call(NodeIndex call) const { return !tree_.is(tree_.child(call, "function"), "identifier"); }

  void check_binary(NodeIndex expression) {
    const std::string_view op = operation(expression);
    if (op == "/") check_root(expression);
    if (op == "/" || op == "%") check_division(expression, op);
    if (op == "*") check_index_product(expression);
  }

  void check_root(NodeIndex division) {
    const NodeIndex right = tree_.unwrapped(tree_.child(division, "right"));
    if (!tree_.is(right, "call_expression")) return;
    const std::string_view name = called_name(tree_, right);
    if (name != "sqrtf" && (name != "sqrt" || kernel_.mentions_double())) return;
    report_.add(tree_[division], "divide-by-sqrt", Severity::note, "a division by a square root takes two slow steps",
                "multiply by rsqrtf(...)");
  }

  void check_division(NodeIndex division, std::string_view op) {
    const NodeIndex right = tree_.unwrapped(tree_.child(division, "right"));
    const NodeIndex left = tree_.child(division, "left");
    if (!is_runtime_whole(right) || (op == "/" && !is_whole(left))) return;
    const std::vector<Condition> around = kernel_.conditions(division);
    const bool in_loop = std::any_of(around.begin(), around.end(), [](const Condition& c) { return c.loop; });
    if (!in_loop) return;
    report_.add(tree_[division], "integer-division-in-loop", Severity::note,
                "whole-number division by " + std::string(tree_[right].text.substr(0, 40)) +
                    " in a loop takes about 20 instructions each time",
                "keep running counters, or pass the divisor as a template parameter");
  }

  bool is_runtime_whole(NodeIndex expression) const {
    if (!tree_.is(expression, "identifier")) return false;
    const Variable* variable = kernel_.variable(tree_[expression].text);
    return variable != nullptr && !variable->pointer && !variable->array && is_whole_type(variable->type) &&
           !kernel_.constants().contains(variable->name);
  }

  // Every name in it is a whole number.
  bool is_whole(NodeIndex expression) const {
    if (expression == no_node) return false;
    for (NodeIndex i = expression; i < tree_[expression].end; ++i) {
      if (tree_.is(i, "call_expression") || tree_.is(i, "subscript_expression")) return false;
      if (tree_.is(i, "number_literal") && tree_[i].text.find_first_of(".f") != std::string_view::npos &&
          !tree_[i].text.starts_with("0x")) {
        return false;
      }
      if (!tree_.is(i, "identifier")) continue;
      const std::string_view name = tree_[i].text;
      if (name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim") continue;
      const Variable* variable = kernel_.variable(name);
      if (variable == nullptr || variable->pointer || !is_whole_type(variable->type)) return false;
    }
    return true;
  }

  // b * rows * cols * depth in int: three or more sizes can pass 2^31.
  void check_index_product(NodeIndex expression) {
    if (product_reported_) return;
    const NodeIndex parent = tree_[expression].parent;
    if (tree_.is(parent, "binary_expression") && operation(parent) == "*") return;  // seen from the top of the chain
    std::size_t sizes = 0;
    for (NodeIndex i = expression; i < tree_[expression].end; ++i) {
      const std::string_view type = tree_[i].type;
      if (type == "cast_expression" || type == "call_expression" || type == "subscript_expression") return;
      if (type == "number_literal" && tree_[i].text.find_first_of("lL.fF") != std::string_view::npos) return;
      if (type != "identifier") continue;
      const Variable* variable = kernel_.variable(tree_[i].text);
      if (variable == nullptr || variable->pointer || variable->type != "int" ||
          kernel_.constants().contains(variable->name)) {
        continue;
      }
      ++sizes;
    }
    if (sizes < 3) return;
    product_reported_ = true;
    report_.add(tree_[expression], "index-overflow", Severity::note,
                "a product of three or more int values can pass 2147483647", "cast one factor to size_t");
  }

  const KernelView& kernel_;
  const SyntaxTree& tree_;
  PitfallReport& report_;
  bool product_reported_ = false;  // once for a function is enough
};

}  // namespace

void find_arithmetic_pitfalls(const KernelView& kernel, PitfallReport& report) {
  ArithmeticPitfalls(kernel, report).run();
}

}  // namespace kw
