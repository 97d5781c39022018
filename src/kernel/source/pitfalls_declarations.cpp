// What parameters and local arrays tell the compiler.

#include <algorithm>
#include <unordered_set>

#include "kernel/source/pitfalls_kernel.h"

namespace kw {
namespace {

constexpr std::int64_t large_array_elements = 128;  // a thread has at most 255 registers
constexpr std::int64_t huge_array_elements = 512;

// Parameters that something is written through, or that leave the function.
std::unordered_set<std::string_view> find_written(const KernelView& kernel) {
  const SyntaxTree& tree = kernel.tree();
  std::unordered_set<std::string_view> written;
  const auto note = [&](NodeIndex expression) {
    if (const Variable* variable = kernel.root(kernel.base(expression))) written.insert(variable->name);
  };
  for (NodeIndex i = kernel.body(); i < tree[kernel.body()].end; ++i) {
    if (tree.is(i, "assignment_expression")) note(tree.child(i, "left"));
    if (tree.is(i, "update_expression")) note(tree.child(i, "argument"));
    if (tree.is(i, "field_expression")) continue;
    if (!tree.is(i, "call_expression") || called_name(tree, i) == "reinterpret_cast") continue;
    for (const NodeIndex argument : tree.named_children(tree.child(i, "arguments"))) {
      // `f(x[i])` passes a value, `f(x)`, `f(&x[i])` and `f(x + i)` a pointer.
      if (!tree.is(argument, "subscript_expression")) note(argument);
    }
  }
  return written;
}

std::string join(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 6; ++i) {
    text.append(i == 0 ? "" : ", ").append(names[i].substr(0, 40));
  }
  return names.size() > 6 ? text + ", ..." : text;
}

void check_parameters(const KernelView& kernel, PitfallReport& report) {
  const SyntaxTree& tree = kernel.tree();
  const std::unordered_set<std::string_view> written = find_written(kernel);
  std::unordered_set<std::string_view> used;
  for (NodeIndex i = kernel.body(); i < tree[kernel.body()].end; ++i) {
    if (tree.is(i, "identifier")) used.insert(tree[i].text);
  }
  std::vector<std::string_view> unrestricted, not_const;
  std::size_t pointers = 0;
  for (const Variable& variable : kernel.variables()) {
    if (!variable.parameter || !variable.pointer) continue;
    ++pointers;
    if (!variable.restricted) unrestricted.push_back(variable.name);
    if (!variable.constant && used.contains(variable.name) && !written.contains(variable.name))
      not_const.push_back(variable.name);
  }
  const SyntaxNode& node = tree[kernel.function()];
  if (!unrestricted.empty() && pointers > 1) {
    report.add(node, "missing-restrict", Severity::note,
               "the compiler must assume that " + join(unrestricted) + " overlap other pointers",
               "declare the pointers __restrict__ when they do not overlap");
  }
  if (!not_const.empty()) {
    report.add(node, "missing-const", Severity::note, join(not_const) + " is only read",
               "declare it a pointer to const, so that loads can use the read-only path");
  }
}

void check_locals(const KernelView& kernel, PitfallReport& report) {
  const SyntaxTree& tree = kernel.tree();
  for (const Variable& variable : kernel.variables()) {
    if (variable.parameter) continue;
    if (variable.shared) {
      if (variable.is_volatile) {
        report.add(tree[variable.declared], "volatile-shared", Severity::warning,
                   "volatile shared memory is no substitute for a barrier since threads of a warp run independently",
                   "use __syncwarp() or warp shuffles");
      }
      continue;
    }
    if (variable.pointer && variable.is_volatile) {
      report.add(tree[variable.declared], "volatile-shared", Severity::note,
                 "a volatile pointer does not order the threads of a warp", "use __syncwarp() or warp shuffles");
    }
    if (!variable.array || variable.pointer || variable.constant) continue;
    std::int64_t elements = 1;
    for (const NodeIndex dimension : variable.dimensions) {
      const auto size = constant_value(tree, dimension, kernel.constants());
      elements = size && *size > 0 && elements < (std::int64_t{1} << 20) ? elements * *size : (size ? elements : 0);
    }
    if (elements <= large_array_elements) continue;
    report.add(tree[variable.declared], "large-local-array",
               elements > huge_array_elements ? Severity::warning : Severity::note,
               "the local array " + std::string(variable.name.substr(0, 40)) + " of " + std::to_string(elements) +
                   " elements does not fit into registers and goes to local memory",
               "use shared memory or a smaller tile");
  }
}

}  // namespace

void find_declaration_pitfalls(const KernelView& kernel, PitfallReport& report) {
  if (kernel.is_kernel()) check_parameters(kernel, report);
  check_locals(kernel, report);
}

}  // namespace kw
