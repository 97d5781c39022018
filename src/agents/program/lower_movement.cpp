// Operations that only move elements: each is a map whose loads have other indices.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "agents/program/lowering.h"

namespace kw::program {

// Axes of both shapes are taken in groups whose extents have equal products, so that `[b, s, 4 * d]` as `[b, s, 4, d]`
// costs a division of the last index alone.
NodeId Lowering::reshape(NodeId value, const Extents& to) {
  if (failed()) return 0;
  const Extents from = shape(value);
  if (!same(elements_of(from), elements_of(to))) {
    fail(fmt::format("`{}` from {} to {} elements", operation, elements_of(from).text(), elements_of(to).text()));
    return 0;
  }
  return map(dtype(value), to, [&](const Axes& at) {
    Axes indices(from.size(), index(0));
    std::size_t a = 0, b = 0;
    while (a < from.size() || b < to.size()) {
      std::size_t a_end = a, b_end = b;
      Extent left(1), right(1);
      if (a_end < from.size()) left = from[a_end++];
      if (b_end < to.size()) right = to[b_end++];
      while (!same(left, right) && (a_end < from.size() || b_end < to.size())) {
        const bool grow_left = b_end == to.size() || (a_end < from.size() && at_most(left, right));
        if (grow_left)
          left = left * from[a_end++];
        else
          right = right * to[b_end++];
      }
      if (a_end == a + 1 && b_end == b + 1) {
        indices[a] = at[b];
      } else {
        TermId flat = index(0);
        for (std::size_t i = b; i < b_end; ++i) flat = add(multiply(flat, size(to[i])), at[i]);
        for (std::size_t i = a_end; i-- > a;) {
          indices[i] = i == a ? flat : graph.apply(ScalarOp::truncated_remainder, flat, size(from[i]));
          flat = graph.apply(ScalarOp::divide, flat, size(from[i]));
        }
      }
      a = a_end;
      b = b_end;
    }
    return read(value, indices);
  });
}

NodeId Lowering::permute(NodeId value, const std::vector<int>& order) {
  if (failed()) return 0;
  const Extents from = shape(value);
  Extents to;
  for (const int place : order) to.push_back(from[static_cast<std::size_t>(place)]);
  return map(dtype(value), to, [&](const Axes& at) {
    Axes indices(from.size(), index(0));
    for (std::size_t i = 0; i < order.size(); ++i) indices[static_cast<std::size_t>(order[i])] = at[i];
    return read(value, indices);
  });
}

NodeId Lowering::transpose(NodeId value, int one, int other) {
  if (failed()) return 0;
  std::vector<int> order(static_cast<std::size_t>(rank(value)));
  std::iota(order.begin(), order.end(), 0);
  if (order.empty()) return value;
  std::swap(order[static_cast<std::size_t>(one)], order[static_cast<std::size_t>(other)]);
  return permute(value, order);
}

NodeId Lowering::unsqueeze(NodeId value, int axis) {
  if (failed()) return 0;
  Extents to = shape(value);
  to.insert(to.begin() + axis, Extent(1));
  return map(dtype(value), to, [&](Axes at) {
    at.erase(at.begin() + axis);
    return read(value, at);
  });
}

NodeId Lowering::squeeze(NodeId value, int axis) {
  if (failed()) return 0;
  Extents to = shape(value);
  if (to.empty() || !is_one(to[static_cast<std::size_t>(axis)])) return value;
  to.erase(to.begin() + axis);
  return map(dtype(value), to, [&](Axes at) {
    at.insert(at.begin() + axis, index(0));
    return read(value, at);
  });
}

NodeId Lowering::expand(NodeId value, const Extents& to) {
  if (failed()) return 0;
  return map(dtype(value), to, [&](const Axes& at) { return read(value, at); });
}

NodeId Lowering::narrow(NodeId value, int axis, const Extent& begin, const Extent& length, std::int64_t step) {
  if (failed()) return 0;
  Extents to = shape(value);
  to[static_cast<std::size_t>(axis)] = length;
  return map(dtype(value), to, [&](Axes at) {
    TermId& place = at[static_cast<std::size_t>(axis)];
    place = add(multiply(place, index(step)), size(begin));
    // The extent may be 1 where the sliced tensor's is not: no broadcasting here.
    return graph.load(value, at);
  });
}

namespace {

Value same_value(Lowering& to, const Arguments& a) { return Value::of(to.tensor(a["input"])); }

Value lower_reshape(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  Extents wanted = to.wholes(a["shape"], "shape");
  const auto open = std::find_if(wanted.begin(), wanted.end(), [](const Extent& each) { return each.is(-1); });
  if (open != wanted.end()) {
    *open = Extent(1);
    *open = quotient(elements_of(to.shape(x)), elements_of(wanted));
  }
  return Value::of(to.reshape(x, wanted));
}

Value lower_flatten(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const int rank = to.rank(x);
  const int first = to.axis(a["start_dim"], rank, "start_dim"), last = to.axis(a["end_dim"], rank, "end_dim");
  if (rank == 0) return Value::of(to.reshape(x, {Extent(1)}));
  const Extents from = to.shape(x);
  Extents wanted(from.begin(), from.begin() + first);
  Extent middle(1);
  for (int i = first; i <= last; ++i) middle = middle * from[static_cast<std::size_t>(i)];
  wanted.push_back(middle);
  wanted.insert(wanted.end(), from.begin() + last + 1, from.end());
  return Value::of(to.reshape(x, wanted));
}

Value lower_unflatten(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const auto axis = static_cast<std::size_t>(to.axis(a["dim"], to.rank(x)));
  Extents wanted = to.shape(x);
  std::vector<Extent> parts = to.wholes(a["sizes"], "sizes");
  const auto open = std::find_if(parts.begin(), parts.end(), [](const Extent& each) { return each.is(-1); });
  if (open != parts.end()) {
    *open = Extent(1);
    *open = quotient(wanted[axis], elements_of(parts));
  }
  wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(axis));
  wanted.insert(wanted.begin() + static_cast<std::ptrdiff_t>(axis), parts.begin(), parts.end());
  return Value::of(to.reshape(x, wanted));
}

Value lower_permute(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  std::vector<int> order;
  Value dims = a["dims"];
  if (dims.items.size() == 1 && dims.items[0].is(Value::Kind::list)) dims = dims.items[0];
  for (const Value& each : dims.items) order.push_back(to.axis(each, to.rank(x), "dims"));
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int>(i)) to.fail("`permute` that does not name each axis once");
  if (static_cast<int>(order.size()) != to.rank(x)) to.fail("`permute` that does not name each axis once");
  return Value::of(to.permute(x, order));
}

