#include "agents/program/addressing.h"

#include <algorithm>

namespace kw::program {
namespace {

std::span<const TermId> indices_of(const Term& load) {
  return std::span(load.parts.begin(), load.parts.size()).first(load.parts.size() - (load.guarded ? 1 : 0));
}

}  // namespace

TermId Addressing::rebuilt(const Term& from, const TermParts& parts) {
  if (from.op == ScalarOp::select) return graph_.select(parts[0], parts[1], parts[2]);
  if (from.op == ScalarOp::cast) return graph_.cast(parts[0], from.dtype);
  return graph_.apply(from.op, parts[0], parts.size() > 1 ? parts[1] : -1);
}

TermId Addressing::resolved(TermId body) {
  TermMap done;
  return resolve(body, done);
}

TermId Addressing::resolve(TermId id, TermMap& done) {
  if (graph_.beyond_limits()) return 0;
  if (const int* found = done.find(id)) return *found;
  const Term& from = graph_.term(id);
  TermId made = id;
  if (from.kind == TermKind::operation) {
    TermParts parts;
    for (const TermId part : from.parts) parts.push_back(resolve(part, done));
    if (parts != from.parts) made = rebuilt(from, parts);
  } else if (from.kind == TermKind::load) {
    made = resolve_load(from, done);
  }
  done.add(id, made);
  return made;
}

TermId Addressing::resolve_load(const Term& from, TermMap& done) {
  const std::span<const TermId> indices = indices_of(from);
  const Node& node = graph_.node(from.node);
  if (!own_memory(from.node) && node.kind == NodeKind::map) {
    const TermId guard = from.guarded ? from.parts.back() : -1;
    TermId made = graph_.substitute(node.body, indices, guard);
    if (guard >= 0) {
      const Dtype type = graph_.term(made).dtype;
      made = graph_.select(guard, made, is_floating_point(type) ? graph_.real(0, type) : graph_.whole(0, type));
    }
    return resolve(made, done);
  }
  TermParts parts;
  for (const TermId index : indices) parts.push_back(resolve(index, done));
  return graph_.load(from.node, parts, from.guarded ? resolve(from.parts.back(), done) : -1);
}

JoinedAxes Addressing::joined(const std::vector<TermId>& roots, const std::vector<std::int64_t>& places,
                              Extents shape) {
  std::map<std::int64_t, std::size_t> group;
  for (std::size_t i = 0; i < places.size(); ++i) group[places[i]] = i;
  const auto member = [&](TermId id) -> int {
    const Term& term = graph_.term(id);
    if (term.kind != TermKind::axis) return -1;
    const auto found = group.find(term.whole);
    return found == group.end() ? -1 : static_cast<int>(found->second);
  };
  std::vector<bool> with_next(places.size(), true);
  const auto part = [&](int axis) {  // from its neighbours
    with_next[static_cast<std::size_t>(axis)] = false;
    if (axis > 0) with_next[static_cast<std::size_t>(axis) - 1] = false;
  };
  for (const TermId root : roots)
    if (const int axis = member(root); axis >= 0) part(axis);
  for (const TermId at : graph_.terms_of(roots)) {
    const Term& term = graph_.term(at);
    const bool memory = term.kind == TermKind::load && own_memory(term.node);
    const std::size_t rank = memory ? term.parts.size() - (term.guarded ? 1 : 0) : 0;
    for (std::size_t p = 0; p < term.parts.size(); ++p) {
      const int axis = member(term.parts[p]);
      if (axis < 0) continue;
      if (p >= rank) {
        part(axis);
        continue;
      }
      const auto place = static_cast<std::size_t>(axis);
      if (p + 1 >= rank || member(term.parts[p + 1]) != axis + 1 ||
          !(graph_.node(term.node).shape[p + 1] == shape[place + 1]))
        with_next[place] = false;
      if (axis > 0 && (p == 0 || member(term.parts[p - 1]) != axis - 1)) with_next[place - 1] = false;
    }
  }
  JoinedAxes made{std::move(shape), {}};
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    const Extent product = made.shape[i] * made.shape[i + 1];
    if (!with_next[i] || product.broken() || is_large_(product)) continue;
    made.shape[i + 1] = product;
    made.shape[i] = Extent(1);
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    if (made.shape[i].is(1)) made.axes[places[i]] = graph_.whole(0);
  return made;
}

TermId Addressing::addressed(TermId body, const AxisMap& axes) {
  TermMap done;
  return address(body, axes, done);
}

TermId Addressing::address(TermId id, const AxisMap& axes, TermMap& done) {
  if (graph_.beyond_limits()) return 0;
  if (const int* found = done.find(id)) return *found;
  const Term& from = graph_.term(id);
  TermId made = id;
  if (from.kind == TermKind::axis) {
    if (const auto other = axes.find(from.whole); other != axes.end()) made = other->second;
  } else if (from.kind == TermKind::operation) {
    TermParts parts;
    for (const TermId part : from.parts) parts.push_back(address(part, axes, done));
    if (parts != from.parts) made = rebuilt(from, parts);
  } else if (from.kind == TermKind::load) {
    TermParts parts;
    for (const TermId index : indices_of(from)) parts.push_back(address(index, axes, done));
    const TermId guard = from.guarded ? address(from.parts.back(), axes, done) : -1;
    if (own_memory(from.node)) {
      const TermId offset = offset_of(from.node, parts);
      parts = offset < 0 ? TermParts{} : TermParts{offset};
    }
    made = graph_.load(from.node, parts, guard);
  }
  done.add(id, made);
  return made;
}

TermId Addressing::zero_unless(TermId body) const {
  const Term& term = graph_.term(body);
  if (term.kind == TermKind::load) return term.guarded ? term.parts.back() : -1;
  if (term.kind != TermKind::operation) return -1;
  const auto is_zero = [&](TermId id) {
    const Term& number = graph_.term(id);
    return (number.kind == TermKind::real && number.real == 0) || (number.kind == TermKind::whole && number.whole == 0);
  };
  switch (term.op) {
    case ScalarOp::multiply: {
      const TermId left = zero_unless(term.parts[0]);
      return left >= 0 ? left : zero_unless(term.parts[1]);
    }
    case ScalarOp::negate:
    case ScalarOp::cast:
      return zero_unless(term.parts[0]);
    case ScalarOp::select:
      return is_zero(term.parts[2]) ? term.parts[0] : -1;
    default:
      return -1;
  }
}

TermId Addressing::where_true(TermId body, TermId condition) {
  TermMap done;
  return simplify(body, condition, done);
}

TermId Addressing::simplify(TermId id, TermId condition, TermMap& done) {
  if (graph_.beyond_limits()) return 0;
  if (id == condition) return graph_.whole(1, Dtype::boolean);
  if (const int* found = done.find(id)) return *found;
  const Term& from = graph_.term(id);
  TermId made = id;
  if (from.kind == TermKind::operation || from.kind == TermKind::load) {
    TermParts parts;
    for (const TermId part : from.parts) parts.push_back(simplify(part, condition, done));
    if (from.kind == TermKind::operation) {
      made = rebuilt(from, parts);
    } else {
      const bool open = from.guarded && from.parts.back() == condition;
      const TermId guard = from.guarded && !open ? parts.back() : -1;
      if (from.guarded) parts.pop_back();
      made = graph_.load(from.node, parts, guard);
    }
  }
  done.add(id, made);
  return made;
}

bool Addressing::depends_on(TermId body, std::int64_t place) const {
  const std::vector<TermId> terms = graph_.terms_of({&body, 1});
  return std::any_of(terms.begin(), terms.end(), [&](TermId each) {
    return graph_.term(each).kind == TermKind::axis && graph_.term(each).whole == place;
  });
}

// What counts the elements of a node.
Dtype Addressing::index_type(NodeId id) {
  const auto [found, is_new] = index_types_.try_emplace(id, Dtype::int32);
  if (is_new && is_large_(elements_of(graph_.node(id).shape))) found->second = Dtype::int64;
  return found->second;
}

TermId Addressing::offset_of(NodeId id, const TermParts& indices) {
  const Node& node = graph_.node(id);
  const Dtype type = index_type(id);
  TermId offset = -1;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const TermId index = graph_.cast(indices[i], type);
    if (offset < 0)
      offset = index;
    else
      offset = graph_.apply(ScalarOp::add, graph_.apply(ScalarOp::multiply, offset, graph_.extent(node.shape[i], type)),
                            index);
  }
  return offset;
}

}  // namespace kw::program
