#pragma once
// A whole tensor program as a typed graph. A node is a tensor; it says for each of its elements how that is computed:
//
//   map      out[i0, i1, ...] = body
//   reduce   out[i0, i1, ...] = combine of body over all [k0, k1, ...] of `over`
//   scan     out[..., i, ...] = combine of body over 0 .. i of one axis
//   scatter  out = initial; then for all [k0, k1, ...] of `over`: combine body into out[target]
//
// A body is a term: an expression of single numbers whose leaves are constants, extents, axes (i0, k0) and loads of
// elements of other nodes at indices that are terms themselves. So every operation of PyTorch is one of four kinds:
// reshape, pad, gather and interpolate are maps with other indices, a matrix product and a convolution are reductions
// of a product, softmax is two reductions and a map. What reads a graph (print, evaluate, write) has four cases and
// never asks which call of PyTorch a node came from; `operation` is there for people.
//
// Terms are kept once: equal terms have equal numbers, and a term's parts have smaller numbers than itself. So are
// nodes: what a node loads stands before it.

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "agents/program/extent.h"
#include "agents/program/scalar_operation.h"
#include "agents/program/term_parts.h"
#include "kernel/task/task.h"

namespace kw::program {

using NodeId = int;

enum class TermKind : std::uint8_t {
  real,       // a constant: `real`
  whole,      // a constant: `whole`
  extent,     // an extent's value: `extent`
  axis,       // an index of the node's own space: `whole` is its place
  load,       // an element of `node`; parts: its indices, then, where it is guarded, the condition
  operation,  // `op` of the parts
};

class TermMap;

struct Term {
  TermKind kind = TermKind::whole;
  ScalarOp op = ScalarOp::add;
  // In what type it is computed: never a half type. Indices are int32.
  Dtype dtype = Dtype::int32;
  double real = 0;
  std::int64_t whole = 0;
  NodeId node = -1;
  bool guarded = false;  // load: where the last part is false, nothing is read and the value is 0
  Extent extent;
  TermParts parts;
};

enum class NodeKind : std::uint8_t { input, map, reduce, scan, scatter };

enum class Combine : std::uint8_t {
  sum,
  product,
  maximum,
  minimum,
  any,
  all,
  argmax,
  argmin,   // the place, counted over all of `over`, of the first greatest or least one; reduce and scan
  replace,  // scatter: the last one stays, whichever that is
};

struct Node {
  NodeKind kind = NodeKind::map;
  Dtype dtype = Dtype::float32;  // as PyTorch would have it
  Extents shape;
  std::string operation;  // "softmax", or the input's name
  int line = 0;           // of the task's text; 0: none
  // Axes 0 .. rank-1 are the element's own place. reduce: those of `over` follow. scatter: body and target have the
  // axes of `over` alone.
  TermId body = -1;
  Combine combine = Combine::sum;
  Extents over;                // reduce, scatter
  int axis = 0;                // scan
  std::vector<TermId> target;  // scatter: one for each axis
  TermId initial = -1;         // scatter: over the axes of the element
  int place = -1;              // input: place in the task's inputs
};

struct GraphLimits {
  std::size_t terms = 200'000;
  std::size_t nodes = 20'000;
  std::size_t rank = 12;
};

class Graph {
 public:
  std::vector<NodeId> outputs;  // in the task's order, in the task's types and shapes

  const Term& term(TermId id) const { return terms_[static_cast<std::size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  std::size_t term_count() const { return terms_.size(); }
  std::size_t node_count() const { return nodes_.size(); }
  // True once a limit was passed; what is made then is worth nothing.
  bool beyond_limits() const { return beyond_limits_; }

  // Terms. Constants are folded, and what is trivial is left out (x * 1, select of a known condition).
  TermId real(double value, Dtype dtype = Dtype::float32);
  TermId whole(std::int64_t value, Dtype dtype = Dtype::int32);
  TermId extent(const Extent& extent, Dtype dtype = Dtype::int32);
  TermId axis(int place);
  TermId load(NodeId node, std::span<const TermId> indices, TermId guard = -1);
  TermId load(NodeId node, std::initializer_list<TermId> indices, TermId guard = -1) {
    return load(node, std::span(indices.begin(), indices.size()), guard);
  }
  // Operands of one type; the result is of that type, or bool for a comparison.
  TermId apply(ScalarOp op, TermId left, TermId right = -1);
  TermId select(TermId condition, TermId yes, TermId no);
  TermId cast(TermId value, Dtype to);
  // The same term with `axes[p]` for axis p, its loads guarded by `guard` too where that is not -1.
  TermId substitute(TermId body, std::span<const TermId> axes, TermId guard = -1);

  NodeId add(Node node);

  // These terms and all parts of parts, each once, parts first.
  std::vector<TermId> terms_of(std::span<const TermId> roots) const;

  // Which nodes a term loads, each once, in order.
  std::vector<NodeId> loads_of(TermId body) const;

  GraphLimits limits;

 private:
  TermId keep(Term term);
  std::size_t slot_of(const Term& term) const;
  TermId folded(const Term& term);
  TermId substituted(TermId body, std::span<const TermId> axes, TermId guard, TermMap& done);

  std::deque<Term> terms_;  // references stay good while a graph grows
  std::deque<Node> nodes_;
  std::vector<TermId> slots_;  // a hash table of all terms; -1: free
  bool beyond_limits_ = false;
};

// What the combination starts with, as a term of this type; for argmax and argmin that of the values.
TermId identity_of(Graph& graph, Combine combine, Dtype dtype);
std::string_view name_of(Combine combine);

// The program in plain words, a line for a node.
std::string to_text(const Graph& graph);
std::string to_text(const Graph& graph, TermId term);

}  // namespace kw::program
