// Index maps: the same elements in other places. And resampling.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

Value moved(const Value& made, const Value& x) {
  Value result = made;
  result.exact = x.exact;
  result.low = x.low, result.high = x.high;
  return result;
}

bool fits_any(const Value& x) { return x.rank() >= 1 && x.rank() <= 5; }
bool fits_matrix(const Value& x) { return x.rank() >= 2 && x.rank() <= 5; }
bool fits_number(const Value& x) { return fits_any(x) && x.dtype != Dtype::boolean; }

Value draw_permute(Draft& draft, const Value& x) {
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  if (x.rank() == 2 || draft.chance(0.4)) {
    const int one = draft.axis(x);
    int other = draft.axis(x);
    if (one == other) other = (one + 1) % x.rank();
    std::swap(order[static_cast<std::size_t>(one)], order[static_cast<std::size_t>(other)]);
    Dims dims;
    for (const int each : order) dims.push_back(x.dim(each));
    const std::string text =
        fmt::format("{}.transpose({}, {})", x.name, draft.axis_text(x, one), draft.axis_text(x, other));
    return moved(draft.say(text + (draft.chance(0.3) ? ".contiguous()" : ""), dims, x.dtype), x);
  }
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[static_cast<std::size_t>(draft.between(0, static_cast<std::int64_t>(i)))]);
  Dims dims;
  for (const int each : order) dims.push_back(x.dim(each));
  return moved(draft.say(fmt::format("{}.permute({})", x.name, fmt::join(order, ", ")), dims, x.dtype), x);
}

Value draw_flip(Draft& draft, const Value& x) {
  return moved(draft.say(fmt::format("torch.flip({}, [{}])", x.name, draft.axis_text(x, draft.axis(x))), x), x);
}

Value draw_roll(Draft& draft, const Value& x) {
  const std::int64_t by = draft.between(1, 3) * (draft.chance(0.5) ? 1 : -1);
  return moved(draft.say(fmt::format("torch.roll({}, {}, {})", x.name, by, draft.axis_text(x, draft.axis(x))), x), x);
}

Value draw_pad(Draft& draft, const Value& x) {
  Dims dims = x.dims;
  const auto axes = x.rank() >= 2 && draft.chance(0.5) ? 2 : 1;
  std::vector<std::int64_t> amounts;
  for (int i = 0; i < axes; ++i) {
    amounts.push_back(draft.between(0, 3));
    amounts.push_back(draft.between(1, 3));
    Dim& dim = dims[dims.size() - 1 - static_cast<std::size_t>(i)];
    dim = plus(dim, amounts[amounts.size() - 2] + amounts.back());
  }
  std::string rest;
  if (x.floating() && draft.chance(0.4)) rest = fmt::format(", value={}", draft.constant(-1, 1));
  Value made = draft.say(fmt::format("F.pad({}, [{}]{})", x.name, fmt::join(amounts, ", "), rest), dims, x.dtype);
  made = moved(made, x);
  made.low = std::min(made.low, -1.0), made.high = std::max(made.high, 1.0);
  return made;
}

// Mirrored or repeated edges.
Value draw_edge_pad(Draft& draft, const Value& x) {
  Dims dims = x.dims;
  std::vector<std::int64_t> amounts;
  for (int i = 0; i < x.rank() - 2; ++i) {
    amounts.push_back(draft.between(0, 2));
    amounts.push_back(draft.between(1, 2));
    Dim& dim = dims[dims.size() - 1 - static_cast<std::size_t>(i)];
    dim = plus(dim, amounts[amounts.size() - 2] + amounts.back());
  }
  return moved(draft.say(fmt::format("F.pad({}, [{}], mode='{}')", x.name, fmt::join(amounts, ", "),
                                     draft.pick({"reflect", "replicate"})),
                         dims, x.dtype),
               x);
}

bool fits_edges(const Value& x) {
  return x.floating() && (x.rank() == 3 || x.rank() == 4) && x.dim(-1).least() >= 3 && x.dim(-2).least() >= 3;
}

