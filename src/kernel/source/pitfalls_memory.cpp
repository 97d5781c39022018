// How global memory is reached: neighbouring threads, guards, vectors, atomics.

#include <algorithm>
#include <array>
#include <unordered_set>

#include "kernel/source/pitfalls_kernel.h"

namespace kw {
namespace {

class MemoryPitfalls {
 public:
  MemoryPitfalls(const KernelView& kernel, PitfallReport& report)
      : kernel_(kernel), tree_(kernel.tree()), report_(report) {}

  void run() {
    find_early_returns();
    for (NodeIndex i = kernel_.body(); i < tree_[kernel_.body()].end; ++i) {
      if (tree_.is(i, "subscript_expression")) check_access(i);
      if (tree_.is(i, "call_expression") && called_name(tree_, i).starts_with("atomic")) check_atomic(i);
      if (tree_.is(i, "cast_expression") || tree_.is(i, "call_expression")) check_vector_cast(i);
    }
  }

 private:
  // `if (i >= n) return;` guards everything behind it.
  void find_early_returns() {
    for (NodeIndex i = kernel_.body(); i < tree_[kernel_.body()].end; ++i) {
      if (!tree_.is(i, "return_statement") && !tree_.is(i, "continue_statement")) continue;
      for (const Condition& condition : kernel_.conditions(i)) {
        if (!condition.loop && kernel_.differs_in_block(condition.expression)) {
          first_guard_ = std::min(first_guard_, i);
        }
      }
    }
  }

  // A global pointer: a parameter, or a local that points into one.
  bool is_global(const Variable* variable) const {
    const Variable* root = kernel_.root(variable);
    return root != nullptr && root->parameter && root->pointer && !root->shared;
  }

  void check_access(NodeIndex access) {
    if (tree_.is(tree_[access].parent, "subscript_expression") && tree_[access].field == "argument") return;
    const Variable* variable = kernel_.base(access);
    if (variable == nullptr || !is_global(variable) || !kernel_.is_kernel()) return;
    const Stride stride = stride_of(access);
    const std::string_view pointer = kernel_.root(variable)->name;  // one finding for each is enough
    if (stride == Stride::many && reported_strides_.insert(pointer).second) {
      report_.add(tree_[access], "uncoalesced-access", Severity::warning,
                  "neighbouring threads reach " + shortened(access) +
                      " many elements apart, so each thread needs a memory transaction of its own",
                  "let threadIdx.x walk along the innermost dimension, or go through shared memory");
    } else if (stride == Stride::few && reported_strides_.insert(pointer).second) {
      report_.add(tree_[access], "strided-access", Severity::note,
                  "neighbouring threads reach " + shortened(access) + " a few elements apart",
                  "read a vector (float2, float4) for each thread");
    }
    if (is_written(access)) check_guard(access);
  }

  Stride stride_of(NodeIndex access) const {
    const Stride index = kernel_.stride(index_of(access));
    const Stride base = kernel_.stride(tree_.child(access, "argument"));
    if (index == Stride::none) return base;
    if (base == Stride::none) return index;
    return index == Stride::many || base == Stride::many ? Stride::many : Stride::unknown;
  }

  NodeIndex index_of(NodeIndex access) const {
    const std::vector<NodeIndex> indices = tree_.named_children(tree_.child(access, "indices"));
    return indices.size() == 1 ? indices[0] : no_node;
  }

  bool is_written(NodeIndex access) const {
    const NodeIndex parent = tree_[access].parent;
    return (tree_.is(parent, "assignment_expression") && tree_[access].field == "left") ||
           tree_.is(parent, "update_expression");
  }

  void check_guard(NodeIndex access) {
    const Variable* variable = kernel_.base(access);
    const bool moves = kernel_.differs_in_block(index_of(access)) ||
                       (!variable->parameter && kernel_.differs_in_block(variable->value));
    if (!moves || access > first_guard_) return;
    if (tree_[access].text.find("min(") != std::string_view::npos) return;
    for (const Condition& condition : kernel_.conditions(access)) {
      // for (i = threadIdx.x; i < n; ...): the loop variable differs between threads.
      if (kernel_.differs_in_block(condition.expression)) return;
      if (condition.loop && condition.expression != no_node && shares_name(condition.expression, access)) return;
    }
    if (!reported_guards_.insert(tree_[access].text).second) return;
    report_.add(tree_[access], "missing-guard", Severity::warning,
                "the write to " + shortened(access) + " is not guarded by a comparison with a size",
                "return or skip when the index is outside the output");
  }

  bool shares_name(NodeIndex condition, NodeIndex access) const {
    const NodeIndex index = index_of(access);
    if (index == no_node) return false;
    std::unordered_set<std::string_view> names;
    for (NodeIndex i = condition; i < tree_[condition].end; ++i) {
      if (tree_.is(i, "identifier")) names.insert(tree_[i].text);
    }
    for (NodeIndex i = index; i < tree_[index].end; ++i) {
      if (tree_.is(i, "identifier") && names.contains(tree_[i].text) && kernel_.differs_in_block(i)) return true;
    }
    return false;
  }

