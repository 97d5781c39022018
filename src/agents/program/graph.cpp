#include "agents/program/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "agents/program/term_map.h"

namespace kw::program {
namespace {

bool is_constant(const Term& term) { return term.kind == TermKind::real || term.kind == TermKind::whole; }
bool is_number(const Term& term, double value) {
  return (term.kind == TermKind::real && term.real == value) ||
         (term.kind == TermKind::whole && static_cast<double>(term.whole) == value);
}
Scalar scalar_of(const Term& term) { return {term.real, term.whole}; }

std::size_t hash_of(const Term& term) {
  std::uint64_t made = static_cast<std::uint64_t>(term.kind) | static_cast<std::uint64_t>(term.op) << 8 |
                       static_cast<std::uint64_t>(term.dtype) << 16 | static_cast<std::uint64_t>(term.guarded) << 24;
  const auto add = [&](std::uint64_t value) { made = (made ^ (made >> 29) ^ value) * 0x9E3779B97F4A7C15u; };
  add(std::bit_cast<std::uint64_t>(term.real));
  add(static_cast<std::uint64_t>(term.whole));
  add(static_cast<std::uint64_t>(term.node));
  for (const TermId part : term.parts) add(static_cast<std::uint64_t>(part));
  if (term.kind == TermKind::extent) add(term.extent.hash());
  return made ^ (made >> 32);
}

// Numbers bit by bit: 0 and -0 are two, and a NaN is itself.
bool is_same(const Term& one, const Term& other) {
  return one.kind == other.kind && one.op == other.op && one.dtype == other.dtype &&
         std::bit_cast<std::uint64_t>(one.real) == std::bit_cast<std::uint64_t>(other.real) &&
         one.whole == other.whole && one.node == other.node && one.guarded == other.guarded &&
         one.parts == other.parts && (one.kind != TermKind::extent || one.extent == other.extent);
}

}  // namespace

// Where the term stands in the table, or would stand.
std::size_t Graph::slot_of(const Term& term) const {
  std::size_t slot = hash_of(term) & (slots_.size() - 1);
  while (slots_[slot] >= 0 && !is_same(this->term(slots_[slot]), term)) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

TermId Graph::keep(Term term) {
  if (terms_.size() >= limits.terms) {
    beyond_limits_ = true;
    return 0;
  }
  if (slots_.size() < 2 * (terms_.size() + 1)) {
    constexpr std::size_t fewest = 512;
    slots_.assign(std::max(fewest, 2 * slots_.size()), -1);
    for (std::size_t i = 0; i < terms_.size(); ++i) slots_[slot_of(terms_[i])] = static_cast<TermId>(i);
  }
  TermId& known = slots_[slot_of(term)];
  if (known < 0) {
    known = static_cast<TermId>(terms_.size());
    terms_.push_back(std::move(term));
  }
  return known;
}

TermId Graph::real(double value, Dtype dtype) {
  Term term;
  term.kind = TermKind::real;
  term.dtype = computed_as(dtype);
  term.real = value;
  return keep(std::move(term));
}

TermId Graph::whole(std::int64_t value, Dtype dtype) {
  Term term;
  term.dtype = dtype;
  term.whole = wrapped(value, dtype);
  return keep(std::move(term));
}

TermId Graph::extent(const Extent& extent, Dtype dtype) {
  if (const auto constant = extent.constant()) return whole(*constant, dtype);
  if (dtype != Dtype::int32) return cast(this->extent(extent), dtype);
  Term term;
  term.kind = TermKind::extent;
  term.extent = extent;
  return keep(std::move(term));
}

TermId Graph::axis(int place) {
  Term term;
  term.kind = TermKind::axis;
  term.whole = place;
  return keep(std::move(term));
}

TermId Graph::load(NodeId node, std::span<const TermId> indices, TermId guard) {
  if (indices.size() >= TermParts::most) {
    beyond_limits_ = true;
    return 0;
  }
  Term term;
  term.kind = TermKind::load;
  term.dtype = computed_as(this->node(node).dtype);
  term.node = node;
  term.parts = TermParts(indices);
  if (guard >= 0 && !is_number(this->term(guard), 1)) {
    term.guarded = true;
    term.parts.push_back(guard);
  }
  return keep(std::move(term));
}

TermId Graph::folded(const Term& made) {
  const ScalarOperation& row = operation_of(made.op);
  const Term& left = term(made.parts[0]);
  const Term& right = term(made.parts.back());
  const bool floating = is_floating_point(left.dtype);
  if (is_constant(left) && is_constant(right)) {
    if (floating && row.real != nullptr) {
      const double value = row.real(left.real, right.real);
      return is_floating_point(made.dtype) ? real(value, made.dtype)
                                           : whole(static_cast<std::int64_t>(value), made.dtype);
    }
    if (!floating && row.whole != nullptr) return whole(row.whole(left.whole, right.whole), made.dtype);
  }
  if (row.operands == 1) return -1;
  const TermId first = made.parts[0], second = made.parts[1];
  switch (made.op) {
    case ScalarOp::add:
      return is_number(left, 0) ? second : is_number(right, 0) ? first : -1;
    case ScalarOp::subtract:
      return is_number(right, 0) ? first : -1;
    case ScalarOp::multiply:
      if (!floating && (is_number(left, 0) || is_number(right, 0))) return whole(0, made.dtype);
      return is_number(left, 1) ? second : is_number(right, 1) ? first : -1;
    case ScalarOp::divide:
    case ScalarOp::floor_divide:
      return !floating && is_number(right, 1) ? first : -1;
    case ScalarOp::remainder:
    case ScalarOp::truncated_remainder:
      return !floating && is_number(right, 1) ? whole(0, made.dtype) : -1;
    case ScalarOp::logical_and:
      if (is_number(left, 0) || is_number(right, 0)) return whole(0, Dtype::boolean);
      return is_number(left, 1) || first == second ? second : is_number(right, 1) ? first : -1;
    case ScalarOp::logical_or:
      if (is_number(left, 1) || is_number(right, 1)) return whole(1, Dtype::boolean);
      return is_number(left, 0) || first == second ? second : is_number(right, 0) ? first : -1;
    default:
      return -1;
  }
}

TermId Graph::apply(ScalarOp op, TermId left, TermId right) {
  Term made;
  made.kind = TermKind::operation;
  made.op = op;
  made.dtype = gives_bool(op) ? Dtype::boolean : op == ScalarOp::frexp_exponent ? Dtype::int32 : term(left).dtype;
  made.parts = right < 0 ? TermParts{left} : TermParts{left, right};
  const TermId simpler = folded(made);
  return simpler >= 0 ? simpler : keep(std::move(made));
}

TermId Graph::select(TermId condition, TermId yes, TermId no) {
  if (is_number(term(condition), 1)) return yes;
  if (is_number(term(condition), 0)) return no;
  if (yes == no) return yes;
  Term made;
  made.kind = TermKind::operation;
  made.op = ScalarOp::select;
  made.dtype = term(yes).dtype;
  made.parts = {condition, yes, no};
  return keep(std::move(made));
}

TermId Graph::cast(TermId value, Dtype to) {
  to = computed_as(to);
  const Term& from = term(value);
  if (from.dtype == to) return value;
  // A condition that was made a number to stand among numbers is the condition again.
  if (to == Dtype::boolean && from.kind == TermKind::operation && from.op == ScalarOp::cast &&
      term(from.parts[0]).dtype == Dtype::boolean)
    return from.parts[0];
  if (is_constant(from)) {
    const Scalar made = cast_scalar(scalar_of(from), from.dtype, to);
    return is_floating_point(to) ? real(made.real, to) : whole(made.whole, to);
  }
  Term made;
  made.kind = TermKind::operation;
  made.op = ScalarOp::cast;
  made.dtype = to;
  made.parts = {value};
  return keep(std::move(made));
}

TermId Graph::substitute(TermId body, std::span<const TermId> axes, TermId guard) {
  TermMap done;
  return substituted(body, axes, guard, done);
}

// Parts have smaller numbers, and a body is as deep as its chain of operations: bounded by the limit on terms in
// theory, by the depth of Python's text times the longest lowering in fact.
TermId Graph::substituted(TermId body, std::span<const TermId> axes, TermId guard, TermMap& done) {
  if (beyond_limits_) return 0;
  if (const int* found = done.find(body)) return *found;
  const Term& from = term(body);
  TermId made = body;
  if (from.kind == TermKind::axis) {
    made = from.whole < static_cast<std::int64_t>(axes.size()) ? axes[static_cast<std::size_t>(from.whole)] : body;
  } else if (from.kind == TermKind::load || from.kind == TermKind::operation) {
    TermParts parts;
    for (const TermId part : from.parts) parts.push_back(substituted(part, axes, guard, done));
    if (from.kind == TermKind::load) {
      TermId condition = guard;
      if (from.guarded) {
        condition = guard < 0 ? parts.back() : apply(ScalarOp::logical_and, guard, parts.back());
        parts.pop_back();
      }
      made = load(from.node, parts, condition);
    } else if (parts == from.parts) {
      made = body;
    } else if (from.op == ScalarOp::select) {
      made = select(parts[0], parts[1], parts[2]);
    } else if (from.op == ScalarOp::cast) {
      made = cast(parts[0], from.dtype);
    } else {
      made = apply(from.op, parts[0], parts.size() > 1 ? parts[1] : -1);
    }
  }
  done.add(body, made);
  return made;
}

NodeId Graph::add(Node node) {
  const auto is_broken = [](const Extent& extent) { return extent.broken(); };
  if (nodes_.size() >= limits.nodes || node.shape.size() > limits.rank || node.over.size() > limits.rank ||
      std::any_of(node.shape.begin(), node.shape.end(), is_broken) ||
      std::any_of(node.over.begin(), node.over.end(), is_broken)) {
    beyond_limits_ = true;
    if (!nodes_.empty()) return 0;
  }
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size()) - 1;
}

std::vector<TermId> Graph::terms_of(std::span<const TermId> roots) const {
  std::vector<TermId> found;
  if (roots.empty()) return found;
  found.reserve(64);
  std::vector<bool> seen(static_cast<std::size_t>(*std::max_element(roots.begin(), roots.end())) + 1);
  const auto see = [&](TermId each) {
    if (!seen[static_cast<std::size_t>(each)]) found.push_back(each);
    seen[static_cast<std::size_t>(each)] = true;
  };
  for (const TermId root : roots) see(root);
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const TermId part : term(found[i]).parts) see(part);
  std::sort(found.begin(), found.end());  // a term's parts have smaller numbers
  return found;
}

