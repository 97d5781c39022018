#pragma once
// What the pitfall rules know about one device function: its variables, which of them differ between threads, how an
// address moves from one thread to the next, and what guards a statement.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernel/source/pitfalls_syntax.h"
#include "kernel/source/rules.h"

namespace kw {

// Whole numbers that the file gives a name: constexpr, const, #define, or a variable that never changes.
using Constants = std::unordered_map<std::string_view, std::int64_t>;
Constants find_constants(const SyntaxTree& tree, NodeIndex scope);
std::optional<std::int64_t> constant_value(const SyntaxTree& tree, NodeIndex expression, const Constants& constants);

struct Variable {
  std::string_view name;
  std::string_view type;  // "float", without qualifiers
  NodeIndex declared = no_node;
  NodeIndex value = no_node;          // its initialiser
  std::vector<NodeIndex> dimensions;  // of an array, outermost first; no_node for []
  bool parameter = false;
  bool pointer = false;
  bool array = false;
  bool shared = false;
  bool constant = false;    // `const` before the type
  bool restricted = false;  // __restrict__
  bool is_volatile = false;
};

// How an address or number changes from a thread to its neighbour in x.
enum class Stride : std::uint8_t { none, one, few, many, unknown };  // few: 2 to 4 elements

struct Condition {                 // something that decides whether a statement runs
  NodeIndex statement = no_node;   // if, for, while, do, ?:
  NodeIndex expression = no_node;  // may be no_node: for (;;)
  bool loop = false;
};

class KernelView {
 public:
  // `synchronising` are the file's functions that contain a barrier.
  KernelView(const SyntaxTree& tree, NodeIndex function, const Constants& constants,
             const std::unordered_set<std::string_view>& synchronising);

  const SyntaxTree& tree() const { return tree_; }
  NodeIndex function() const { return function_; }
  NodeIndex body() const { return body_; }
  const Constants& constants() const { return constants_; }
  bool is_kernel() const { return is_kernel_; }
  std::string_view name() const { return name_; }
  bool mentions_double() const { return mentions_double_; }
  const std::vector<Variable>& variables() const { return variables_; }
  const Variable* variable(std::string_view name) const;

  // Whether the expression's value can differ between the threads of a block, or of a warp.
  bool differs_in_block(NodeIndex expression) const { return mentions(expression, differs_in_block_, false); }
  bool differs_in_warp(NodeIndex expression) const { return mentions(expression, differs_in_warp_, true); }
  Stride stride(NodeIndex expression) const { return stride(expression, 0); }
  // The variable at the start of `a[i][j]`, `p + i`, `&a[i]`, `*p`; null when it is something else.
  const Variable* base(NodeIndex expression) const;
  // Follows `const float* in = x + ...` to the parameter x.
  const Variable* root(const Variable* variable) const;

  // A call that lets threads see each other's shared memory: a barrier, or a function that has one.
  bool orders_memory(NodeIndex call) const;

  // From the innermost to the outermost, up to the function's body.
  std::vector<Condition> conditions(NodeIndex statement) const;

 private:
  void read_parameters();
  void read_locals();
  void add_declaration(NodeIndex declaration);
  void find_differing(std::unordered_set<std::string_view>& names, bool within_warp);
  bool mentions(NodeIndex expression, const std::unordered_set<std::string_view>& names, bool within_warp) const;
  Stride stride(NodeIndex expression, int depth) const;
  Stride product(NodeIndex left, NodeIndex right, int depth) const;

  const SyntaxTree& tree_;
  const std::unordered_set<std::string_view>& synchronising_;
  NodeIndex function_;
  NodeIndex body_ = no_node;
  Constants constants_;
  bool is_kernel_ = false;
  bool mentions_double_ = false;
  std::string_view name_;
  std::vector<Variable> variables_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_set<std::string_view> reassigned_;  // by a value that differs between threads
  std::unordered_set<std::string_view> differs_in_block_;
  std::unordered_set<std::string_view> differs_in_warp_;
  mutable std::unordered_map<std::string_view, Stride> stride_of_;
};

struct PitfallReport {
  std::string file;
  std::vector<Finding> findings;

  void add(const SyntaxNode& node, std::string_view rule, Severity severity, std::string message, std::string advice);
};

// The last part of what a call names: `sync` of `cg::sync(block)` and of `block.sync()`.
std::string_view called_name(const SyntaxTree& tree, NodeIndex call);
// __syncthreads and its voting forms.
bool is_block_barrier(const SyntaxTree& tree, NodeIndex call);

void find_arithmetic_pitfalls(const KernelView& kernel, PitfallReport& report);
void find_memory_pitfalls(const KernelView& kernel, PitfallReport& report);
void find_declaration_pitfalls(const KernelView& kernel, PitfallReport& report);
void find_barrier_pitfalls(const KernelView& kernel, PitfallReport& report);
void find_shared_memory_pitfalls(const KernelView& kernel, PitfallReport& report);
void find_launch_pitfalls(const SyntaxTree& tree, NodeIndex function, const Constants& constants,
                          PitfallReport& report);

}  // namespace kw
