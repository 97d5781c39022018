// Parts of tensors: joined, cut out, padded and taken apart. Maps with other indices, too.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "agents/program/lowering.h"

namespace kw::program {
namespace {

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

std::span<const Operation> part_operations() {
  static const std::vector<Operation> table{
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
