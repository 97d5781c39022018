#pragma once
// From a node's body to a term whose loads are of memory, each with one index: its offset. Axes that every load reads
// next to each other, in the order of its memory, become one, so that a kernel does not take a place apart only to put
// it together again.

#include <functional>
#include <map>
#include <vector>

#include "agents/program/graph.h"
#include "agents/program/schedule.h"
#include "agents/program/term_map.h"

namespace kw::program {

// What stands for an axis; axes that are not here stand for themselves.
using AxisMap = std::map<std::int64_t, TermId>;

// Axes of one space, with the extents that are left: a joined axis is its run's last, the others have the extent 1.
struct JoinedAxes {
  Extents shape;
  AxisMap axes;
};

class Addressing {
 public:
  // All outlive it. `is_large`: whether a number of elements needs 64 bits at some size.
  Addressing(Graph& graph, const Schedule& schedule, std::function<bool(const Extent&)> is_large)
      : graph_(graph), schedule_(schedule), is_large_(std::move(is_large)) {}

  // Loads of nodes without memory are replaced by what those compute. A reduction without memory stays a load, with its
  // indices: it becomes a loop.
  TermId resolved(TermId body);
  // `places`: the axes of a space, `shape` their extents; `roots`: all resolved terms that are computed there.
  JoinedAxes joined(const std::vector<TermId>& roots, const std::vector<std::int64_t>& places, Extents shape);
  // Of a resolved term.
  TermId addressed(TermId body, const AxisMap& axes);

  // A condition without which a term is 0, because it is a product with an element that is not read; -1: none is seen.
  TermId zero_unless(TermId body) const;
  // The same term where the condition is known to hold.
  TermId where_true(TermId body, TermId condition);
  // Whether it depends on this axis.
  bool depends_on(TermId body, std::int64_t place) const;

 private:
  TermId resolve(TermId id, TermMap& done);
  TermId resolve_load(const Term& from, TermMap& done);
  TermId address(TermId id, const AxisMap& axes, TermMap& done);
  TermId simplify(TermId id, TermId condition, TermMap& done);
  TermId offset_of(NodeId id, const TermParts& indices);
  Dtype index_type(NodeId id);
  TermId rebuilt(const Term& from, const TermParts& parts);
  bool own_memory(NodeId id) const { return schedule_.own_memory[static_cast<std::size_t>(id)]; }

  Graph& graph_;
  const Schedule& schedule_;
  std::function<bool(const Extent&)> is_large_;
  std::map<NodeId, Dtype> index_types_;
};

}  // namespace kw::program
