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
  };
  return table;
}

}  // namespace kw::program