Value lower_transpose(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const int one = to.axis(a["dim0"], to.rank(x), "dim0"), other = to.axis(a["dim1"], to.rank(x), "dim1");
  return Value::of(to.failed() ? 0 : to.transpose(x, one, other));
}

Value lower_t(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const int rank = to.rank(x);
  if (rank < 2) return Value::of(x);
  if (rank > 2 && a.function != "mT") to.fail("`t` of more than two dimensions");
  return Value::of(to.transpose(x, rank - 2, rank - 1));
}

Value lower_movedim(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const int from = to.axis(a["source"], to.rank(x), "source"),
            goal = to.axis(a["destination"], to.rank(x), "destination");
  std::vector<int> order(static_cast<std::size_t>(to.rank(x)));
  std::iota(order.begin(), order.end(), 0);
  if (to.failed() || order.empty()) return Value::of(x);
  order.erase(order.begin() + from);
  order.insert(order.begin() + goal, from);
  return Value::of(to.permute(x, order));
}

Value lower_unsqueeze(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  return Value::of(to.unsqueeze(x, to.axis(a["dim"], to.rank(x) + 1)));
}

Value lower_squeeze(Lowering& to, const Arguments& a) {
  NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const std::vector<int> axes = to.axes(a["dim"], to.rank(x));
  for (auto each = axes.rbegin(); each != axes.rend() && !to.failed(); ++each) x = to.squeeze(x, *each);
  return Value::of(x);
}

