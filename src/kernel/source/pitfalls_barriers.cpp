// Threads that must meet: barriers and warp-wide operations in code that not all of them reach.

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "kernel/source/pitfalls_kernel.h"

namespace kw {
namespace {

class BarrierPitfalls {
 public:
  BarrierPitfalls(const KernelView& kernel, PitfallReport& report)
      : kernel_(kernel), tree_(kernel.tree()), report_(report) {}

  void run() {
    for (NodeIndex i = kernel_.body(); i < tree_[kernel_.body()].end; ++i) {
      if (tree_.is(i, "return_statement")) check_return(i);
      if (!tree_.is(i, "call_expression")) continue;
      const std::string_view name = called_name(tree_, i);
      if (is_block_barrier(tree_, i)) check_barrier(i);
      if (name.starts_with("__shfl") && name.ends_with("_sync")) check_shuffle(i);
      check_legacy(i, name);
    }
  }

 private:
  void check_barrier(NodeIndex barrier) {
    if (left_before_ != no_node && !return_reported_) {
      return_reported_ = true;
      // Allowed: a barrier waits for the threads that have not exited. A mistake only where their share is needed.
      report_.add(
          tree_[left_before_], "return-before-barrier", Severity::note,
          "the barrier of line " + std::to_string(tree_[barrier].line) +
              " does not wait for threads that return here; what they would have stored before it is missing",
          "where others need their part (a tile, a partial sum), keep them and guard only the loads and stores");
    }
    for (const Condition& condition : kernel_.conditions(barrier)) {
      if (!kernel_.differs_in_block(condition.expression)) continue;
      if (condition.loop) {
        report_.add(tree_[barrier], "barrier-in-uneven-loop", Severity::warning,
                    "a barrier in a loop whose number of rounds differs between threads",
                    "let every thread do the same number of rounds and guard the work inside");
      } else {
        report_.add(tree_[barrier], "barrier-in-branch", Severity::warning,
                    "a barrier in a branch that not all threads of the block take",
                    "move the barrier out of the branch");
      }
      return;
    }
  }

  void check_return(NodeIndex statement) {
    if (left_before_ != no_node) return;
    for (const Condition& condition : kernel_.conditions(statement)) {
      if (!condition.loop && kernel_.differs_in_block(condition.expression)) left_before_ = statement;
    }
  }

  bool is_full_mask(NodeIndex expression) const {
    const std::string_view text = expression == no_node ? std::string_view{} : tree_[expression].text;
    static const std::unordered_set<std::string_view> spellings = {
        "0xffffffff",  "0xFFFFFFFF", "0xffffffffu", "0xFFFFFFFFu", "0xffffffffU",
        "0xFFFFFFFFU", "~0u",        "~0",          "-1",          "~0U"};
    return spellings.contains(text) || constant_value(tree_, expression, kernel_.constants()) == 0xFFFFFFFF;
  }

  void check_shuffle(NodeIndex call) {
    const std::vector<NodeIndex> arguments = tree_.named_children(tree_.child(call, "arguments"));
    if (arguments.empty() || !is_full_mask(arguments[0])) return;
    for (const Condition& condition : kernel_.conditions(call)) {
      if (!splits_warp(tree_.unwrapped(condition.expression))) continue;
      report_.add(tree_[call], "shuffle-in-branch", Severity::warning,
                  "a shuffle with the full mask in code that not all lanes of the warp reach",
                  "take the shuffle out of the branch, or compute the mask with __ballot_sync before it");
      return;
    }
  }

  // Only what surely parts a warp: lane == 0, i < n with a run-time n, tid < 10. `tid < 32` and `warp == 0` do not.
  bool splits_warp(NodeIndex condition) const {
    if (condition == no_node || !tree_.is(condition, "binary_expression")) return false;
    const NodeIndex operation = tree_.child(condition, "operator");
    const NodeIndex left = tree_.child(condition, "left");
    const NodeIndex right = tree_.child(condition, "right");
    if (operation == no_node || !kernel_.differs_in_warp(left)) return false;
    const std::string_view op = tree_[operation].text;
    const auto number = constant_value(tree_, right, kernel_.constants());
    if (op == "==" && number) return true;
    if (op != "<" && op != "<=" && op != ">" && op != ">=") return false;
    if (number) return (op == "<" || op == ">=") ? *number % 32 != 0 : (*number + 1) % 32 != 0;
    const Variable* size = tree_.is(right, "identifier") ? kernel_.variable(tree_[right].text) : nullptr;
    return size != nullptr && size->parameter && !size->pointer;
  }

  void check_legacy(NodeIndex call, std::string_view name) {
    static const std::unordered_set<std::string_view> legacy = {"__shfl",   "__shfl_up", "__shfl_down", "__shfl_xor",
                                                                "__ballot", "__any",     "__all"};
    if (!legacy.contains(name)) return;
    report_.add(tree_[call], "legacy-warp-function", Severity::warning,
                std::string(name) + " does not exist any more on current architectures",
                "use " + std::string(name) + "_sync with a mask");
  }

  const KernelView& kernel_;
  const SyntaxTree& tree_;
  PitfallReport& report_;
  NodeIndex left_before_ = no_node;  // the first return that only some threads take
  bool return_reported_ = false;
};

}  // namespace

void find_barrier_pitfalls(const KernelView& kernel, PitfallReport& report) { BarrierPitfalls(kernel, report).run(); }

}  // namespace kw
