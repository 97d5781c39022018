#include "kernel/source/pitfalls_kernel.h"

#include <algorithm>

namespace kw {
namespace {

constexpr int max_expression_depth = 40;

// Calls whose result is the same in every thread of a block.
bool is_block_uniform_call(std::string_view name) {
  return name == "__syncthreads_or" || name == "__syncthreads_and" || name == "__syncthreads_count";
}

// The identifier inside a declarator: pointer, array, reference, init.
NodeIndex declared_name(const SyntaxTree& tree, NodeIndex declarator) {
  while (declarator != no_node && !tree.is(declarator, "identifier")) {
    const NodeIndex inner = tree.child(declarator, "declarator");
    if (inner != no_node) {
      declarator = inner;
      continue;
    }
    const std::vector<NodeIndex> children = tree.named_children(declarator);  // reference_declarator
    declarator = children.empty() ? no_node : children.back();
  }
  return declarator;
}

}  // namespace

KernelView::KernelView(const SyntaxTree& tree, NodeIndex function, const Constants& constants,
                       const std::unordered_set<std::string_view>& synchronising)
    : tree_(tree),
      synchronising_(synchronising),
      function_(function),
      body_(tree.child(function, "body")),
      constants_(constants) {
  for (NodeIndex i = function + 1; i < std::min(body_, tree[function].end); ++i) {
    if (tree[i].text == "__global__") is_kernel_ = true;
  }
  const NodeIndex name = declared_name(tree, tree.child(function, "declarator"));
  if (name != no_node) name_ = tree[name].text;
  for (const auto& [constant, value] : find_constants(tree, function)) constants_[constant] = value;
  read_parameters();
  if (body_ == no_node) return;
  read_locals();
  find_differing(differs_in_block_, false);
  find_differing(differs_in_warp_, true);
}

const Variable* KernelView::variable(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &variables_[found->second];
}

void KernelView::read_parameters() {
  NodeIndex declarator = tree_.child(function_, "declarator");
  while (declarator != no_node && !tree_.is(declarator, "function_declarator")) {
    declarator = tree_.child(declarator, "declarator");
  }
  for (const NodeIndex parameter : tree_.named_children(tree_.child(declarator, "parameters"))) {
    const std::size_t before = variables_.size();
    add_declaration(parameter);
    for (std::size_t i = before; i < variables_.size(); ++i) variables_[i].parameter = true;
  }
}

void KernelView::read_locals() {
  for (NodeIndex i = body_; i < tree_[body_].end; ++i) {
    if (tree_.is(i, "declaration")) add_declaration(i);
  }
  for (NodeIndex i = function_; i < tree_[function_].end; ++i) {
    if (tree_[i].text == "double" && tree_.is(i, "primitive_type")) mentions_double_ = true;
  }
}

void KernelView::add_declaration(NodeIndex declaration) {
  Variable common;
  common.declared = declaration;
  std::vector<NodeIndex> declarators;
  for (NodeIndex i = declaration + 1; i < tree_[declaration].end; i = tree_[i].end) {
    const SyntaxNode& node = tree_[i];
    if (node.field == "type") common.type = node.text;
    if (node.field == "declarator") declarators.push_back(i);
    if (node.text == "const" || node.text == "constexpr") common.constant = true;
    if (node.text == "__shared__") common.shared = true;
    if (node.text == "volatile") common.is_volatile = true;
  }
  for (const NodeIndex declarator : declarators) {
    Variable variable = common;
    const NodeIndex name = declared_name(tree_, declarator);
    if (name == no_node) continue;
    variable.name = tree_[name].text;
    for (NodeIndex i = declarator; i != no_node && i != name; i = tree_.child(i, "declarator")) {
      if (tree_.is(i, "init_declarator")) variable.value = tree_.child(i, "value");
      if (tree_.is(i, "pointer_declarator")) variable.pointer = true;
      if (tree_.is(i, "array_declarator")) {
        variable.array = true;
        variable.dimensions.insert(variable.dimensions.begin(), tree_.child(i, "size"));
      }
      for (NodeIndex k = i + 1; k < tree_[i].end && k < name; k = tree_[k].end) {
        if (tree_[k].text == "__restrict__" || tree_[k].text == "__restrict") variable.restricted = true;
      }
    }
    by_name_[variable.name] = variables_.size();
    variables_.push_back(std::move(variable));
  }
}

// Names whose value differs, to a fixed point: each round can only add names, and real code needs two or three.
void KernelView::find_differing(std::unordered_set<std::string_view>& names, bool within_warp) {
  for (int round = 0; round < 4; ++round) {
    const std::size_t before = names.size();
    for (const Variable& variable : variables_) {
      if (variable.value != no_node && mentions(variable.value, names, within_warp)) names.insert(variable.name);
    }
    for (NodeIndex i = body_; i < tree_[body_].end; ++i) {
      if (!tree_.is(i, "assignment_expression")) continue;
      const NodeIndex left = tree_.child(i, "left");
      if (!tree_.is(left, "identifier") || !mentions(tree_.child(i, "right"), names, within_warp)) continue;
      names.insert(tree_[left].text);
      reassigned_.insert(tree_[left].text);
    }
    if (names.size() == before) return;
  }
}

bool KernelView::mentions(NodeIndex expression, const std::unordered_set<std::string_view>& names,
                          bool within_warp) const {
  if (expression == no_node) return false;
  for (NodeIndex i = expression; i < tree_[expression].end; ++i) {
    const SyntaxNode& node = tree_[i];
    if (node.type == "call_expression" && is_block_uniform_call(called_name(tree_, i))) {
      i = node.end - 1;
      continue;
    }
    // threadIdx.x / 32, threadIdx.x >> 5: the same in a whole warp.
    if (within_warp && node.type == "binary_expression") {
      const NodeIndex right = tree_.child(i, "right");
      const std::optional<std::int64_t> by = constant_value(tree_, right, constants_);
      const NodeIndex operation = tree_.child(i, "operator");
      const std::string_view op = operation == no_node ? "" : tree_[operation].text;
      const bool warps =
          (op == "/" && ((by && *by % 32 == 0) || (right != no_node && tree_[right].text == "warpSize"))) ||
          (op == ">>" && by && *by >= 5);
      if (warps) {
        i = node.end - 1;
        continue;
      }
    }
    if (node.type != "identifier") continue;
    if (node.text == "threadIdx" || names.contains(node.text)) {
      // The rows of a block of 32 or more columns: threadIdx.y is the same in a warp.
      const bool row =
          within_warp && node.text == "threadIdx" && node.parent != no_node && !tree_[node.parent].text.ends_with("x");
      if (!row) return true;
    }
  }
  return false;
}

const Variable* KernelView::base(NodeIndex expression) const {
  for (int depth = 0; depth < max_expression_depth && expression != no_node; ++depth) {
    expression = tree_.unwrapped(expression);
    if (expression == no_node) return nullptr;
    const std::string_view type = tree_[expression].type;
    if (type == "identifier") return variable(tree_[expression].text);
    if (type == "subscript_expression" || type == "pointer_expression") {
      expression = tree_.child(expression, "argument");
    } else if (type == "cast_expression") {
      expression = tree_.child(expression, "value");
    } else if (type == "binary_expression") {
      expression = tree_.child(expression, "left");
    } else if (type == "call_expression" && called_name(tree_, expression) == "reinterpret_cast") {
      const std::vector<NodeIndex> arguments = tree_.named_children(tree_.child(expression, "arguments"));
      expression = arguments.size() == 1 ? arguments[0] : no_node;
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

const Variable* KernelView::root(const Variable* variable) const {
  for (int depth = 0; depth < 8 && variable != nullptr && variable->pointer && !variable->parameter; ++depth) {
    const Variable* next = base(variable->value);
    if (next == nullptr || next == variable) return variable;
    variable = next;
  }
  return variable;
}

Stride KernelView::product(NodeIndex left, NodeIndex right, int depth) const {
  const Stride a = stride(left, depth);
  const Stride b = stride(right, depth);
  if (a == Stride::none && b == Stride::none) return Stride::none;
  if (a != Stride::none && b != Stride::none) return Stride::unknown;
  const Stride moving = a == Stride::none ? b : a;
  if (moving == Stride::unknown) return moving;
  const std::optional<std::int64_t> factor = constant_value(tree_, a == Stride::none ? left : right, constants_);
  if (!factor) return Stride::many;
  if (*factor == 0) return Stride::none;
  if (*factor == 1) return moving;
  return moving == Stride::one && *factor >= 2 && *factor <= 4 ? Stride::few : Stride::many;
}

Stride KernelView::stride(NodeIndex expression, int depth) const {
  if (expression == no_node) return Stride::none;
  if (depth > max_expression_depth) return Stride::unknown;
  expression = tree_.unwrapped(expression);
  if (expression == no_node) return Stride::none;
  const SyntaxNode& node = tree_[expression];
  if (node.type == "number_literal") return Stride::none;
  if (node.text == "threadIdx.x") return Stride::one;
  if (node.text == "threadIdx.y" || node.text == "threadIdx.z") return Stride::none;
  if (node.type == "identifier") {
    const Variable* known = variable(node.text);
    if (known == nullptr || known->parameter || known->value == no_node) {
      return differs_in_block_.contains(node.text) ? Stride::unknown : Stride::none;
    }
    if (reassigned_.contains(node.text)) return Stride::unknown;
    const auto [found, first] = stride_of_.try_emplace(node.text, Stride::unknown);  // unknown while being found out
    if (first) stride_of_[node.text] = stride(known->value, depth + 1);
    return stride_of_[node.text];
  }
  if (node.type == "cast_expression") return stride(tree_.child(expression, "value"), depth + 1);
  if (node.type == "binary_expression") {
    const NodeIndex operation = tree_.child(expression, "operator");
    const std::string_view op = operation == no_node ? "" : tree_[operation].text;
    const NodeIndex left = tree_.child(expression, "left");
    const NodeIndex right = tree_.child(expression, "right");
    if (op == "*") return product(left, right, depth + 1);
    if (op == "+" || op == "-") {
      const Stride a = stride(left, depth + 1);
      const Stride b = stride(right, depth + 1);
      if (b == Stride::none) return a;
      if (a == Stride::none) return op == "+" ? b : Stride::unknown;
      return a == Stride::many || b == Stride::many ? Stride::many : Stride::unknown;
    }
  }
  return differs_in_block(expression) ? Stride::unknown : Stride::none;
}

bool KernelView::orders_memory(NodeIndex call) const {
  if (is_block_barrier(tree_, call)) return true;
  const std::string_view name = called_name(tree_, call);
  // Words, because the ways to wait are many: __syncwarp, sync, arrive_and_wait, cp_async_wait, barrier.
  for (const std::string_view word : {"syncwarp", "sync", "wait", "barrier"}) {
    if (name == word || (name.find(word) != name.npos && !name.starts_with("__shfl"))) return true;
  }
  return synchronising_.contains(name);
}

std::vector<Condition> KernelView::conditions(NodeIndex statement) const {
  std::vector<Condition> result;
  for (NodeIndex i = statement; i != no_node && i != body_ && i != function_; i = tree_[i].parent) {
    const NodeIndex parent = tree_[i].parent;
    if (parent == no_node) break;
    const std::string_view type = tree_[parent].type;
    const std::string_view role = tree_[i].field;
    const bool branch = (type == "if_statement" || type == "conditional_expression") && role != "condition";
    const bool loop = (type == "for_statement" || type == "while_statement" || type == "do_statement") &&
                      (role == "body" || role == "update");
    if (branch || loop) result.push_back({parent, tree_.child(parent, "condition"), loop});
    if (type == "switch_statement" && role == "body")
      result.push_back({parent, tree_.child(parent, "condition"), false});
  }
  return result;
}

void PitfallReport::add(const SyntaxNode& node, std::string_view rule, Severity severity, std::string message,
                        std::string advice) {
  findings.push_back({std::string(rule),
                      severity,
                      {file, static_cast<int>(node.line), static_cast<int>(node.column)},
                      std::move(message),
                      std::move(advice)});
}

std::string_view called_name(const SyntaxTree& tree, NodeIndex call) {
  NodeIndex function = tree.child(call, "function");
  for (int depth = 0; depth < 8 && function != no_node; ++depth) {
    const SyntaxNode& node = tree[function];
    if (node.type == "identifier" || node.type == "field_identifier") return node.text;
    function = tree.child(function, node.type == "field_expression" ? "field" : "name");
  }
  return {};
}

bool is_block_barrier(const SyntaxTree& tree, NodeIndex call) {
  if (!tree.is(call, "call_expression")) return false;
  const std::string_view name = called_name(tree, call);
  return name == "__syncthreads" || is_block_uniform_call(name);
}

}  // namespace kw
