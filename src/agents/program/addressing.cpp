#include "agents/program/addressing.h"

#include <algorithm>
#include <set>

namespace kw::program {
namespace {

std::vector<TermId> indices_of(const Term& load) {
  return {load.parts.begin(), load.parts.end() - (load.guarded ? 1 : 0)};
}

}  // namespace

TermId Addressing::rebuilt(const Term& from, const std::vector<TermId>& parts) {
  if (from.op == ScalarOp::select) return graph_.select(parts[0], parts[1], parts[2]);
  if (from.op == ScalarOp::cast) return graph_.cast(parts[0], from.dtype);
  return graph_.apply(from.op, parts[0], parts.size() > 1 ? parts[1] : -1);
}

TermId Addressing::resolved(TermId body) {
  std::map<TermId, TermId> done;
  return resolve(body, done);
}

TermId Addressing::resolve(TermId id, std::map<TermId, TermId>& done) {
  if (graph_.beyond_limits()) return 0;
  if (const auto found = done.find(id); found != done.end()) return found->second;
  const Term from = graph_.term(id);
  TermId made = id;
  if (from.kind == TermKind::operation) {
    std::vector<TermId> parts;
    for (const TermId part : from.parts) parts.push_back(resolve(part, done));
    made = rebuilt(from, parts);
  } else if (from.kind == TermKind::load) {
    made = resolve_load(from, done);
  }
  done.emplace(id, made);
  return made;
}

TermId Addressing::resolve_load(const Term& from, std::map<TermId, TermId>& done) {
  const std::vector<TermId> indices = indices_of(from);
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
  std::vector<TermId> parts;
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
  std::set<TermId> seen;
  std::vector<TermId> open = roots;
  for (const TermId root : roots)
    if (const int axis = member(root); axis >= 0) part(axis);
  while (!open.empty()) {
    const TermId at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const Term& term = graph_.term(at);
    const bool memory = term.kind == TermKind::load && own_memory(term.node);
    const std::size_t rank = memory ? indices_of(term).size() : 0;
    for (std::size_t p = 0; p < term.parts.size(); ++p) {
      open.push_back(term.parts[p]);
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
  std::map<TermId, TermId> done;
  return address(body, axes, done);
}

TermId Addressing::address(TermId id, const AxisMap& axes, std::map<TermId, TermId>& done) {
  if (graph_.beyond_limits()) return 0;
  if (const auto found = done.find(id); found != done.end()) return found->second;
  const Term from = graph_.term(id);
  TermId made = id;
  if (from.kind == TermKind::axis) {
    if (const auto other = axes.find(from.whole); other != axes.end()) made = other->second;
  } else if (from.kind == TermKind::operation) {
    std::vector<TermId> parts;
    for (const TermId part : from.parts) parts.push_back(address(part, axes, done));
    made = rebuilt(from, parts);
  } else if (from.kind == TermKind::load) {
    std::vector<TermId> parts;
    for (const TermId index : indices_of(from)) parts.push_back(address(index, axes, done));
    const TermId guard = from.guarded ? address(from.parts.back(), axes, done) : -1;
    if (own_memory(from.node)) {
      const TermId offset = offset_of(graph_.node(from.node), parts);
      parts = offset < 0 ? std::vector<TermId>{} : std::vector<TermId>{offset};
    }
    made = graph_.load(from.node, parts, guard);
  }
  done.emplace(id, made);
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
  std::map<TermId, TermId> done;
  return simplify(body, condition, done);
}

TermId Addressing::simplify(TermId id, TermId condition, std::map<TermId, TermId>& done) {
  if (graph_.beyond_limits()) return 0;
  if (id == condition) return graph_.whole(1, Dtype::boolean);
  if (const auto found = done.find(id); found != done.end()) return found->second;
  const Term from = graph_.term(id);
  TermId made = id;
  if (from.kind == TermKind::operation || from.kind == TermKind::load) {
    std::vector<TermId> parts;
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
  done.emplace(id, made);
  return made;
}

bool Addressing::depends_on(TermId body, std::int64_t place) const {
  std::set<TermId> seen;
  std::vector<TermId> open{body};
  while (!open.empty()) {
    const TermId at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const Term& term = graph_.term(at);
    if (term.kind == TermKind::axis && term.whole == place) return true;
    open.insert(open.end(), term.parts.begin(), term.parts.end());
  }
  return false;
}

TermId Addressing::offset_of(const Node& node, const std::vector<TermId>& indices) {
  const Dtype type = is_large_(elements_of(node.shape)) ? Dtype::int64 : Dtype::int32;
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