Value draw_cat(Draft& draft, const Value& x) {
  const int axis = draft.axis(x);
  const auto place = static_cast<std::size_t>(axis);
  Dims dims = x.dims;
  if (draft.chance(0.4)) {
    dims[place] = times(fixed(2), dims[place]);
    // Not of x and -x: a later sum of them would be 0 but for rounding.
    const std::string factor = x.floating() ? draft.constant(0.2, 0.8) : "2";
    Value made = draft.say(
        fmt::format("torch.cat([{0}, {0} * {1}], dim={2})", x.name, factor, draft.axis_text(x, axis)), dims, x.dtype);
    made.exact = !x.floating();
    made.low = std::min(x.low, 0.0), made.high = std::max(x.high, 0.0);
    return made;
  }
  const Value other =
      x.floating() ? draft.normal({"b", "other", "more"}, x.dims)
                   : draft.input({"b", "other", "more"}, x.dims, x.dtype, IntegerValues{Expression(-5), Expression(5)});
  dims[place] = times(fixed(2), dims[place]);
  Value made = draft.say(fmt::format("torch.cat([{}, {}], dim={})", x.name, other.name, draft.axis_text(x, axis)), dims,
                         x.dtype);
  made.exact = x.exact;
  made.low = std::min(x.low, -6.0), made.high = std::max(x.high, 6.0);
  return made;
}

Value draw_stack(Draft& draft, const Value& x) {
  const Value other = draft.normal({"b", "other"}, x.dims);
  const auto axis = static_cast<std::size_t>(draft.between(0, x.rank()));
  Dims dims = x.dims;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), fixed(2));
  Value made = draft.say(fmt::format("torch.stack([{}, {}], dim={})", x.name, other.name, axis), dims, x.dtype);
  made.exact = x.exact;
  made.low = std::min(x.low, -6.0), made.high = std::max(x.high, 6.0);
  return made;
}

Value draw_slice(Draft& draft, const Value& x) {
  const int axis = draft.axis(x);
  const auto place = static_cast<std::size_t>(axis);
  Dims dims = x.dims;
  std::string text = x.name + "[";
  for (int i = 0; i < axis; ++i) text += ":, ";
  if (draft.chance(0.35)) {
    dims[place] = over(plus(dims[place], 1), 2);
    text += "::2]";
  } else {
    const std::int64_t from = draft.between(0, 1);
    dims[place] = plus(dims[place], -from - 1);
    text += from == 0 ? ":-1]" : "1:-1]";
  }
  return moved(draft.say(text, dims, x.dtype), x);
}

bool fits_slice(const Value& x) {
  return fits_any(x) && std::all_of(x.dims.begin(), x.dims.end(), [](const Dim& dim) { return dim.least() >= 3; });
}

Value draw_repeat(Draft& draft, const Value& x) {
  const int axis = draft.axis(x);
  const auto place = static_cast<std::size_t>(axis);
  Dims dims = x.dims;
  const std::int64_t count = draft.between(2, 3);
  dims[place] = times(fixed(count), dims[place]);
  if (draft.chance(0.5))
    return moved(
        draft.say(fmt::format("torch.repeat_interleave({}, {}, dim={})", x.name, count, draft.axis_text(x, axis)), dims,
                  x.dtype),
        x);
  std::vector<std::int64_t> times_each(dims.size(), 1);
  times_each[place] = count;
  return moved(draft.say(fmt::format("{}.repeat({})", x.name, fmt::join(times_each, ", ")), dims, x.dtype), x);
}

Value draw_triangle(Draft& draft, const Value& x) {
  Value made = draft.say(
      fmt::format("torch.{}({}, diagonal={})", draft.pick({"tril", "triu"}), x.name, draft.between(-1, 1)), x);
  made = moved(made, x);
  made.low = std::min(x.low, 0.0), made.high = std::max(x.high, 0.0);
  return made;
}

