#include "agents/program/contraction.h"

#include <algorithm>
#include <set>

#include "agents/program/contraction_writer.h"
#include "agents/program/term_edit.h"

namespace kw::program {
namespace {

// Which of these axes a term depends on.
std::set<std::int64_t> axes_of(const Addressing& addressing, TermId term, const std::vector<std::int64_t>& axes) {
  std::set<std::int64_t> made;
  for (const std::int64_t axis : axes)
    if (addressing.depends_on(term, axis)) made.insert(axis);
  return made;
}

bool is_half(Dtype type) { return type == Dtype::float16 || type == Dtype::bfloat16; }

}  // namespace

Extent LinearOffset::step(std::int64_t axis) const {
  const auto found = steps.find(axis);
  return found == steps.end() ? Extent(0) : found->second;
}

std::optional<LinearOffset> linear_offset(const Graph& graph, TermId offset) {
  const Term& term = graph.term(offset);
  switch (term.kind) {
    case TermKind::whole:
      return LinearOffset{Extent(term.whole), {}};
    case TermKind::extent:
      return LinearOffset{term.extent, {}};
    case TermKind::axis:
      return LinearOffset{Extent(0), {{term.whole, Extent(1)}}};
    case TermKind::operation:
      break;
    default:
      return std::nullopt;
  }
  if (term.op == ScalarOp::cast) return linear_offset(graph, term.parts[0]);
  if (term.op != ScalarOp::add && term.op != ScalarOp::subtract && term.op != ScalarOp::multiply) return std::nullopt;
  auto left = linear_offset(graph, term.parts[0]);
  auto right = linear_offset(graph, term.parts[1]);
  if (!left || !right) return std::nullopt;
  if (term.op == ScalarOp::multiply) {
    if (!left->steps.empty()) std::swap(left, right);
    if (!left->steps.empty()) return std::nullopt;
    const Extent factor = left->rest;
    right->rest = right->rest * factor;
    for (auto& [axis, step] : right->steps) step = step * factor;
    return right;
  }
  const Extent sign(term.op == ScalarOp::add ? 1 : -1);
  left->rest = left->rest + sign * right->rest;
  for (const auto& [axis, step] : right->steps) left->steps[axis] = left->step(axis) + sign * step;
  return left;
}

// The step between neighbours of several axes that memory has as one.
std::optional<Extent> ContractionWriter::step_of(const LinearOffset& offset, const std::vector<std::int64_t>& axes,
                                                 const std::map<std::int64_t, Extent>& extents) {
  for (std::size_t i = 0; i + 1 < axes.size(); ++i)
    if (!(offset.step(axes[i]) == offset.step(axes[i + 1]) * extents.at(axes[i + 1]))) return std::nullopt;
  return offset.step(axes.back());
}

// `lines` and `places`: the axes of the factor's rows or columns, and those of the sum.
Factor ContractionWriter::factor_of(TermId value, const std::vector<std::int64_t>& lines,
                                    const std::vector<std::int64_t>& places,
                                    const std::map<std::int64_t, Extent>& extents) const {
  Factor made;
  made.value = value;
  for (const TermId load : loads_in(graph_, value)) {
    const Term& term = graph_.term(load);
    if (term.parts.empty()) continue;
    const auto offset = linear_offset(graph_, term.parts[0]);
    if (!offset) continue;
    // Lines a few elements apart are nearer to each other than most places of a window are.
    const std::int64_t apart = offset->step(lines.back()).constant().value_or(0);
    const bool far = places.size() > 1 || !offset->step(places.back()).is(1);
    made.by_depth = made.by_depth || apart == 1 || (apart > 1 && apart <= 4 && far);
    if (load != value || term.guarded) continue;
    const auto line_step = step_of(*offset, lines, extents), place_step = step_of(*offset, places, extents);
    if (!line_step || !place_step || (!line_step->is(1) && !place_step->is(1))) continue;
    made.tensor = term.node;
    made.offset = *offset;
    made.by_depth = line_step->is(1);
  }
  return made;
}

std::optional<Contraction> ContractionWriter::find(const Stage& stage) {
  const Node node = graph_.node(stage.node);
  if (node.kind != NodeKind::reduce && node.kind != NodeKind::map) return std::nullopt;
  Contraction made;
  program_.next_inner_ = 0;
  std::vector<TermId> indices;
  Node sum = node;
  if (node.kind == NodeKind::reduce) {
    for (std::size_t i = 0; i < node.shape.size(); ++i) indices.push_back(graph_.axis(static_cast<int>(i)));
  } else {
    made.root = addressing_.resolved(node.body);
    for (const TermId load : loads_in(graph_, made.root)) {
      if (schedule_.own_memory[static_cast<std::size_t>(graph_.term(load).node)]) continue;
      if (made.load >= 0) return std::nullopt;
      made.load = load;
    }
    if (made.load < 0 || graph_.term(made.load).guarded) return std::nullopt;
    sum = graph_.node(graph_.term(made.load).node);
    const TermParts& parts = graph_.term(made.load).parts;
    indices.assign(parts.begin(), parts.end());
  }
  if (sum.kind != NodeKind::reduce || sum.combine != Combine::sum) return std::nullopt;
  const ProgramWriter::Loop loop = program_.loop_of(sum, std::move(indices));
  const Term product = graph_.term(loop.body);
  if (product.kind != TermKind::operation || product.op != ScalarOp::multiply || product.dtype != Dtype::float32)
    return std::nullopt;
  for (const TermId load : loads_in(graph_, loop.body)) {
    const NodeId from = graph_.term(load).node;
    if (!schedule_.own_memory[static_cast<std::size_t>(from)] ||
        program_.is_large(elements_of(graph_.node(from).shape)))
      return std::nullopt;
  }
  if (program_.is_large(elements_of(node.shape))) return std::nullopt;

  std::vector<TermId> roots{loop.body};
  if (made.root >= 0)
    roots.push_back(replaced(graph_, made.root, made.load, graph_.real(1.5, graph_.term(made.load).dtype)));
  JoinedAxes space = program_.joined_space(roots, node.shape);
  const JoinedAxes inner = addressing_.joined({loop.body}, loop.places, sum.over);
  made.shape = space.shape;
  made.over = inner.shape;
  space.axes.insert(inner.axes.begin(), inner.axes.end());
  if (made.root >= 0) {
    made.root = addressing_.addressed(made.root, space.axes);
    for (const TermId load : loads_in(graph_, made.root))
      if (!schedule_.own_memory[static_cast<std::size_t>(graph_.term(load).node)]) made.load = load;
  }
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < made.shape.size(); ++i)
    if (!made.shape[i].is(1)) axes.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < made.over.size(); ++i)
    if (!made.over[i].is(1)) made.depth.push_back(loop.places[i]);
  TermId left = addressing_.addressed(product.parts[0], space.axes);
  TermId right = addressing_.addressed(product.parts[1], space.axes);
  if (axes.empty() || made.depth.empty()) return std::nullopt;
  // The last axis is that of the columns, so that results are written next to each other.
  if (!addressing_.depends_on(right, axes.back())) std::swap(left, right);
  const auto of_left = axes_of(addressing_, left, axes), of_right = axes_of(addressing_, right, axes);
  for (const std::int64_t axis : axes) {
    if (!of_left.contains(axis) && !of_right.contains(axis)) return std::nullopt;
    (!of_left.contains(axis) ? made.cols : !of_right.contains(axis) ? made.rows : made.batch).push_back(axis);
  }
  if (made.rows.empty() || made.cols.empty()) return std::nullopt;
  move_outer_axes(made, left, right);
  std::map<std::int64_t, Extent> extents;
  for (const std::int64_t axis : axes) extents.emplace(axis, made.shape[static_cast<std::size_t>(axis)]);
  for (std::size_t i = 0; i < made.over.size(); ++i) extents.emplace(loop.places[i], made.over[i]);
  made.left = factor_of(left, made.rows, made.depth, extents);
  made.right = factor_of(right, made.cols, made.depth, extents);
  made.sum = made.load < 0 ? stage.node : graph_.term(made.load).node;
  made.arithmetic = arithmetic_of(made);
  return made;
}