Value lower_expand(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  Extents wanted;
  if (a.function == "expand_as") {
    wanted = to.shape(to.tensor(a["sizes"].items.empty() ? Value{} : a["sizes"].items[0], "other"));
  } else {
    wanted = to.wholes(a["sizes"], "sizes");
  }
  const Extents& from = to.shape(x);
  if (wanted.size() < from.size()) to.fail("`expand` to fewer dimensions");
  for (std::size_t i = 0; i < wanted.size() && !to.failed(); ++i)
    if (wanted[i].is(-1) && i + from.size() >= wanted.size()) wanted[i] = from[i + from.size() - wanted.size()];
  to.broadcast(from, wanted);
  return Value::of(to.expand(x, wanted));
}

Value lower_repeat(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  std::vector<Extent> times = to.wholes(a["sizes"], "sizes");
  Extents from = to.shape(x);
  while (times.size() < from.size()) times.insert(times.begin(), Extent(1));
  while (from.size() < times.size()) from.insert(from.begin(), Extent(1));
  Extents wanted;
  for (std::size_t i = 0; i < from.size(); ++i) wanted.push_back(from[i] * times[i]);
  return Value::of(to.map(to.dtype(x), wanted, [&](Axes at) {
    for (std::size_t i = 0; i < at.size(); ++i)
      if (!times[i].is(1)) at[i] = to.graph.apply(ScalarOp::truncated_remainder, at[i], to.size(from[i]));
    return to.read(x, at);
  }));
}

Value lower_repeat_interleave(Lowering& to, const Arguments& a) {
  NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const Extent times = to.whole(a["repeats"], "repeats");
  if (!a.has("dim")) x = to.reshape(x, {elements_of(to.shape(x))});
  if (to.failed()) return {};
  const auto axis = static_cast<std::size_t>(a.has("dim") ? to.axis(a["dim"], to.rank(x)) : 0);
  Extents wanted = to.shape(x);
  wanted[axis] = wanted[axis] * times;
  return Value::of(to.map(to.dtype(x), wanted, [&](Axes at) {
    at[axis] = to.graph.apply(ScalarOp::divide, at[axis], to.size(times));
    return to.read(x, at);
  }));
}

Value lower_flip(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  Value dims = a["dims"];
  if (dims.items.size() == 1 && dims.items[0].is(Value::Kind::list)) dims = dims.items[0];
  if (a.function == "fliplr") dims = Value::of_whole(1);
  if (a.function == "flipud") dims = Value::of_whole(0);
  const std::vector<int> axes = to.axes(dims, to.rank(x), "dims");
  const Extents from = to.shape(x);
  return Value::of(to.map(to.dtype(x), from, [&](Axes at) {
    for (const int each : axes) {
      const auto i = static_cast<std::size_t>(each);
      at[i] = to.subtract(to.size(from[i] - Extent(1)), at[i]);
    }
    return to.read(x, at);
  }));
}

Value lower_roll(Lowering& to, const Arguments& a) {
  NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const Extents original = to.shape(x);
  const bool flat = !a.has("dims");
  if (flat) x = to.reshape(x, {elements_of(original)});
  if (to.failed()) return {};
  std::vector<Extent> shifts = to.wholes(a["shifts"], "shifts");
  const std::vector<std::int64_t> dims =
      flat ? std::vector<std::int64_t>{0} : to.constants(a["dims"], shifts.size(), "dims");
  const Extents from = to.shape(x);
  const NodeId made = to.map(to.dtype(x), from, [&](Axes at) {
    for (std::size_t k = 0; k < shifts.size() && !to.failed(); ++k) {
      const auto i = static_cast<std::size_t>(to.axis(Value::of_whole(dims[k]), to.rank(x), "dims"));
      at[i] = to.graph.apply(ScalarOp::remainder, to.subtract(at[i], to.size(shifts[k])), to.size(from[i]));
    }
    return to.read(x, at);
  });
  return Value::of(flat ? to.reshape(made, original) : made);
}

