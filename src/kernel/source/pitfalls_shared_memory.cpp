// Shared memory: bank conflicts, and reads of what another thread wrote with no barrier in between.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "kernel/source/pitfalls_kernel.h"

namespace kw {
namespace {

// A use of a shared array or a barrier, in the order in which a thread meets them.
struct Event {
  enum class Kind : std::uint8_t { read, write, barrier };
  Kind kind;
  NodeIndex node = no_node;
  const Variable* array = nullptr;
};

std::int64_t element_bytes(std::string_view type) {
  if (type == "float" || type == "int" || type == "unsigned" || type == "unsigned int" || type == "uint32_t" ||
      type == "int32_t" || type == "__half2" || type == "half2") {
    return 4;
  }
  if (type == "double" || type == "float2" || type == "long long") return 8;
  if (type == "__half" || type == "half" || type == "__nv_bfloat16" || type == "short") return 2;
  return 0;  // not known
}

class SharedMemoryPitfalls {
 public:
  SharedMemoryPitfalls(const KernelView& kernel, PitfallReport& report)
      : kernel_(kernel), tree_(kernel.tree()), report_(report) {}

  void run() {
    collect();
    check_order();
    check_loops();
  }

 private:
  void collect() {
    for (NodeIndex i = kernel_.body(); i < tree_[kernel_.body()].end; ++i) {
      if (tree_.is(i, "call_expression") && kernel_.orders_memory(i)) {
        events_.push_back({Event::Kind::barrier, i, nullptr});
        continue;
      }
      if (!tree_.is(i, "subscript_expression")) continue;
      if (tree_.is(tree_[i].parent, "subscript_expression") && tree_[i].field == "argument") continue;
      const Variable* array = kernel_.base(i);
      if (array == nullptr || !array->shared || !array->array) continue;
      check_banks(i, *array);
      add_access(i, array);
    }
    // An assignment reads its right side before it writes its left one: order by where the effect happens.
    std::stable_sort(events_.begin(), events_.end(),
                     [&](const Event& a, const Event& b) { return moment(a) < moment(b); });
  }

  void add_access(NodeIndex access, const Variable* array) {
    const NodeIndex parent = tree_[access].parent;
    const bool left = tree_.is(parent, "assignment_expression") && tree_[access].field == "left";
    const bool plain =
        left && tree_.child(parent, "operator") != no_node && tree_[tree_.child(parent, "operator")].text == "=";
    const bool update = tree_.is(parent, "update_expression");
    const bool address = tree_.is(parent, "pointer_expression");  // &s[i]: atomics and asynchronous copies
    if (address) return;
    if (!plain) events_.push_back({Event::Kind::read, access, array});
    if (left || update) events_.push_back({Event::Kind::write, access, array});
  }

  NodeIndex moment(const Event& event) const {
    if (event.kind != Event::Kind::write) return event.node;
    return tree_[tree_[event.node].parent].end;
  }

  // tile[threadIdx.x][k] with rows of a multiple of 32 words: all lanes of a warp meet in one bank.
  void check_banks(NodeIndex access, const Variable& array) {
    const std::int64_t bytes = element_bytes(array.type);
    if (bytes == 0 || reported_banks_.contains(array.name)) return;
    const std::vector<NodeIndex> indices = indices_of(access);
    if (indices.empty() || indices.size() != array.dimensions.size()) return;
    if (kernel_.stride(indices.back()) != Stride::none) return;
    std::int64_t words = bytes;
    for (std::size_t i = indices.size(); i-- > 1;) {
      const auto size = constant_value(tree_, array.dimensions[i], kernel_.constants());
      if (!size || *size <= 0 || words > (1 << 24)) return;
      words *= *size;
      const Stride stride = kernel_.stride(indices[i - 1]);
      if (stride == Stride::none) continue;
      if (stride != Stride::one || words % 128 != 0) return;
      reported_banks_.insert(array.name);
      report_.add(tree_[access], "bank-conflict", Severity::warning,
                  "neighbouring threads reach " + std::string(array.name.substr(0, 40)) +
                      " a multiple of 128 bytes apart, which is always the same bank",
                  "pad the last dimension by one: [" + std::to_string(*size) + " + 1]");
      return;
    }
  }

  // The indices of a[i][j], outermost first.
  std::vector<NodeIndex> indices_of(NodeIndex access) const {
    std::vector<NodeIndex> indices;
    for (NodeIndex i = access; tree_.is(i, "subscript_expression") && indices.size() < 8;
         i = tree_.child(i, "argument")) {
      const std::vector<NodeIndex> here = tree_.named_children(tree_.child(i, "indices"));
      if (here.size() != 1) return {};
      indices.insert(indices.begin(), here[0]);
    }
    return indices;
  }

  // The part behind the name: "[threadIdx.x]".
  std::string_view index_text(const Event& event) const {
    return tree_[event.node].text.substr(std::min(event.array->name.size(), tree_[event.node].text.size()));
  }