  // All threads adding to one address wait for each other.
  void check_atomic(NodeIndex call) {
    const std::vector<NodeIndex> arguments = tree_.named_children(tree_.child(call, "arguments"));
    if (arguments.empty()) return;
    const Variable* target = kernel_.base(arguments[0]);
    if (target == nullptr || !is_global(target) || address_moves(arguments[0])) return;
    bool in_loop = false;
    for (const Condition& condition : kernel_.conditions(call)) {
      if (condition.loop) {
        in_loop = true;
      } else if (picks_one_thread(condition.expression)) {
        return;
      }
    }
    if (in_loop) {
      report_.add(tree_[call], "atomic-contention", Severity::warning,
                  "every thread changes the same address in a loop",
                  "add up in a register, then in the block, then once");
    } else {
      report_.add(tree_[call], "atomic-contention", Severity::note, "every thread changes the same address",
                  "reduce within the warp or block first and let one thread do the atomic");
    }
  }

  bool address_moves(NodeIndex address) const {
    for (NodeIndex i = address; i < tree_[address].end; ++i) {
      if (!tree_.is(i, "identifier")) continue;
      if (tree_[i].text == "threadIdx" || tree_[i].text == "blockIdx") return true;
      const Variable* variable = kernel_.variable(tree_[i].text);
      if (variable == nullptr) return true;
      // A local can hold anything, a bin for example; only parameters and constants surely stay.
      if (!variable->parameter && !kernel_.constants().contains(variable->name)) return true;
    }
    return false;
  }

  // threadIdx.x == 0, lane == 0, !threadIdx.x
  bool picks_one_thread(NodeIndex condition) const {
    if (condition == no_node || !kernel_.differs_in_block(condition)) return false;
    for (NodeIndex i = condition; i < tree_[condition].end; ++i) {
      if (tree_[i].text == "==" || tree_[i].text == "!") return true;
    }
    return false;
  }

  // float4 through a float pointer: 16-byte alignment and a size that four divides.
  void check_vector_cast(NodeIndex cast) {
    const NodeIndex type = tree_.is(cast, "cast_expression") ? tree_.child(cast, "type") : template_type(cast);
    if (type == no_node) return;
    const std::string_view text = tree_[type].text;
    if (text.find('*') == text.npos) return;
    int lanes = 0;
    for (const std::string_view name : {"float4", "int4", "uint4", "float2", "double2", "int2"}) {
      if (text.find(name) != text.npos) lanes = name.back() - '0';
    }
    if (lanes == 0 || !is_global(kernel_.base(cast)) || vector_reported_) return;
    if (checks_multiple(lanes)) return;
    vector_reported_ = true;
    report_.add(tree_[cast], "vector-alignment", Severity::warning,
                "a vector access through " + shortened(cast) + " without a check that the size and address allow it",
                "take this path only when the row length is a multiple of " + std::to_string(lanes) +
                    ", and handle the rest one by one");
  }

  NodeIndex template_type(NodeIndex call) const {
    if (called_name(tree_, call) != "reinterpret_cast") return no_node;
    return tree_.child(tree_.child(call, "function"), "arguments");
  }

  // Somewhere in the file a size is split by the vector's length.
  bool checks_multiple(int lanes) {
    std::optional<bool>& known = checks_multiple_[lanes == 4 ? 1 : 0];
    if (!known) known = find_multiple(lanes);
    return *known;
  }

  bool find_multiple(int lanes) const {
    for (NodeIndex i = 0; i < tree_.nodes.size(); ++i) {
      if (!tree_.is(i, "binary_expression")) continue;
      const NodeIndex operation = tree_.child(i, "operator");
      const auto right = constant_value(tree_, tree_.child(i, "right"), kernel_.constants());
      if (operation == no_node || !right) continue;
      const std::string_view op = tree_[operation].text;
      if ((op == "%" || op == "/") && *right % lanes == 0 && *right > 0) return true;
      if (op == "&" && (*right + 1) % lanes == 0) return true;
      if (op == ">>" && *right >= lanes / 2) return true;
    }
    return false;
  }

  std::string shortened(NodeIndex node) const {
    std::string text(tree_[node].text.substr(0, 40));
    if (tree_[node].text.size() > 40) text += "...";
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }

  const KernelView& kernel_;
  const SyntaxTree& tree_;
  PitfallReport& report_;
  NodeIndex first_guard_ = no_node;
  bool vector_reported_ = false;
  std::array<std::optional<bool>, 2> checks_multiple_;  // by 2 and by 4
  std::unordered_set<std::string_view> reported_strides_;
  std::unordered_set<std::string_view> reported_guards_;
};

}  // namespace

void find_memory_pitfalls(const KernelView& kernel, PitfallReport& report) { MemoryPitfalls(kernel, report).run(); }

}  // namespace kw
