#include "agents/program/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "agents/program/python_text.h"

namespace kw::program {

Value Value::of(NodeId node) {
  Value made;
  made.kind = Kind::tensor;
  made.node = node;
  return made;
}
Value Value::of_whole(Extent whole) {
  Value made;
  made.kind = Kind::whole;
  made.whole = std::move(whole);
  return made;
}
Value Value::of_bool(bool value) {
  Value made;
  made.kind = Kind::boolean;
  made.boolean = value;
  return made;
}
Value Value::of_list(std::vector<Value> items) {
  Value made;
  made.kind = Kind::list;
  made.items = std::move(items);
  return made;
}

const Value& Arguments::operator[](std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  KW_CHECK(found != names.end());
  return values[static_cast<std::size_t>(found - names.begin())];
}

Error not_understood(std::string_view what, int line) {
  const std::string where = line > 0 ? fmt::format(" (line {})", line) : "";
  return {fmt::format("the program uses {}, which is not understood{}", what, where), "", {"", line, 0}};
}

Lowering::Lowering(const Task& task, Graph& made) : graph(made) {
  constexpr std::size_t enough = 16;
  sizes_ = task.all_sizes();
  if (sizes_.size() > enough) sizes_.resize(enough);
}

void Lowering::fail(const std::string& what) {
  if (!error_) error_ = not_understood(what, line);
}

Error Lowering::error() const {
  if (error_) return *error_;
  return {fmt::format("the program is too large for a graph of {} terms and {} tensors of at most {} dimensions",
                      graph.limits.terms, graph.limits.nodes, graph.limits.rank),
          "",
          {}};
}

bool Lowering::same(const Extent& left, const Extent& right) const {
  if (left == right) return true;
  if (sizes_.empty() || (left.constant() && right.constant())) return false;
  return std::all_of(sizes_.begin(), sizes_.end(), [&](const Sizes& sizes) {
    const auto one = left.evaluate(sizes), other = right.evaluate(sizes);
    return one.ok() && other.ok() && *one == *other;
  });
}

bool Lowering::at_most(const Extent& left, const Extent& right) const {
  const auto known_left = left.constant(), known_right = right.constant();
  if (known_left && known_right) return *known_left <= *known_right;
  return std::all_of(sizes_.begin(), sizes_.end(), [&](const Sizes& sizes) {
    const auto one = left.evaluate(sizes), other = right.evaluate(sizes);
    return one.ok() && other.ok() && *one <= *other;
  });
}

std::optional<std::int64_t> Lowering::known(const Extent& extent) const {
  if (const auto constant = extent.constant()) return constant;
  if (sizes_.empty()) return std::nullopt;
  const auto value = extent.evaluate(sizes_[0]);
  return value.ok() && same(extent, Extent(*value)) ? std::optional(*value) : std::nullopt;
}

NodeId Lowering::map(Dtype dtype, const Extents& shape, const Body& body) {
  if (failed()) return 0;
  Node node;
  node.dtype = dtype;
  node.shape = shape;
  node.operation = operation;
  node.line = line;
  Axes at;
  for (std::size_t i = 0; i < shape.size(); ++i)
    at.push_back(is_one(shape[i]) ? index(0) : graph.axis(static_cast<int>(i)));
  node.body = graph.cast(body(at), dtype);
  return graph.add(std::move(node));
}

NodeId Lowering::reduce(Combine combine, Dtype dtype, const Extents& shape, const Extents& over,
                        const ReduceBody& body) {
  if (failed()) return 0;
  Node node;
  node.kind = NodeKind::reduce;
  node.combine = combine;
  node.dtype = dtype;
  node.shape = shape;
  node.over = over;
  node.operation = operation;
  node.line = line;
  Axes at, inner;
  int place = 0;
  for (const Extent& extent : shape) at.push_back(is_one(extent) ? index(0) : graph.axis(place)), ++place;
  for (const Extent& extent : over) inner.push_back(is_one(extent) ? index(0) : graph.axis(place)), ++place;
  const TermId made = body(at, inner);
  node.body = combine == Combine::argmax || combine == Combine::argmin ? made : graph.cast(made, dtype);
  return graph.add(std::move(node));
}

NodeId Lowering::constant(Dtype dtype, const Extents& shape, double value) {
  return map(dtype, shape, [&](const Axes&) { return number(value, dtype); });
}

TermId Lowering::read(NodeId node, const Axes& at, TermId guard) {
  if (failed()) return index(0);
  const Extents& own = shape(node);
  if (at.size() < own.size()) {
    fail("an index with too few places");
    return index(0);
  }
  Axes indices(at.end() - static_cast<std::ptrdiff_t>(own.size()), at.end());
  for (std::size_t i = 0; i < own.size(); ++i)
    if (is_one(own[i])) indices[i] = index(0);
  return graph.load(node, indices, guard);
}

Extents Lowering::broadcast(const Extents& left, const Extents& right) {
  const Extents& longer = left.size() >= right.size() ? left : right;
  const Extents& shorter = left.size() >= right.size() ? right : left;
  Extents made = longer;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Extent& one = made[longer.size() - shorter.size() + i];
    const Extent& other = shorter[i];
    if (is_one(one))
      one = other;
    else if (!is_one(other) && !same(one, other))
      fail(fmt::format("`{}` of the extents {} and {}", operation, one.text(), other.text()));
  }
  return made;
}

