// Whole numbers that a file spells with a name.

#include <charconv>

#include "kernel/source/pitfalls_kernel.h"

namespace kw {
namespace {

constexpr std::int64_t max_value = std::int64_t{1} << 40;  // products of two stay in range

std::optional<std::int64_t> parse_number(std::string_view text) {
  while (!text.empty() && std::string_view("uUlL").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || value > max_value) return std::nullopt;
  return value;
}

std::optional<std::int64_t> value_of(const SyntaxTree& tree, NodeIndex expression, const Constants& constants,
                                     int depth) {
  expression = tree.unwrapped(expression);
  if (expression == no_node || depth > 20) return std::nullopt;
  const SyntaxNode& node = tree[expression];
  if (node.type == "number_literal") return parse_number(node.text);
  if (node.type == "identifier") {
    const auto found = constants.find(node.text);
    return found == constants.end() ? std::nullopt : std::optional(found->second);
  }
  if (node.type != "binary_expression") return std::nullopt;
  const NodeIndex operation = tree.child(expression, "operator");
  const auto left = value_of(tree, tree.child(expression, "left"), constants, depth + 1);
  const auto right = value_of(tree, tree.child(expression, "right"), constants, depth + 1);
  if (operation == no_node || !left || !right) return std::nullopt;
  const std::string_view op = tree[operation].text;
  std::optional<std::int64_t> result;
  if (op == "+") result = *left + *right;
  if (op == "-") result = *left - *right;
  if (op == "*" && (*left == 0 || *right <= max_value / (*left > 0 ? *left : max_value))) result = *left * *right;
  if (op == "/" && *right != 0) result = *left / *right;
  if (op == "%" && *right != 0) result = *left % *right;
  if (op == "<<" && *left >= 0 && *right >= 0 && *right < 20 && *left < (1 << 20)) result = *left << *right;
  if (op == ">>" && *left >= 0 && *right >= 0 && *right < 40) result = *left >> *right;
  return result && *result <= max_value && *result >= -max_value ? result : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> constant_value(const SyntaxTree& tree, NodeIndex expression, const Constants& constants) {
  return value_of(tree, expression, constants, 0);
}

Constants find_constants(const SyntaxTree& tree, NodeIndex scope) {
  Constants constants;
  const bool whole_file = scope == 0;
  std::unordered_set<std::string_view> changed;
  const auto skip = [&](NodeIndex i) { return whole_file && tree.is(i, "function_definition"); };
  for (NodeIndex i = scope; i < tree[scope].end; ++i) {
    if (skip(i)) {
      i = tree[i].end - 1;
    } else if (tree.is(i, "assignment_expression") || tree.is(i, "update_expression")) {
      const NodeIndex target = tree.child(i, tree.is(i, "update_expression") ? "argument" : "left");
      if (target != no_node) changed.insert(tree[target].text);
    }
  }
  for (NodeIndex i = scope; i < tree[scope].end; ++i) {
    std::string_view name;
    std::optional<std::int64_t> value;
    if (skip(i)) {
      i = tree[i].end - 1;
      continue;
    }
    if (tree.is(i, "preproc_def")) {
      const NodeIndex named = tree.child(i, "name");
      const NodeIndex body = tree.child(i, "value");
      if (named == no_node || body == no_node) continue;
      name = tree[named].text;
      std::string_view text = tree[body].text;
      while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
      value = parse_number(text);
    } else if (tree.is(i, "init_declarator")) {
      const NodeIndex named = tree.child(i, "declarator");
      if (!tree.is(named, "identifier")) continue;
      name = tree[named].text;
      value = constant_value(tree, tree.child(i, "value"), constants);
    }
    if (!name.empty() && value && !changed.contains(name)) {
      // Two meanings of a name: neither is a constant.
      const auto [found, first] = constants.try_emplace(name, *value);
      if (!first && found->second != *value) changed.insert(name);
    }
  }
  for (const std::string_view name : changed) constants.erase(name);
  return constants;
}

}  // namespace kw