Value lower_cat(Lowering& to, const Arguments& a) {
  std::vector<NodeId> parts;
  std::vector<Value> together;
  if (!a["tensors"].is(Value::Kind::list)) to.fail("`cat` of what is no list");
  for (const Value& each : a["tensors"].items) {
    parts.push_back(to.tensor(each, "tensors"));
    together.push_back(Value::of(parts.back()));
  }
  if (parts.empty()) to.fail("`cat` of nothing");
  if (to.failed()) return {};
  const bool stack = a.function == "stack";
  const int rank = to.rank(parts[0]) + (stack ? 1 : 0);
  const int axis = to.axis(a["dim"], rank);
  const Dtype dtype = to.promoted(together);
  if (stack)
    for (NodeId& part : parts) part = to.unsqueeze(part, axis);
  if (to.failed()) return {};
  const auto place = static_cast<std::size_t>(axis);
  Extents wanted = to.shape(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Extents& own = to.shape(parts[i]);
    if (own.size() != wanted.size()) {
      to.fail("`cat` of tensors of different ranks");
      return {};
    }
    wanted[place] = wanted[place] + own[place];
  }
  return Value::of(to.map(dtype, wanted, [&](const Axes& at) {
    // From the last to the first: `i < end of the first ? first : i < end of the second ? second : ...`.
    Extent begin(0);
    std::vector<std::pair<TermId, TermId>> pieces;  // the value, and whether the index lies before the end of it
    for (const NodeId part : parts) {
      const Extent end = begin + to.shape(part)[place];
      Axes own = at;
      own[place] = to.subtract(at[place], to.size(begin));
      TermId guard = -1;
      if (parts.size() > 1) guard = to.less(at[place], to.size(end));
      if (!begin.is(0)) guard = to.both(guard, to.graph.apply(ScalarOp::less_equal, to.size(begin), at[place]));
      const TermId value = to.graph.load(part, own, guard);
      pieces.emplace_back(to.graph.cast(value, dtype), to.less(at[place], to.size(end)));
      begin = end;
    }
    TermId made = pieces.back().first;
    for (std::size_t i = pieces.size() - 1; i-- > 0;) made = to.graph.select(pieces[i].second, pieces[i].first, made);
    return made;
  }));
}

Value lower_split(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const int axis = to.axis(a["dim"], to.rank(x));
  if (to.failed() || to.rank(x) == 0) return {};
  const Extent whole = to.shape(x)[static_cast<std::size_t>(axis)];
  std::vector<Extent> lengths;
  constexpr std::int64_t most = 256;
  if (a["size"].is(Value::Kind::list)) {
    lengths = to.wholes(a["size"], "split_size");
  } else if (a.function == "chunk") {
    const std::int64_t count = to.constant_whole(a["size"], "chunks");
    if (count < 1 || count > most) to.fail("`chunk` into so many pieces");
    const Extent each = quotient(whole + Extent(count - 1), Extent(count));
    // The last piece is shorter where it does not come out even.
    for (std::int64_t i = 0; i < count && !to.failed(); ++i)
      lengths.push_back(to.same(each * Extent(count), whole) ? quotient(whole, Extent(count))
                        : i + 1 < count                      ? each
                                                             : whole - each * Extent(count - 1));
  } else {
    const Extent each = to.whole(a["size"], "split_size");
    const auto count = to.known(quotient(whole + each - Extent(1), each));
    if (!count || *count < 1 || *count > most) {
      to.fail("`split` into a number of pieces that depends on sizes");
      return {};
    }
    for (std::int64_t i = 0; i < *count; ++i)
      lengths.push_back(i + 1 < *count ? each : whole - each * Extent(*count - 1));
  }
  Extent begin(0);
  std::vector<Value> made;
  for (const Extent& length : lengths) {
    if (to.failed() || !to.at_most(Extent(1), length)) {
      to.fail(fmt::format("`{}` with a piece of {} elements", to.operation, length.text()));
      return {};
    }
    made.push_back(Value::of(to.narrow(x, axis, begin, length)));
    begin = begin + length;
  }
  return Value::of_list(std::move(made));
}

