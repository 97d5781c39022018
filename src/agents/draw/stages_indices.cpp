// Places that are data: gather, embedding, one-hot, scatter.

#include <fmt/format.h>

#include <algorithm>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

bool fits_any(const Value& x) { return (x.floating() || x.dtype == Dtype::int32) && x.rank() >= 1 && x.rank() <= 4; }

Value kept(const Value& made, const Value& x) {
  Value result = made;
  result.exact = x.exact;
  result.low = x.low, result.high = x.high;
  return result;
}

Value draw_gather(Draft& draft, const Value& x) {
  const int axis = draft.axis(x);
  Dims dims = x.dims;
  if (draft.chance(0.6)) dims[static_cast<std::size_t>(axis)] = draft.size({"picked", "k", "wanted"}, 2, 12, 14, 60);
  const Value places = draft.indices({"index", "places"}, dims, x.dim(axis));
  const std::string text = draft.chance(0.5)
                               ? fmt::format("torch.gather({}, {}, {})", x.name, draft.axis_text(x, axis), places.name)
                               : fmt::format("{}.gather({}, {})", x.name, draft.axis_text(x, axis), places.name);
  return kept(draft.say(text, dims, x.dtype), x);
}

Value draw_index_select(Draft& draft, const Value& x) {
  const int axis = draft.axis(x);
  Dims dims = x.dims;
  dims[static_cast<std::size_t>(axis)] = draft.size({"picked", "k", "wanted"}, 2, 12, 14, 60);
  const Value places = draft.indices({"index", "order"}, {dims[static_cast<std::size_t>(axis)]}, x.dim(axis));
  const std::string text = axis == 0 && draft.chance(0.5) ? fmt::format("{}[{}]", x.name, places.name)
                                                          : fmt::format("torch.index_select({}, {}, {})", x.name,
                                                                        draft.axis_text(x, axis), places.name);
  return kept(draft.say(text, dims, x.dtype), x);
}

Value start_tokens(Draft& draft) {
  const Dim vocabulary = draft.size({"vocab", "entries"}, 11, 90, 300, 900);
  const Dim width = draft.size({"dim", "width"}, 3, 20, 30, 130);
  Dims dims{draft.size({"batch", "samples"}, 2, 6, 4, 12)};
  if (draft.chance(0.7)) dims.push_back(draft.size({"seq", "length"}, 3, 20, 30, 90));
  const Value table = draft.normal({"table", "weight", "embeddings"}, {vocabulary, width});
  const Value tokens = draft.indices({"tokens", "ids", "index"}, dims, vocabulary);
  const std::string text = draft.chance(0.6) ? fmt::format("F.embedding({}, {})", tokens.name, table.name)
                                             : fmt::format("{}[{}]", table.name, tokens.name);
  dims.push_back(width);
  Value made = draft.say(text, dims, table.dtype);
  made.exact = true;
  made.low = -6, made.high = 6;
  return made;
}

// Positions, segments: a second table is added.
Value draw_embedding(Draft& draft, const Value& x) {
  if (x.rank() == 3 && draft.chance(0.4)) {
    const Value places = draft.normal({"positions", "pos"}, {x.dim(1), x.dim(2)});
    return draft.say(fmt::format("{} + {}", x.name, places.name), x);
  }
  if (draft.chance(0.5)) return draft.say(fmt::format("{} * {}", x.name, draft.constant(0.5, 4)), x);
  return kept(draft.say(fmt::format("torch.clamp({}, -2.0, 2.0)", x.name), x), x);
}

Value start_labels(Draft& draft) {
  return draft.input({"labels", "classes"}, draft.plain_dims(static_cast<int>(draft.between(2, 3))), Dtype::int64,
                     IntegerValues{Expression(0), Expression(6)});
}

Value draw_one_hot(Draft& draft, const Value& x) {
  const std::int64_t classes = draft.between(7, 10);
  Dims dims = x.dims;
  dims.push_back(fixed(classes));
  const bool small = draft.chance(0.5);
  Value made = draft.say(fmt::format("F.one_hot({}, {}){}", x.name, classes, small ? ".to(torch.int32)" : ""), dims,
                         small ? Dtype::int32 : Dtype::int64);
  made.exact = true;
  return made;
}

// Sums of float32 alone: an order of additions that nobody knows loses too much in half types.
bool fits_scatter(const Value& x) { return x.dtype == Dtype::float32 && x.rank() >= 1 && x.rank() <= 3; }

Value start_floats(Draft& draft) {
  draft.dtype = Dtype::float32;
  return draft.normal({"x", "src", "source"}, draft.plain_dims(static_cast<int>(draft.between(1, 3))));
}

Value draw_scatter_add(Draft& draft, const Value& x) {
  const int axis = draft.axis(x);
  Dims dims = x.dims;
  dims[static_cast<std::size_t>(axis)] = draft.size({"slots", "buckets"}, 3, 30, 40, 200);
  const Value into = draft.normal({"base", "into", "totals"}, dims);
  const Value places = draft.indices({"index", "places"}, x.dims, dims[static_cast<std::size_t>(axis)]);
  return draft.say(
      fmt::format("torch.scatter_add({}, {}, {}, {})", into.name, draft.axis_text(x, axis), places.name, x.name), dims,
      x.dtype);
}

Value draw_index_add(Draft& draft, const Value& x) {
  const int axis = draft.axis(x);
  Dims dims = x.dims;
  dims[static_cast<std::size_t>(axis)] = draft.size({"slots", "segments"}, 3, 30, 40, 200);
  const Value into = draft.normal({"base", "into", "totals"}, dims);
  const Value places = draft.indices({"index", "segment"}, {x.dim(axis)}, dims[static_cast<std::size_t>(axis)]);
  return draft.say(
      fmt::format("torch.index_add({}, {}, {}, {})", into.name, draft.axis_text(x, axis), places.name, x.name), dims,
      x.dtype);
}

Value start_counts(Draft& draft) {
  return draft.input({"values", "x"}, draft.plain_dims(static_cast<int>(draft.between(1, 2))), Dtype::int32,
                     IntegerValues{Expression(-99), Expression(99)});
}

// The extreme of whole numbers: exact in any order.
Value draw_scatter_extreme(Draft& draft, const Value& x) {
  const int axis = draft.axis(x);
  Dims dims = x.dims;
  dims[static_cast<std::size_t>(axis)] = draft.size({"slots", "buckets"}, 3, 30, 40, 200);
  const Value into = draft.input({"base", "into"}, dims, Dtype::int32, IntegerValues{Expression(-20), Expression(20)});
  const Value places = draft.indices({"index", "places"}, x.dims, dims[static_cast<std::size_t>(axis)]);
  Value made =
      draft.say(fmt::format("torch.scatter_reduce({}, {}, {}, {}, reduce='{}')", into.name, draft.axis_text(x, axis),
                            places.name, x.name, draft.pick({"amax", "amin", "sum"})),
                dims, x.dtype);
  made.exact = true;
  return made;
}

constexpr Family families[] = {
    {"gather", 2, false, fits_any, draw_gather},
    {"index_select", 2, false, fits_any, draw_index_select},
    {"embedding", 3, false, nullptr, draw_embedding, start_tokens},
    {"one_hot", 1, false, nullptr, draw_one_hot, start_labels},
    {"scatter_add", 2, false, fits_scatter, draw_scatter_add, start_floats},
    {"index_add", 1, false, fits_scatter, draw_index_add, start_floats},
    {"scatter_reduce", 1, false, nullptr, draw_scatter_extreme, start_counts},
};

}  // namespace

std::span<const Family> stages_indices() { return families; }

}  // namespace kw::programs