Value draw_flatten(Draft& draft, const Value& x) {
  Dims dims = x.dims;
  if (x.rank() >= 3 && draft.chance(0.5)) {
    const Dim last = times(dims[dims.size() - 2], dims.back());
    dims.pop_back();
    dims.back() = last;
    return moved(draft.say(fmt::format("{}.flatten(-2)", x.name), dims, x.dtype), x);
  }
  const Dim first = times(dims[0], dims[1]);
  dims.erase(dims.begin());
  dims[0] = first;
  return moved(draft.say(fmt::format("{}.flatten(0, 1)", x.name), dims, x.dtype), x);
}

Value draw_squares(Draft& draft, const Value& x) {
  const std::int64_t size = draft.between(2, 3);
  Dims dims = x.dims;
  dims.back() = plus(dims.back(), 1 - size);
  dims.push_back(fixed(size));
  return moved(draft.say(fmt::format("{}.unfold(-1, {}, 1)", x.name, size), dims, x.dtype), x);
}

bool fits_unfold(const Value& x) { return x.rank() >= 1 && x.rank() <= 3 && x.dims.back().least() >= 4; }

Value start_shuffle(Draft& draft) { return draft.normal({"x", "image"}, draft.image_dims(2, 4 * draft.between(1, 3))); }

Value draw_shuffle(Draft& draft, const Value& x) {
  const Dims dims{x.dims[0], fixed(x.dims[1].at[0] / 4), times(fixed(2), x.dims[2]), times(fixed(2), x.dims[3])};
  return moved(draft.say(fmt::format("F.pixel_shuffle({}, 2)", x.name), dims, x.dtype), x);
}

bool fits_image(const Value& x) {
  return x.dtype == Dtype::float32 && x.rank() == 4 && x.dims[2].least() >= 2 && x.dims[3].least() >= 2;
}

Value start_image(Draft& draft) {
  draft.dtype = Dtype::float32;
  return draft.normal({"x", "image"}, draft.image_dims(2, draft.between(1, 6)));
}

// Twice as large by nearest neighbours, or points half-way between neighbours. By hand: TorchScript, which references
// are run by, has no F.interpolate.
Value draw_resample(Draft& draft, const Value& x) {
  Dims dims = x.dims;
  if (draft.chance(0.5)) {
    const std::int64_t by = draft.between(2, 3);
    dims[2] = times(fixed(by), dims[2]);
    dims[3] = times(fixed(by), dims[3]);
    return moved(
        draft.say(fmt::format("{}.repeat_interleave({}, 2).repeat_interleave({}, 3)", x.name, by, by), dims, x.dtype),
        x);
  }
  dims[3] = plus(dims[3], -1);
  const std::string left = draft.constant(0.2, 0.8);
  Value made = draft.say(fmt::format("{0}[..., :-1] * {1} + {0}[..., 1:] * (1 - {1})", x.name, left), dims, x.dtype);
  made.low = x.low, made.high = x.high;
  return made;
}

constexpr Family families[] = {
    {"permute", 3, false, fits_matrix, draw_permute},
    {"flip", 1, false, fits_any, draw_flip},
    {"roll", 1, false, [](const Value& x) { return fits_slice(x); }, draw_roll},
    {"pad", 2, false, fits_number, draw_pad},
    {"edge_pad", 1, false, fits_edges, draw_edge_pad},
    {"cat", 2, false, fits_number, draw_cat},
    {"stack", 1, false, [](const Value& x) { return x.floating() && x.rank() >= 1 && x.rank() <= 4; }, draw_stack},
    {"slice", 2, false, fits_slice, draw_slice},
    {"repeat", 1, false, fits_any, draw_repeat},
    {"triangle", 1, false, [](const Value& x) { return fits_matrix(x) && x.dtype != Dtype::boolean; }, draw_triangle},
    {"flatten", 1, false, [](const Value& x) { return x.rank() >= 3 && x.rank() <= 5; }, draw_flatten},
    {"unfold", 1, false, fits_unfold, draw_squares},
    {"pixel_shuffle", 1, false, nullptr, draw_shuffle, start_shuffle},
    {"resample", 1, false, fits_image, draw_resample, start_image},
};

}  // namespace

std::span<const Family> stages_movement() { return families; }

}  // namespace kw::programs