std::vector<NodeId> Graph::loads_of(TermId body) const {
  std::vector<NodeId> found;
  if (body < 0) return found;
  for (const TermId each : terms_of({&body, 1}))
    if (term(each).kind == TermKind::load) found.push_back(term(each).node);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

TermId identity_of(Graph& graph, Combine combine, Dtype dtype) {
  dtype = computed_as(dtype);
  const bool floating = is_floating_point(dtype);
  const auto number = [&](double value) {
    return floating ? graph.real(value, dtype) : graph.whole(static_cast<std::int64_t>(value), dtype);
  };
  const auto extreme = [&](bool lowest) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (floating) return graph.real(lowest ? -infinity : infinity, dtype);
    using Limits = std::numeric_limits<std::int64_t>;
    if (dtype == Dtype::int64) return graph.whole(lowest ? Limits::min() : Limits::max(), dtype);
    if (dtype == Dtype::int32) return graph.whole(lowest ? INT32_MIN : INT32_MAX, dtype);
    if (dtype == Dtype::int8) return graph.whole(lowest ? -128 : 127, dtype);
    return graph.whole(lowest ? 0 : dtype == Dtype::uint8 ? 255 : 1, dtype);
  };
  switch (combine) {
    case Combine::product:
    case Combine::all:
      return number(1);
    case Combine::maximum:
    case Combine::argmax:
      return extreme(true);
    case Combine::minimum:
    case Combine::argmin:
      return extreme(false);
    default:
      return number(0);
  }
}

std::string_view name_of(Combine combine) {
  switch (combine) {
    case Combine::sum:
      return "sum";
    case Combine::product:
      return "product";
    case Combine::maximum:
      return "maximum";
    case Combine::minimum:
      return "minimum";
    case Combine::any:
      return "any";
    case Combine::all:
      return "all";
    case Combine::argmax:
      return "argmax";
    case Combine::argmin:
      return "argmin";
    case Combine::replace:
      return "replace";
  }
  return "";
}

}  // namespace kw::program
