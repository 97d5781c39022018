#include "agents/program/attention_stage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agents/program/contraction.h"

namespace kw::program {
namespace {

// Where in a merged axis an index stands: axis / divisor % extent.
struct Digit {
  std::int64_t axis = -1;
  Extent divisor = Extent(1);
  bool cut = false;
  Extent modulus;
};
std::optional<Digit> digit_of(const Graph& graph, TermId index) {
  const Term& term = graph.term(index);
  if (term.kind == TermKind::axis) return Digit{term.whole, Extent(1), false, Extent(1)};
  if (term.kind != TermKind::operation || term.dtype != Dtype::int32) return std::nullopt;
  if (term.op != ScalarOp::divide && term.op != ScalarOp::truncated_remainder) return std::nullopt;
  auto made = digit_of(graph, term.parts[0]);
  const auto by = linear_offset(graph, term.parts[1]);
  if (!made || made->cut || !by || !by->steps.empty()) return std::nullopt;
  made->cut = term.op == ScalarOp::truncated_remainder;
  (made->cut ? made->modulus : made->divisor) = made->cut ? by->rest : made->divisor * by->rest;
  return made;
}

// The map that alone reads a node.
std::optional<NodeId> one_reader(const Graph& graph, NodeId id) {
  if (std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end()) return std::nullopt;
  std::optional<NodeId> made;
  for (auto at = static_cast<std::size_t>(id) + 1; at < graph.node_count(); ++at) {
    const Node& node = graph.node(static_cast<NodeId>(at));
    std::vector<TermId> roots = node.target;
    for (const TermId root : {node.body, node.initial})
      if (root >= 0) roots.push_back(root);
    for (const TermId root : roots) {
      const std::vector<NodeId> loads = graph.loads_of(root);
      if (std::find(loads.begin(), loads.end(), id) == loads.end()) continue;
      if (made || node.kind != NodeKind::map) return std::nullopt;
      made = static_cast<NodeId>(at);
    }
  }
  return made;
}
std::optional<std::vector<TermId>> places_in(Graph& graph, const std::vector<Sizes>& sizes, NodeId reader, TermId load,
                                             const Attention& attention) {
  const auto same = [&](const Extent& one, const Extent& other) { return same_at(sizes, one, other); };
  const Node& from = graph.node(attention.node);
  const Node& to = graph.node(reader);
  std::vector<std::vector<std::pair<Digit, std::int64_t>>> digits(to.shape.size());
  for (std::size_t i = 0; i < from.shape.size(); ++i) {
    if (same(from.shape[i], Extent(1))) continue;
    const auto digit = digit_of(graph, graph.term(load).parts[i]);
    if (!digit || (digit->cut && !same(digit->modulus, from.shape[i]))) return std::nullopt;
    digits[static_cast<std::size_t>(digit->axis)].emplace_back(*digit, static_cast<std::int64_t>(i));
  }
  std::vector<TermId> places;
  for (std::size_t i = 0; i < to.shape.size(); ++i) {
    // From the digit that runs fastest, each stands where the one before ends, and together they are the axis.
    Extent reached(1);
    TermId place = graph.whole(0);
    std::vector<std::pair<Digit, std::int64_t>> left = digits[i];
    while (!left.empty()) {
      const auto next =
          std::find_if(left.begin(), left.end(), [&](const auto& each) { return same(each.first.divisor, reached); });
      if (next == left.end() || (next->first.cut == (left.size() == 1))) return std::nullopt;
      const TermId axis = graph.axis(static_cast<int>(next->second));
      place = graph.apply(ScalarOp::add, graph.apply(ScalarOp::multiply, axis, graph.extent(reached)), place);
      reached = reached * from.shape[static_cast<std::size_t>(next->second)];
      if (next->second == attention.feature_axis && (i + 1 != to.shape.size() || !next->first.divisor.is(1)))
        return std::nullopt;
      left.erase(next);
    }
    if (!same(reached, to.shape[i])) return std::nullopt;
    places.push_back(place);
  }
  return places;
}

}  // namespace

bool same_at(const std::vector<Sizes>& sizes, const Extent& one, const Extent& other) {
  if (one == other) return true;
  return !(one.constant() && other.constant()) && std::all_of(sizes.begin(), sizes.end(), [&](const Sizes& at) {
    const auto left = one.evaluate(at), right = other.evaluate(at);
    return left.ok() && right.ok() && *left == *right;
  });
}

void find_stage(Graph& graph, Addressing& addressing, const std::vector<Sizes>& sizes, Attention& made) {
  const Node& node = graph.node(made.node);
  made.stage = made.node;
  for (std::size_t i = 0; i < node.shape.size(); ++i)
    made.places.push_back(same_at(sizes, node.shape[i], Extent(1)) ? graph.whole(0) : graph.axis(static_cast<int>(i)));
  NodeId reader = made.node;
  while (const auto next = one_reader(graph, reader)) {
    if (graph.term(graph.node(*next).body).kind != TermKind::load) break;
    // Several maps are one.
    const TermId together = addressing.resolved(graph.node(*next).body);
    const Term& load = graph.term(together);
    if (load.kind != TermKind::load || load.guarded || load.node != made.node) break;
    reader = *next;
    if (auto found = places_in(graph, sizes, reader, together, made)) {
      made.stage = reader;
      made.places = *found;
    }
  }
}

}  // namespace kw::program