  bool index_differs(const Event& event) const {
    for (const NodeIndex index : indices_of(event.node)) {
      if (kernel_.differs_in_block(index)) return true;
    }
    return false;
  }

  // s[i] written and s[i] read is the thread's own element.
  bool is_own(const Event& write, const Event& read) const {
    return index_text(write) == index_text(read) && index_differs(read);
  }

  // A single thread, or every thread by itself, that reads back what it wrote under the same condition.
  bool same_branch(const Event& write, const Event& read) const {
    const auto around = kernel_.conditions(write.node);
    return std::any_of(around.begin(), around.end(), [&](const Condition& condition) {
      return !condition.loop && tree_.inside(read.node, condition.statement) &&
             kernel_.differs_in_block(condition.expression);
    });
  }

  void check_order() {
    std::unordered_map<std::string_view, Event> open;  // the last write of each array since a barrier
    for (const Event& event : events_) {
      if (event.kind == Event::Kind::barrier) {
        open.clear();
      } else if (event.kind == Event::Kind::write) {
        open.insert_or_assign(event.array->name, event);
      } else {
        const auto found = open.find(event.array->name);
        if (found == open.end() || is_own(found->second, event) || same_branch(found->second, event)) continue;
        report(event, found->second, "is read here although no barrier follows its write in line ",
               "put __syncthreads() between the write and the read");
      }
    }
  }

  // A loop that begins with a write and ends with a read needs a barrier at its end as well.
  void check_loops() {
    std::size_t checked = 0;
    for (NodeIndex i = kernel_.body(); i < tree_[kernel_.body()].end && checked < 64; ++i) {
      if (!tree_.is(i, "for_statement") && !tree_.is(i, "while_statement")) continue;
      ++checked;
      check_loop(i);
    }
  }

  void check_loop(NodeIndex loop) {
    std::unordered_map<std::string_view, Event> first_writes;
    std::unordered_map<std::string_view, Event> last_reads;
    bool barrier_seen = false;
    for (const Event& event : events_) {
      if (!tree_.inside(event.node, loop)) continue;
      if (event.kind == Event::Kind::barrier) {
        barrier_seen = true;
        last_reads.clear();
      } else if (event.kind == Event::Kind::write) {
        if (!barrier_seen) first_writes.try_emplace(event.array->name, event);
      } else {
        last_reads.try_emplace(event.array->name, event);
      }
    }
    if (!barrier_seen) return;
    for (const Event& event : events_) {  // in source order, so that the result does not depend on hashing
      if (event.kind != Event::Kind::read || !tree_.inside(event.node, loop)) continue;
      const auto read = last_reads.find(event.array->name);
      const auto write = first_writes.find(event.array->name);
      if (read == last_reads.end() || write == first_writes.end() || read->second.node != event.node) continue;
      if (is_own(write->second, event) || mentions_changed(write->second.node, loop)) continue;
      report(event, write->second,
             "is read here while other threads may already be in the next round and write it in line ",
             "put __syncthreads() at the end of the loop");
    }
  }

  // Double buffering: the written part changes from round to round.
  bool mentions_changed(NodeIndex access, NodeIndex loop) const {
    std::unordered_set<std::string_view> changed;
    for (NodeIndex i = loop; i < tree_[loop].end; ++i) {
      if (!tree_.is(i, "assignment_expression") && !tree_.is(i, "update_expression") &&
          !tree_.is(i, "init_declarator")) {
        continue;
      }
      const std::string_view role = tree_.is(i, "update_expression")       ? "argument"
                                    : tree_.is(i, "assignment_expression") ? "left"
                                                                           : "declarator";
      const NodeIndex target = tree_.child(i, role);
      if (tree_.is(target, "identifier")) changed.insert(tree_[target].text);
    }
    for (NodeIndex i = access; i < tree_[access].end; ++i) {
      if (tree_.is(i, "identifier") && changed.contains(tree_[i].text)) return true;
    }
    return false;
  }

  void report(const Event& read, const Event& write, const char* what, std::string advice) {
    if (!reported_order_.insert(read.array->name).second) return;
    report_.add(tree_[read.node], "missing-barrier", Severity::warning,
                "the shared array " + std::string(read.array->name.substr(0, 40)) + " " + what +
                    std::to_string(tree_[write.node].line),
                std::move(advice));
  }

  const KernelView& kernel_;
  const SyntaxTree& tree_;
  PitfallReport& report_;
  std::vector<Event> events_;
  std::unordered_set<std::string_view> reported_banks_;
  std::unordered_set<std::string_view> reported_order_;
};

}  // namespace

void find_shared_memory_pitfalls(const KernelView& kernel, PitfallReport& report) {
  SharedMemoryPitfalls(kernel, report).run();
}

}  // namespace kw
