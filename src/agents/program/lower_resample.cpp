// Reading between elements: interpolate and grid_sample.

#include <fmt/format.h>

#include <cmath>

#include "agents/program/lowering.h"

namespace kw::program {
namespace {

// Where an output index lies in the input: the two neighbours and how far it is from the first.
struct Between {
  TermId low = -1, high = -1, part = -1;
};

TermId limited(Lowering& to, TermId index, const Extent& extent) {
  const TermId last = to.size(extent - Extent(1));
  return to.graph.apply(ScalarOp::minimum, to.graph.apply(ScalarOp::maximum, index, to.index(0)), last);
}

struct Resize {
  Extents from, made;
  std::vector<std::optional<double>> factors;  // of each spatial axis, where they were given
  std::string mode;
  bool corners = false;
};

TermId scale_of(Lowering& to, const Resize& resize, std::size_t i) {
  if (resize.corners) {
    const TermId up = to.graph.cast(to.size(resize.from[i + 2] - Extent(1)), Dtype::float32);
    const TermId down = to.graph.cast(to.size(resize.made[i + 2] - Extent(1)), Dtype::float32);
    return to.is_one(resize.made[i + 2]) ? to.graph.real(0) : to.divide(up, down);
  }
  if (resize.factors[i]) return to.graph.real(1 / *resize.factors[i]);
  return to.divide(to.graph.cast(to.size(resize.from[i + 2]), Dtype::float32),
                   to.graph.cast(to.size(resize.made[i + 2]), Dtype::float32));
}

Between linear_place(Lowering& to, const Resize& resize, std::size_t i, TermId at) {
  const TermId index = to.graph.cast(at, Dtype::float32), scale = scale_of(to, resize, i);
  TermId place = to.multiply(index, scale);
  if (!resize.corners) {
    place = to.plus(to.multiply(to.plus(index, 0.5), scale), -0.5);
    place = to.graph.apply(ScalarOp::maximum, place, to.graph.real(0));
  }
  Between made;
  const TermId floor = to.graph.apply(ScalarOp::floor, place);
  made.low = limited(to, to.graph.cast(floor, Dtype::int32), resize.from[i + 2]);
  made.high = limited(to, to.plus(made.low, 1), resize.from[i + 2]);
  made.part = to.subtract(place, floor);
  return made;
}

TermId nearest_place(Lowering& to, const Resize& resize, std::size_t i, TermId at) {
  const Extent times = quotient(resize.made[i + 2], resize.from[i + 2]);
  const bool whole = to.same(times * resize.from[i + 2], resize.made[i + 2]);
  if (whole && resize.mode == "nearest") return to.divide(at, to.size(times));
  const TermId index = to.graph.cast(at, Dtype::float32);
  const TermId place = to.multiply(resize.mode == "nearest" ? index : to.plus(index, 0.5), scale_of(to, resize, i));
  return limited(to, to.graph.cast(to.graph.apply(ScalarOp::floor, place), Dtype::int32), resize.from[i + 2]);
}

// The sum over all corners of the product of their shares; `axis` goes through the spatial axes.
TermId blend(Lowering& to, const std::vector<Between>& places, std::size_t axis, Axes& at,
             const std::function<TermId()>& value) {
  if (axis == places.size()) return value();
  const Between& between = places[axis];
  at[axis + 2] = between.low;
  const TermId low = blend(to, places, axis + 1, at, value);
  at[axis + 2] = between.high;
  const TermId high = blend(to, places, axis + 1, at, value);
  const Dtype type = to.graph.term(low).dtype;
  const TermId part = to.graph.cast(between.part, type);
  return to.add(to.multiply(low, to.subtract(to.number(1, type), part)), to.multiply(high, part));
}

Value lower_interpolate(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  Resize resize;
  resize.mode = to.text(a["mode"], "mode");
  resize.corners = to.flag(a["align_corners"], "align_corners");
  if (to.failed() || to.rank(x) < 3) {
    to.fail("`interpolate` of less than three dimensions");
    return {};
  }
  if (to.flag(a["antialias"], "antialias")) to.fail("`interpolate` with `antialias`");
  const bool nearest = resize.mode == "nearest" || resize.mode == "nearest-exact";
  if (!nearest && resize.mode != "linear" && resize.mode != "bilinear" && resize.mode != "trilinear")
    to.fail(fmt::format("`interpolate` with the mode {}", resize.mode));
  resize.from = to.shape(x);
  const std::size_t spatial = resize.from.size() - 2;
  resize.made = {resize.from[0], resize.from[1]};
  resize.factors.resize(spatial);
  if (a.has("size")) {
    std::vector<Extent> sizes = to.wholes(a["size"], "size");
    if (sizes.size() == 1) sizes.resize(spatial, sizes[0]);
    resize.made.insert(resize.made.end(), sizes.begin(), sizes.end());
  } else {
    std::vector<Value> factors =
        a["scale_factor"].is(Value::Kind::list) ? a["scale_factor"].items : std::vector<Value>(1, a["scale_factor"]);
    if (factors.size() == 1) factors.resize(spatial, factors[0]);
    for (std::size_t i = 0; i < spatial && i < factors.size() && !to.failed(); ++i) {
      const double factor = to.constant_real(factors[i], "scale_factor");
      const auto by = static_cast<std::int64_t>(std::llround(factor)),
                 down = static_cast<std::int64_t>(std::llround(1 / factor));
      if (by >= 1 && static_cast<double>(by) == factor)
        resize.made.push_back(resize.from[i + 2] * Extent(by));
      else if (down >= 1 && 1 / static_cast<double>(down) == factor)
        resize.made.push_back(quotient(resize.from[i + 2], down));
      else if (const auto fixed = to.known(resize.from[i + 2]))
        resize.made.emplace_back(static_cast<std::int64_t>(std::floor(static_cast<double>(*fixed) * factor)));
      else
        to.fail(fmt::format("`interpolate` by the factor {}", factor));
      resize.factors[i] = factor;
    }
  }
  if (resize.made.size() != resize.from.size()) to.fail("`interpolate` with such a size");
  if (to.failed()) return {};
  return Value::of(to.map(to.dtype(x), resize.made, [&](const Axes& at) {
    Axes place = at;
    if (nearest) {
      for (std::size_t i = 0; i < spatial; ++i) place[i + 2] = nearest_place(to, resize, i, at[i + 2]);
      return to.graph.load(x, place);
    }
    std::vector<Between> places;
    for (std::size_t i = 0; i < spatial; ++i) places.push_back(linear_place(to, resize, i, at[i + 2]));
    return blend(to, places, 0, place, [&] { return to.graph.load(x, place); });
  }));
}

Value lower_grid_sample(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), grid = to.tensor(a["grid"], "grid");
  const std::string mode = to.text(a["mode"], "mode"), padding = to.text(a["padding_mode"], "padding_mode");
  const bool corners = to.flag(a["align_corners"], "align_corners");
  if (to.failed() || to.rank(x) != 4 || to.rank(grid) != 4) {
    to.fail("`grid_sample` of other than four dimensions");
    return {};
  }
  if (mode != "bilinear" && mode != "nearest") to.fail(fmt::format("`grid_sample` with the mode {}", mode));
  if (padding != "zeros" && padding != "border") to.fail(fmt::format("`grid_sample` with the padding {}", padding));
  const Extents from = to.shape(x), points = to.shape(grid);
  const Dtype type = computed_as(to.dtype(x));
  return Value::of(to.map(to.dtype(x), {from[0], from[1], points[1], points[2]}, [&](const Axes& at) {
    const auto place_of = [&](std::size_t axis) {  // 2: rows, which is the grid's second number
      const TermId given = to.graph.cast(to.graph.load(grid, {at[0], at[2], at[3], to.index(axis == 2 ? 1 : 0)}), type);
      const TermId extent = to.graph.cast(to.size(from[axis]), type);
      TermId place = corners ? to.multiply(to.times(to.plus(given, 1), 0.5), to.plus(extent, -1))
                             : to.times(to.plus(to.multiply(to.plus(given, 1), extent), -1), 0.5);
      if (padding == "border")
        place = to.graph.apply(ScalarOp::minimum, to.graph.apply(ScalarOp::maximum, place, to.number(0, type)),
                               to.plus(extent, -1));
      return place;
    };
    const TermId y = place_of(2), across = place_of(3);
    const auto element = [&](TermId row, TermId column) {
      const TermId inside = to.both(to.within(row, from[2]), to.within(column, from[3]));
      return to.graph.load(x, {at[0], at[1], row, column}, inside);
    };
    const auto whole = [&](ScalarOp op, TermId t) { return to.graph.cast(to.graph.apply(op, t), Dtype::int32); };
    if (mode == "nearest") return element(whole(ScalarOp::round, y), whole(ScalarOp::round, across));
    const TermId top = whole(ScalarOp::floor, y), left = whole(ScalarOp::floor, across);
    const TermId down = to.subtract(y, to.graph.apply(ScalarOp::floor, y));
    const TermId right = to.subtract(across, to.graph.apply(ScalarOp::floor, across));
    const auto mixed = [&](TermId one, TermId other, TermId part) {
      return to.add(to.multiply(one, to.subtract(to.number(1, type), part)), to.multiply(other, part));
    };
    const TermId below = to.plus(top, 1), beside = to.plus(left, 1);
    return mixed(mixed(element(top, left), element(top, beside), right),
                 mixed(element(below, left), element(below, beside), right), down);
  }));
}

}  // namespace

std::span<const Operation> resample_operations() {
  static const std::vector<Operation> table{
      {"interpolate upsample",
       "input, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, "
       "antialias=False",
       lower_interpolate},
      {"grid_sample", "input, grid, mode='bilinear', padding_mode='zeros', align_corners=None", lower_grid_sample},
  };
  return table;
}

}  // namespace kw::program
