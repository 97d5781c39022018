#pragma once
// Sums that do not depend on how many ranks make them. A step's work is cut into slots, a power of two of them, whoever
// does which; what the slots come to is added up along a fixed binary tree:
//
//   ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
//
// Floats are added in that order by one rank as by eight, so the bits are the same. A rank has neighbouring slots; it
// adds up what it can of the tree and hands on the nodes that are left.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/distributed/communicator.h"

namespace kw {

inline constexpr std::int64_t most_slots = most_ranks;
inline constexpr std::int64_t usual_slots = 8;  // of a run that is started with ranks and says nothing else

// Slots [index << level, (index + 1) << level).
struct SlotNode {
  int level = 0;
  std::int64_t index = 0;
  std::int64_t begin() const { return index << level; }
  std::int64_t end() const { return (index + 1) << level; }
  friend bool operator==(const SlotNode&, const SlotNode&) = default;
};

// Adds nodes, which come in ascending order, as far as the tree allows: when the two halves of a node are there,
// `add(left, right)` puts their sum into the place of `left`. What is left in `nodes` are the largest whole nodes.
// T has a member `node`.
template <class T, class Add>
void append_slot(std::vector<T>& nodes, T next, const Add& add) {
  nodes.push_back(std::move(next));
  while (nodes.size() > 1) {
    T& left = nodes[nodes.size() - 2];
    T& right = nodes.back();
    if (left.node.level != right.node.level || left.node.index % 2 != 0 || right.node.index != left.node.index + 1)
      return;
    add(left, right);
    left.node = {left.node.level + 1, left.node.index / 2};
    nodes.pop_back();
  }
}

// 1, 2, 4 ... most_slots, and a slot at least for each rank.
Result<void> check_slots(std::int64_t slots, const Communicator* ranks);

// Which slots are this rank's; all of them without ranks.
ShareRange own_slots(std::int64_t slots, const Communicator* ranks);

// What each slot came to, on every rank: `mine` are this rank's, in order. Nobody's may be longer than `most_bytes`.
Result<std::vector<std::string>> share_slots(Communicator* ranks, std::int64_t slots, std::vector<std::string> mine,
                                             std::uint64_t most_bytes);

// The slot in which something lies that begins after `before` of `all` units of work (tokens).
inline std::int64_t slot_at(std::int64_t before, std::int64_t all, std::int64_t slots) {
  return all <= 0 ? 0 : std::min(before, all - 1) * slots / all;
}

}  // namespace kw