Value lower_unbind(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const int axis = to.axis(a["dim"], to.rank(x));
  const auto count =
      to.failed() || to.rank(x) == 0 ? std::nullopt : to.known(to.shape(x)[static_cast<std::size_t>(axis)]);
  if (!count || *count > 256) {
    to.fail("`unbind` into a number of pieces that depends on sizes");
    return {};
  }
  std::vector<Value> made;
  for (std::int64_t i = 0; i < *count; ++i) made.push_back(Value::of(to.squeeze(to.narrow(x, axis, i, 1), axis)));
  return Value::of_list(std::move(made));
}

Value lower_narrow(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const int axis = to.axis(a["dim"], to.rank(x));
  if (to.failed() || to.rank(x) == 0) return {};
  const Extent extent = to.shape(x)[static_cast<std::size_t>(axis)];
  Extent begin = to.whole(a["start"], "start");
  if (begin.constant().value_or(0) < 0) begin = begin + extent;
  if (a.function == "select") {
    const NodeId one = to.narrow(x, axis, begin, 1);
    return Value::of(to.squeeze(one, axis));
  }
  Extent length = to.whole(a["length"], "length");
  if (a.function == "slice") length = length - begin;
  return Value::of(to.narrow(x, axis, begin, length));
}

Value lower_pad(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  const std::vector<Extent> pad = to.wholes(a["pad"], "pad");
  const std::string mode = to.text(a["mode"], "mode");
  if (to.failed()) return {};
  const Extents from = to.shape(x);
  if (pad.size() % 2 != 0 || pad.size() / 2 > from.size()) to.fail("`pad` with such a number of entries");
  if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular")
    to.fail(fmt::format("`pad` with the mode {}", mode));
  if (to.failed()) return {};
  Extents wanted = from;
  for (std::size_t k = 0; k < pad.size() / 2; ++k) {
    Extent& extent = wanted[from.size() - 1 - k];
    extent = extent + pad[2 * k] + pad[2 * k + 1];
  }
  const Dtype dtype = to.dtype(x);
  return Value::of(to.map(dtype, wanted, [&](Axes at) {
    TermId inside = -1;
    for (std::size_t k = 0; k < pad.size() / 2; ++k) {
      const std::size_t i = from.size() - 1 - k;
      if (pad[2 * k].is(0) && pad[2 * k + 1].is(0)) continue;
      at[i] = to.subtract(at[i], to.size(pad[2 * k]));
      const TermId extent = to.size(from[i]), last = to.size(from[i] - Extent(1));
      if (mode == "constant") {
        inside = to.both(inside, to.within(at[i], from[i]));
      } else if (mode == "replicate") {
        at[i] = to.graph.apply(ScalarOp::minimum, to.graph.apply(ScalarOp::maximum, at[i], to.index(0)), last);
      } else if (mode == "circular") {
        at[i] = to.graph.apply(ScalarOp::remainder, at[i], extent);
      } else {
        const TermId right = to.graph.apply(ScalarOp::absolute, at[i]);
        at[i] = to.graph.apply(ScalarOp::minimum, right, to.subtract(to.multiply(to.index(2), last), right));
      }
    }
    const TermId value = to.graph.load(x, at, inside);
    const TermId fill = to.number_term(a["value"].is(Value::Kind::none) ? Value::of_whole(0) : a["value"], dtype);
    return inside < 0 ? value : to.graph.select(inside, value, fill);
  }));
}

