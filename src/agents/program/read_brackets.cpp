// Brackets: entries of lists; indices, slices and index tensors of tensors.

#include <fmt/format.h>

#include <algorithm>

#include "agents/program/program_reader.h"

namespace kw::program {

using Kind = Value::Kind;

Value ProgramReader::subscript(const PythonNode& node) {
  const Value object = evaluate(node.parts[0]);
  if (to_.failed()) return {};
  if (object.is(Kind::list)) return entry_of(object, node);
  if (!object.is(Kind::tensor)) return refuse("brackets behind what is no tensor", node.line);
  const PythonNode& inside = python_.nodes[static_cast<std::size_t>(node.parts[1])];
  std::vector<int> entries = inside.kind == PythonKind::tuple ? inside.parts : std::vector<int>{node.parts[1]};
  to_.operation = "index";
  NodeId x = object.node;
  int axis = 0;
  std::vector<std::pair<int, NodeId>> gathered;  // axes that tensors index
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const PythonNode& entry = python_.nodes[static_cast<std::size_t>(entries[e])];
    if (entry.kind == PythonKind::name && entry.text == "...") {
      int used = 0;  // by the entries behind it
      for (std::size_t k = e + 1; k < entries.size(); ++k) {
        const PythonNode& other = python_.nodes[static_cast<std::size_t>(entries[k])];
        if (!(other.kind == PythonKind::constant && other.text == "None")) ++used;
      }
      axis = to_.rank(x) - used;
      continue;
    }
    if (entry.kind == PythonKind::slice) {
      if (axis >= to_.rank(x)) return refuse("more indices than dimensions", node.line);
      x = slice(x, axis++, entry);
    } else {
      const Value value = evaluate(entries[e]);
      to_.operation = "index";
      if (to_.failed()) return {};
      if (value.is(Kind::none)) {
        x = to_.unsqueeze(x, axis++);
      } else if (axis >= to_.rank(x) || axis < 0) {
        return refuse("more indices than dimensions", node.line);
      } else if (value.is(Kind::whole)) {
        Extent place = value.whole;
        if (place.constant().value_or(0) < 0) place = place + to_.shape(x)[static_cast<std::size_t>(axis)];
        x = selected(x, axis, place);
      } else if (value.is(Kind::tensor) && to_.dtype(value.node) != Dtype::boolean &&
                 !is_floating_point(to_.dtype(value.node))) {
        gathered.emplace_back(axis++, value.node);
      } else {
        return refuse("an index of this kind", node.line);
      }
    }
    if (to_.failed()) return {};
  }
  return gathered.empty() ? Value::of(x) : gather(x, gathered, node.line);
}

NodeId ProgramReader::selected(NodeId x, int axis, const Extent& place) {
  Extents shape = to_.shape(x);
  shape.erase(shape.begin() + axis);
  return to_.map(to_.dtype(x), shape, [&](Axes at) {
    at.insert(at.begin() + axis, to_.size(place));
    return to_.graph.load(x, at);
  });
}

Value ProgramReader::entry_of(const Value& list, const PythonNode& node) {
  const PythonNode& inside = python_.nodes[static_cast<std::size_t>(node.parts[1])];
  const auto count = static_cast<std::int64_t>(list.items.size());
  if (inside.kind == PythonKind::slice) {
    std::int64_t ends[2] = {0, count};
    for (std::size_t i = 0; i < 2; ++i) {
      if (inside.parts[i] < 0) continue;
      const std::int64_t given = to_.constant_whole(evaluate(inside.parts[i]), "index");
      ends[i] = std::clamp<std::int64_t>(given < 0 ? given + count : given, 0, count);
    }
    if (to_.failed() || inside.parts[2] >= 0) return refuse("a slice of a list", node.line);
    return Value::of_list({list.items.begin() + ends[0], list.items.begin() + std::max(ends[0], ends[1])});
  }
  std::int64_t place = to_.constant_whole(evaluate(node.parts[1]), "index");
  if (place < 0) place += count;
  if (to_.failed() || place < 0 || place >= count) return refuse("an index beyond the end of a list", node.line);
  return list.items[static_cast<std::size_t>(place)];
}

NodeId ProgramReader::slice(NodeId x, int axis, const PythonNode& node) {
  const Extent extent = to_.shape(x)[static_cast<std::size_t>(axis)];
  const auto end_of = [&](int part, const Extent& otherwise) {
    if (part < 0) return otherwise;
    const Value value = evaluate(part);
    if (value.is(Kind::none)) return otherwise;
    Extent given = to_.whole(value, "index");
    if (given.constant() ? *given.constant() < 0 : to_.at_most(given, Extent(-1))) given = given + extent;
    if (to_.at_most(given, extent)) return given;
    if (to_.at_most(extent, given)) return extent;
    to_.fail("a slice whose end depends on sizes");
    return otherwise;
  };
  const Extent begin = end_of(node.parts[0], Extent(0)), end = end_of(node.parts[1], extent);
  const std::int64_t step = node.parts[2] < 0 ? 1 : to_.constant_whole(evaluate(node.parts[2]), "step");
  if (step < 1) to_.fail("a slice with such a step");
  if (to_.failed()) return 0;
  if (begin.is(0) && end == extent && step == 1) return x;
  const Extent length = quotient(end - begin + Extent(step - 1), step);
  if (!to_.at_most(Extent(1), length)) to_.fail(fmt::format("a slice of {} elements", length.text()));
  to_.operation = "slice";
  return to_.narrow(x, axis, begin, length, step);
}

// Index tensors of neighbouring axes, broadcast together, take the place of those axes. A negative index counts from
// the end.
Value ProgramReader::gather(NodeId x, const std::vector<std::pair<int, NodeId>>& gathered, int line) {
  for (std::size_t i = 1; i < gathered.size(); ++i)
    if (gathered[i].first != gathered[i - 1].first + 1) return refuse("index tensors that are apart", line);
  Extents together;
  for (const auto& [axis, index] : gathered) together = to_.broadcast(together, to_.shape(index));
  const int first = gathered[0].first;
  const Extents from = to_.shape(x);
  Extents made(from.begin(), from.begin() + first);
  made.insert(made.end(), together.begin(), together.end());
  made.insert(made.end(), from.begin() + first + static_cast<int>(gathered.size()), from.end());
  if (to_.failed()) return {};
  return Value::of(to_.map(to_.dtype(x), made, [&](const Axes& at) {
    const auto begin = at.begin() + first;
    const Axes inner(begin, begin + static_cast<std::ptrdiff_t>(together.size()));
    Axes place(at.begin(), begin);
    for (const auto& [axis, index] : gathered) {
      const TermId raw = to_.graph.cast(to_.read(index, inner), Dtype::int32);
      const TermId wrapped = to_.add(raw, to_.size(from[static_cast<std::size_t>(axis)]));
      place.push_back(to_.graph.select(to_.less(raw, to_.index(0)), wrapped, raw));
    }
    place.insert(place.end(), begin + static_cast<std::ptrdiff_t>(together.size()), at.end());
    return to_.graph.load(x, place);
  }));
}

}  // namespace kw::program