// Outer axes of the rows or the columns become products of their own: always where lines can be copied then, else where
// tiles lose little by it. Neighbouring blocks write neighbouring places then, and fewer places are taken apart.
void ContractionWriter::move_outer_axes(Contraction& made, TermId left, TermId right) const {
  for (const bool rows : {true, false}) {
    std::vector<std::int64_t>& own = rows ? made.rows : made.cols;
    const Term& term = graph_.term(rows ? left : right);
    const bool linear = term.kind == TermKind::load && !term.guarded && !term.parts.empty() && made.depth.size() == 1 &&
                        linear_offset(graph_, term.parts[0]).has_value();
    while (own.size() > 1) {
      std::int64_t rest = 1;
      for (std::size_t i = 1; i < own.size(); ++i) {
        const auto extent = made.shape[static_cast<std::size_t>(own[i])].evaluate(program_.sizes_);
        rest *= extent.ok() ? *extent : 1;
      }
      if (rest < (linear ? 64 : 512)) break;
      made.batch.push_back(own.front());
      own.erase(own.begin());
    }
  }
  std::sort(made.batch.begin(), made.batch.end());
}

// Whether small errors of a node may grow behind it: by an exponential, or by a decision.
bool ContractionWriter::is_sensitive(NodeId id) const {
  static const std::set<ScalarOp> growing = {ScalarOp::exp,      ScalarOp::exp2,      ScalarOp::expm1,
                                             ScalarOp::floor,    ScalarOp::ceil,      ScalarOp::round,
                                             ScalarOp::truncate, ScalarOp::sign,      ScalarOp::power,
                                             ScalarOp::tan,      ScalarOp::remainder, ScalarOp::floor_divide};
  std::set<NodeId> reached{id};
  for (auto at = static_cast<std::size_t>(id); at < graph_.node_count(); ++at) {
    const Node& node = graph_.node(static_cast<NodeId>(at));
    std::set<TermId> seen;
    std::vector<TermId> open = node.target;
    if (node.body >= 0) open.push_back(node.body);
    bool grows = node.combine == Combine::argmax || node.combine == Combine::argmin || node.combine == Combine::product;
    bool reads = static_cast<NodeId>(at) == id;
    while (!open.empty()) {
      const Term& term = graph_.term(open.back());
      if (!seen.insert(open.back()).second) {
        open.pop_back();
        continue;
      }
      open.pop_back();
      grows = grows || (term.kind == TermKind::operation && growing.contains(term.op));
      reads = reads || (term.kind == TermKind::load && reached.contains(term.node));
      open.insert(open.end(), term.parts.begin(), term.parts.end());
    }
    if (!reads) continue;
    reached.insert(static_cast<NodeId>(at));
    if (grows || !is_floating_point(node.dtype)) return true;
  }
  return false;
}

// Of 16 bits where each factor is 0 or an element of a tensor of that type.
Arithmetic ContractionWriter::arithmetic_of(const Contraction& contraction) const {
  const auto half = [&](const Factor& factor) -> std::optional<Dtype> {
    const Term& term = graph_.term(factor.value);
    if (term.kind != TermKind::load) return std::nullopt;
    const Dtype stored = program_.stored_as(term.node);
    return is_half(stored) ? std::optional(stored) : std::nullopt;
  };
  const auto left = half(contraction.left), right = half(contraction.right);
  if (left && left == right) return *left == Dtype::float16 ? Arithmetic::float16 : Arithmetic::bfloat16;
  const bool precise = is_sensitive(contraction.sum);
  return precise ? Arithmetic::tf32_parts : Arithmetic::bfloat16_parts;
}

}  // namespace kw::program