Value lower_triangle(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  const Extent diagonal = to.whole(a["diagonal"], "diagonal");
  if (to.failed() || to.rank(x) < 2) {
    to.fail(fmt::format("`{}` of less than two dimensions", to.operation));
    return {};
  }
  const bool lower = a.function == "tril";
  return Value::of(to.map(to.dtype(x), to.shape(x), [&](const Axes& at) {
    const TermId shifted = to.add(at[at.size() - 2], to.size(diagonal));
    const TermId column = at.back();
    const TermId inside = to.graph.apply(ScalarOp::less_equal, lower ? column : shifted, lower ? shifted : column);
    const TermId value = to.read(x, at);
    return to.graph.select(inside, value, to.number(0, to.graph.term(value).dtype));
  }));
}

Value lower_diagonal(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  const std::int64_t offset = to.constant_whole(a["offset"], "offset");
  if (to.failed()) return {};
  const Extents from = to.shape(x);
  if (from.size() == 1 && a.function == "diag") {
    const Extent side = from[0] + Extent(offset < 0 ? -offset : offset);
    return Value::of(to.map(to.dtype(x), {side, side}, [&](const Axes& at) {
      const TermId on = to.graph.apply(ScalarOp::equal, to.subtract(at[1], at[0]), to.index(offset));
      const TermId value = to.graph.load(x, {offset >= 0 ? at[0] : at[1]}, on);
      return to.graph.select(on, value, to.number(0, to.graph.term(value).dtype));
    }));
  }
  const int one = to.axis(a["dim1"], to.rank(x), "dim1"), other = to.axis(a["dim2"], to.rank(x), "dim2");
  if (to.failed() || one == other || from.size() < 2) {
    to.fail("`diagonal` of less than two dimensions");
    return {};
  }
  const Extent rows = from[static_cast<std::size_t>(one)] - Extent(offset < 0 ? -offset : 0);
  const Extent cols = from[static_cast<std::size_t>(other)] - Extent(offset > 0 ? offset : 0);
  Extents wanted;
  for (int i = 0; i < to.rank(x); ++i)
    if (i != one && i != other) wanted.push_back(from[static_cast<std::size_t>(i)]);
  wanted.push_back(to.at_most(rows, cols) ? rows : cols);
  return Value::of(to.map(to.dtype(x), wanted, [&](const Axes& at) {
    Axes indices;
    std::size_t next = 0;
    for (int i = 0; i < to.rank(x); ++i) {
      const std::int64_t shift = i == one ? (offset < 0 ? -offset : 0) : (offset > 0 ? offset : 0);
      indices.push_back(i == one || i == other ? to.add(at.back(), to.index(shift)) : at[next++]);
    }
    return to.read(x, indices);
  }));
}

// [..., n, ...] to [..., windows, ..., length].
Value lower_unfold_axis(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const auto axis = static_cast<std::size_t>(to.axis(a["dimension"], to.rank(x), "dimension"));
  const std::int64_t step = to.constant_whole(a["step"], "step");
  const Extent length = to.whole(a["size"], "size");
  if (to.failed() || step < 1 || to.rank(x) == 0) return {};
  Extents wanted = to.shape(x);
  wanted[axis] = quotient(wanted[axis] - length, step) + Extent(1);
  wanted.push_back(length);
  return Value::of(to.map(to.dtype(x), wanted, [&](Axes at) {
    const TermId inner = at.back();
    at.pop_back();
    at[axis] = to.add(to.multiply(at[axis], to.index(step)), inner);
    return to.read(x, at);
  }));
}

