#include "kernel/source/pitfalls.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "kernel/source/pitfalls_kernel.h"

namespace kw {
namespace {

constexpr std::size_t max_functions = 500;

bool is_device_function(const SyntaxTree& tree, NodeIndex function) {
  const NodeIndex body = tree.child(function, "body");
  for (NodeIndex i = function + 1; i < tree[function].end && i < body; ++i) {
    if (tree[i].text == "__global__" || tree[i].text == "__device__") return true;
  }
  return false;
}

std::unordered_set<std::string_view> find_synchronising(const SyntaxTree& tree,
                                                        const std::vector<NodeIndex>& functions) {
  std::unordered_set<std::string_view> names;
  for (const NodeIndex function : functions) {
    const NodeIndex declarator = tree.child(function, "declarator");
    if (tree[function].text.find("sync") == std::string_view::npos || declarator == no_node) continue;
    const NodeIndex name = tree.child(declarator, "declarator");
    if (name != no_node) names.insert(tree[name].text);
  }
  return names;
}

}  // namespace

std::vector<Finding> find_pitfalls(std::string_view text, std::string_view file) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (!has("__global__") && !has("__device__") && !has("<<<")) return {};  // parsing is the expensive part
  const std::optional<SyntaxTree> parsed = parse_cuda(text);
  PitfallReport report{std::string(file), {}};
  if (!parsed) return {};
  const SyntaxTree& tree = *parsed;
  const Constants constants = find_constants(tree, 0);
  std::vector<NodeIndex> functions;
  for (NodeIndex i = 0; i < tree.nodes.size() && functions.size() < max_functions; ++i) {
    if (!tree.is(i, "function_definition")) continue;
    functions.push_back(i);
    i = tree[i].end - 1;
  }
  const std::unordered_set<std::string_view> synchronising = find_synchronising(tree, functions);
  for (const NodeIndex function : functions) {
    if (tree.child(function, "body") == no_node) continue;
    if (!is_device_function(tree, function)) {
      find_launch_pitfalls(tree, function, constants, report);
      continue;
    }
    const KernelView kernel(tree, function, constants, synchronising);
    find_arithmetic_pitfalls(kernel, report);
    find_memory_pitfalls(kernel, report);
    find_declaration_pitfalls(kernel, report);
    find_barrier_pitfalls(kernel, report);
    find_shared_memory_pitfalls(kernel, report);
  }
  std::stable_sort(report.findings.begin(), report.findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.where.line, a.where.column, a.rule) < std::tie(b.where.line, b.where.column, b.rule);
  });
  std::map<std::string, std::size_t> count;
  std::erase_if(report.findings, [&](const Finding& f) { return ++count[f.rule] > max_findings_of_a_rule; });
  return std::move(report.findings);
}

}  // namespace kw