TermId Lowering::number(double value, Dtype dtype) {
  dtype = computed_as(dtype);
  return is_floating_point(dtype) ? graph.real(value, dtype) : graph.whole(static_cast<std::int64_t>(value), dtype);
}

TermId Lowering::both(TermId left, TermId right) {
  if (left < 0) return right;
  return right < 0 ? left : graph.apply(ScalarOp::logical_and, left, right);
}

TermId Lowering::within(TermId at, const Extent& extent) {
  return both(graph.apply(ScalarOp::less_equal, index(0), at), less(at, size(extent)));
}

TermId Lowering::host_real(TermId real, Dtype dtype) {
  const Term from = graph.term(real);
  dtype = computed_as(dtype);
  if (from.kind == TermKind::real) return number(from.real, dtype);
  if (from.kind != TermKind::operation || !is_floating_point(from.dtype)) return graph.cast(real, dtype);
  if (from.op == ScalarOp::cast) return graph.cast(from.parts[0], dtype);
  const TermId left = host_real(from.parts[0], dtype);
  return graph.apply(from.op, left, from.parts.size() > 1 ? host_real(from.parts[1], dtype) : -1);
}

TermId Lowering::number_term(const Value& value, Dtype dtype) {
  dtype = computed_as(dtype);
  if (value.is(Value::Kind::boolean)) return number(value.boolean ? 1 : 0, dtype);
  if (value.is(Value::Kind::whole)) {
    if (const auto constant = value.whole.constant()) {
      return is_floating_point(dtype) ? number(static_cast<double>(*constant), dtype) : graph.whole(*constant, dtype);
    }
    return graph.extent(value.whole, dtype);
  }
  if (!value.is(Value::Kind::real)) {
    fail(fmt::format("`{}` of what is no number", operation));
    return index(0);
  }
  return is_floating_point(dtype) ? host_real(value.real, dtype) : graph.cast(value.real, dtype);
}

std::optional<Dtype> promote(Dtype left, Dtype right) {
  if (left == right) return left;
  const auto class_of = [](Dtype dtype) { return is_floating_point(dtype) ? 2 : dtype == Dtype::boolean ? 0 : 1; };
  if (class_of(left) != class_of(right)) return class_of(left) > class_of(right) ? left : right;
  if (class_of(left) == 2) {
    if (left == Dtype::float64 || right == Dtype::float64) return Dtype::float64;
    return Dtype::float32;  // also of the two half types
  }
  for (const Dtype wide : {Dtype::int64, Dtype::int32})
    if (left == wide || right == wide) return wide;
  return std::nullopt;  // int8 and uint8: int16
}

Dtype Lowering::promoted(const std::vector<Value>& values) {
  // PyTorch's three ranks: tensors with dimensions, tensors without, Python's numbers. A lower rank only counts where
  // it is of a higher class.
  std::array<std::optional<Dtype>, 3> found;
  for (const Value& value : values) {
    std::size_t rank_of = 2;
    Dtype own = Dtype::int64;
    if (value.is(Value::Kind::tensor)) {
      rank_of = rank(value.node) > 0 ? 0 : 1;
      own = dtype(value.node);
    } else if (value.is(Value::Kind::real)) {
      own = Dtype::float32;
    } else if (value.is(Value::Kind::boolean)) {
      own = Dtype::boolean;
    } else if (!value.is(Value::Kind::whole)) {
      continue;
    }
    const auto together = found[rank_of] ? promote(*found[rank_of], own) : own;
    if (!together) fail(fmt::format("`{}` of int8 and uint8", operation));
    found[rank_of] = together.value_or(own);
  }
  const auto combined = [&](std::optional<Dtype> high, std::optional<Dtype> low) -> std::optional<Dtype> {
    if (!high) return low;
    if (!low || is_floating_point(*high)) return high;
    if (*high == Dtype::boolean || is_floating_point(*low)) return promote(*high, *low);
    return high;
  };
  const auto made = combined(combined(found[0], found[1]), found[2]);
  return made.value_or(Dtype::float32);
}