Value lower_pixel_shuffle(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  const std::int64_t r = to.constant_whole(a["factor"], "factor");
  if (to.failed() || to.rank(x) < 3 || r < 1) {
    to.fail(fmt::format("`{}` of less than three dimensions", to.operation));
    return {};
  }
  const bool up = a.function == "pixel_shuffle";
  Extents wanted = to.shape(x);
  const std::size_t c = wanted.size() - 3;
  const Extent by(r);
  wanted[c] = up ? quotient(wanted[c], by * by) : wanted[c] * by * by;
  for (const std::size_t i : {c + 1, c + 2}) wanted[i] = up ? wanted[i] * by : quotient(wanted[i], by);
  return Value::of(to.map(to.dtype(x), wanted, [&](Axes at) {
    const TermId k = to.index(r);
    const auto rest = [&](TermId t) { return to.graph.apply(ScalarOp::truncated_remainder, t, k); };
    if (up) {
      at[c] = to.add(to.multiply(to.add(to.multiply(at[c], k), rest(at[c + 1])), k), rest(at[c + 2]));
      at[c + 1] = to.divide(at[c + 1], k);
      at[c + 2] = to.divide(at[c + 2], k);
    } else {
      const TermId column = rest(at[c]), row = rest(to.divide(at[c], k));
      at[c] = to.divide(at[c], to.index(r * r));
      at[c + 1] = to.add(to.multiply(at[c + 1], k), row);
      at[c + 2] = to.add(to.multiply(at[c + 2], k), column);
    }
    return to.graph.load(x, at);
  }));
}

}  // namespace

std::span<const Operation> movement_operations() {
  static const std::vector<Operation> table{
      {"contiguous clone detach alias lift_fresh_copy", "input, memory_format=None", same_value},
      {"dropout alpha_dropout feature_alpha_dropout dropout1d dropout2d dropout3d",
       "input, p=0.5, training=False, inplace=False",
       [](Lowering& to, const Arguments& a) {
         if (to.flag(a["training"], "training")) to.fail("`dropout` in training, which draws random numbers");
         return same_value(to, a);
       }},
      {"reshape view", "input, *shape", lower_reshape},
      {"view_as reshape_as", "input, other",
       [](Lowering& to, const Arguments& a) {
         const NodeId x = to.tensor(a["input"]), other = to.tensor(a["other"]);
         return Value::of(to.failed() ? 0 : to.reshape(x, to.shape(other)));
       }},
      {"flatten", "input, start_dim=0, end_dim=-1", lower_flatten},
      {"ravel", "input, start_dim=0, end_dim=-1", lower_flatten},
      {"unflatten", "input, dim, sizes", lower_unflatten},
      {"permute", "input, *dims", lower_permute},
      {"transpose swapaxes swapdims", "input, dim0, dim1", lower_transpose},
      {"t mT numpy_T adjoint", "input", lower_t},
      {"movedim moveaxis", "input, source, destination", lower_movedim},
      {"unsqueeze", "input, dim", lower_unsqueeze},
      {"squeeze", "input, dim=None", lower_squeeze},
      {"expand expand_as broadcast_to", "input, *sizes", lower_expand},
      {"repeat tile", "input, *sizes", lower_repeat},
      {"repeat_interleave", "input, repeats, dim=None, output_size=None", lower_repeat_interleave},
      {"flip fliplr flipud", "input, *dims", lower_flip},
      {"roll", "input, shifts, dims=None", lower_roll},
      {"cat concat concatenate stack", "tensors, dim=0", lower_cat},
      {"chunk", "input, size, dim=0", lower_split},
      {"split split_with_sizes", "input, size, dim=0", lower_split},
      {"unbind", "input, dim=0", lower_unbind},
      {"narrow", "input, dim, start, length", lower_narrow},
      {"slice", "input, dim, start, length", lower_narrow},
      {"select", "input, dim, start, length=None", lower_narrow},
      {"pad", "input, pad, mode='constant', value=None", lower_pad},
      {"tril triu", "input, diagonal=0", lower_triangle},
      {"diagonal diag", "input, offset=0, dim1=0, dim2=1", lower_diagonal},
      {"unfold", "input, dimension, size, step", lower_unfold_axis},
      {"pixel_shuffle pixel_unshuffle", "input, factor", lower_pixel_shuffle},
  };
  return table;
}

}  // namespace kw::program
