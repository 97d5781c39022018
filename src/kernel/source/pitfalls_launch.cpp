// Launch shapes that waste the device or are refused by it.

#include <unordered_map>

#include "kernel/source/pitfalls_kernel.h"

namespace kw {
namespace {

constexpr std::int64_t max_block_threads = 1024;
constexpr std::int64_t few_block_threads = 64;

using Shapes = std::unordered_map<std::string_view, NodeIndex>;  // dim3 variables, to their arguments

// dim3 block(16, 16); and dim3 block = dim3(16, 16);
Shapes find_shapes(const SyntaxTree& tree, NodeIndex function) {
  Shapes shapes;
  for (NodeIndex i = function; i < tree[function].end; ++i) {
    if (!tree.is(i, "init_declarator")) continue;
    const NodeIndex declaration = tree[i].parent;
    const NodeIndex type = tree.child(declaration, "type");
    const NodeIndex name = tree.child(i, "declarator");
    NodeIndex value = tree.child(i, "value");
    if (type == no_node || tree[type].text != "dim3" || name == no_node) continue;
    if (tree.is(value, "call_expression")) value = tree.child(value, "arguments");
    if (tree.is(value, "argument_list") || tree.is(value, "initializer_list")) shapes[tree[name].text] = value;
  }
  return shapes;
}

// The number of threads or blocks of a shape, if it is a constant.
std::optional<std::int64_t> total(const SyntaxTree& tree, NodeIndex expression, const Shapes& shapes,
                                  const Constants& constants) {
  expression = tree.unwrapped(expression);
  if (expression == no_node) return std::nullopt;
  NodeIndex arguments = no_node;
  if (tree.is(expression, "identifier")) {
    const auto found = shapes.find(tree[expression].text);
    if (found != shapes.end()) arguments = found->second;
  } else if (tree.is(expression, "call_expression") && called_name(tree, expression) == "dim3") {
    arguments = tree.child(expression, "arguments");
  }
  if (arguments == no_node) return constant_value(tree, expression, constants);
  std::int64_t product = 1;
  for (const NodeIndex argument : tree.named_children(arguments)) {
    const auto value = constant_value(tree, argument, constants);
    if (!value || *value <= 0 || *value > (1 << 20) || product > (std::int64_t{1} << 40)) return std::nullopt;
    product *= *value;
  }
  return product;
}

}  // namespace

void find_launch_pitfalls(const SyntaxTree& tree, NodeIndex function, const Constants& file_constants,
                          PitfallReport& report) {
  Constants constants = file_constants;
  for (const auto& [name, value] : find_constants(tree, function)) constants[name] = value;
  const Shapes shapes = find_shapes(tree, function);
  for (NodeIndex i = function; i < tree[function].end; ++i) {
    if (!tree.is(i, "kernel_call_syntax")) continue;
    const std::vector<NodeIndex> shape = tree.named_children(i);
    if (shape.size() < 2) continue;
    const auto blocks = total(tree, shape[0], shapes, constants);
    const auto threads = total(tree, shape[1], shapes, constants);
    if (threads && *threads > max_block_threads) {
      report.add(tree[i], "block-too-large", Severity::warning,
                 "a block of " + std::to_string(*threads) + " threads cannot be launched; the limit is 1024",
                 "use at most 1024 threads");
    } else if (threads && *threads % 32 != 0) {
      report.add(tree[i], "block-not-whole-warps", Severity::note,
                 "a block of " + std::to_string(*threads) + " threads leaves lanes of its last warp idle",
                 "use a multiple of 32 threads");
    } else if (threads && *threads < few_block_threads) {
      report.add(tree[i], "small-block", Severity::note,
                 "blocks of " + std::to_string(*threads) + " threads reach the limit of blocks before that of threads",
                 "use 128 to 256 threads for a block");
    }
    if (blocks && *blocks == 1) {
      report.add(tree[i], "single-block", Severity::note, "one block keeps a single multiprocessor busy",
                 "split the work over many blocks");
    }
  }
}

}  // namespace kw