NodeId Lowering::elements(const std::vector<Value>& operands, const Element& body, std::optional<Dtype> computed,
                          std::optional<Dtype> result) {
  if (failed()) return 0;
  const Dtype type = computed ? *computed : promoted(operands);
  Extents together;
  for (const Value& value : operands)
    if (value.is(Value::Kind::tensor)) together = broadcast(together, shape(value.node));
  if (failed()) return 0;
  std::vector<TermId> terms;
  Axes at;
  for (std::size_t i = 0; i < together.size(); ++i)
    at.push_back(is_one(together[i]) ? index(0) : graph.axis(static_cast<int>(i)));
  for (const Value& value : operands)
    terms.push_back(value.is(Value::Kind::tensor) ? graph.cast(read(value.node, at), type) : number_term(value, type));
  if (failed()) return 0;
  const TermId made = body(terms);
  const Dtype own = graph.term(made).dtype;
  // A body of the computed type has the operands' type: half types are computed as float32.
  const Dtype given = result ? *result : own == computed_as(type) ? type : own;
  return map(given, together, [&](const Axes&) { return made; });
}

NodeId Lowering::elements(const std::vector<NodeId>& operands, const Element& body, std::optional<Dtype> computed,
                          std::optional<Dtype> result) {
  std::vector<Value> values;
  for (const NodeId node : operands) values.push_back(Value::of(node));
  return elements(values, body, computed, result);
}

NodeId Lowering::unary(ScalarOp op, NodeId value) {
  return elements(std::vector<NodeId>{value}, [&](const auto& x) { return graph.apply(op, x[0]); });
}

NodeId Lowering::binary(ScalarOp op, const Value& left, const Value& right) {
  return elements(std::vector<Value>{left, right}, [&](const auto& x) { return graph.apply(op, x[0], x[1]); });
}

NodeId Lowering::with(ScalarOp op, NodeId left, double right) {
  return elements(std::vector<NodeId>{left},
                  [&](const auto& x) { return graph.apply(op, x[0], number(right, graph.term(x[0]).dtype)); });
}

NodeId Lowering::cast(NodeId value, Dtype to) {
  if (failed() || dtype(value) == to) return value;
  return elements(std::vector<NodeId>{value}, [&](const auto& x) { return graph.cast(x[0], to); }, dtype(value), to);
}

NodeId Lowering::floating(NodeId value) {
  return failed() || is_floating_point(dtype(value)) ? value : cast(value, Dtype::float32);
}

Extent Lowering::elements_along(NodeId value, const std::vector<int>& axes) const {
  Extent made(1);
  for (const int each : axes) made = made * shape(value)[static_cast<std::size_t>(each)];
  return made;
}

NodeId Lowering::reduce_axes(Combine combine, NodeId value, const std::vector<int>& axes, bool keep,
                             std::optional<Dtype> result) {
  if (failed()) return 0;
  const Extents from = shape(value);
  Extents made, over;
  std::vector<int> place_of(from.size());  // in the result, or, from -1 downwards, among those reduced over
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end();
    if (reduced) {
      over.push_back(from[i]);
      place_of[i] = -static_cast<int>(over.size());
      if (keep) made.emplace_back(1);
    } else {
      place_of[i] = static_cast<int>(made.size());
      made.push_back(from[i]);
    }
  }
  return reduce(combine, result.value_or(dtype(value)), made, over, [&](const Axes& at, const Axes& inner) {
    Axes indices;
    for (const int place : place_of)
      indices.push_back(place >= 0 ? at[static_cast<std::size_t>(place)] : inner[static_cast<std::size_t>(-place - 1)]);
    const TermId element = read(value, indices);
    const bool place_wanted = combine == Combine::argmax || combine == Combine::argmin;
    return place_wanted ? element : graph.cast(element, result.value_or(dtype(value)));
  });
}

NodeId Lowering::mean_axes(NodeId value, const std::vector<int>& axes, bool keep) {
  const NodeId sum = reduce_axes(Combine::sum, value, axes, keep);
  if (failed()) return 0;
  const Extent count = elements_along(value, axes);
  return elements(std::vector<NodeId>{sum}, [&](const auto& x) {
    return divide(x[0], number_term(Value::of_whole(count), graph.term(x[0]).dtype));
  });
}

NodeId Lowering::softmax(NodeId value, int axis) {
  value = floating(value);
  const NodeId top = reduce_axes(Combine::maximum, value, {axis}, true);
  const NodeId shifted = unary(ScalarOp::exp, binary(ScalarOp::subtract, value, top));
  return binary(ScalarOp::divide, shifted, reduce_axes(Combine::sum, shifted, {axis}, true));
}

NodeId Lowering::log_softmax(NodeId value, int axis) {
  value = floating(value);
  const NodeId top = reduce_axes(Combine::maximum, value, {axis}, true);
  const NodeId shifted = binary(ScalarOp::subtract, value, top);
  const NodeId total = reduce_axes(Combine::sum, unary(ScalarOp::exp, shifted), {axis}, true);
  return binary(ScalarOp::subtract, shifted, unary(ScalarOp::log, total));
}

}  // namespace kw::program
