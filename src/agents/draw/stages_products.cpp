// Contractions: matrix products in all layouts, batches of them, sums over any indices.

#include <fmt/format.h>

#include <algorithm>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

constexpr std::int64_t longest_sum = 400;

bool short_sum(const Dim& dim) {
  return *std::max_element(dim.at.begin(), dim.at.end()) <= longest_sum && dim.least() >= 2;
}

Dim width(Draft& draft) { return draft.size({"out_features", "hidden", "units", "k"}, 3, 24, 40, 140); }

Dims with_last(const Value& x, const Dim& last) {
  Dims dims = x.dims;
  dims.back() = last;
  return dims;
}

Value start_rows(Draft& draft) {
  const int rank = draft.chance(0.7) ? 2 : 3;
  Dims dims = draft.plain_dims(rank);
  return draft.normal({"x", "a", "input"}, dims);
}

bool fits_rows(const Value& x) { return x.floating() && x.rank() >= 2 && x.rank() <= 4 && short_sum(x.dims.back()); }

Value draw_linear(Draft& draft, const Value& x) {
  const Dim out = width(draft);
  if (draft.chance(0.5)) {
    const Value weight = draft.normal({"weight", "w"}, {out, x.dims.back()});
    if (draft.chance(0.3))
      return draft.say(fmt::format("F.linear({}, {})", x.name, weight.name), with_last(x, out), x.dtype);
    const Value bias = draft.normal({"bias", "b"}, {out});
    return draft.say(fmt::format("F.linear({}, {}, {})", x.name, weight.name, bias.name), with_last(x, out), x.dtype);
  }
  const Value weight = draft.normal({"w", "weight", "b"}, {x.dims.back(), out});
  const std::string text = draft.chance(0.5) ? fmt::format("{} @ {}", x.name, weight.name)
                                             : fmt::format("torch.matmul({}, {})", x.name, weight.name);
  return draft.say(text, with_last(x, out), x.dtype);
}

bool fits_batch(const Value& x) { return x.floating() && x.rank() >= 3 && x.rank() <= 4 && short_sum(x.dims.back()); }

Value start_batch(Draft& draft) { return draft.normal({"x", "a", "q"}, draft.plain_dims(draft.chance(0.7) ? 3 : 4)); }

Value draw_batched(Draft& draft, const Value& x) {
  const Dim out = width(draft);
  Dims other = x.dims;
  const bool transposed = draft.chance(0.4);
  other[other.size() - 2] = transposed ? out : x.dims.back();
  other.back() = transposed ? x.dims.back() : out;
  const Value b = draft.normal({"b", "w", "other"}, other);
  const std::string right = transposed ? b.name + ".transpose(-2, -1)" : b.name;
  const bool as_bmm = x.rank() == 3 && draft.chance(0.5);
  const std::string text =
      as_bmm ? fmt::format("torch.bmm({}, {})", x.name, right) : fmt::format("torch.matmul({}, {})", x.name, right);
  return draft.say(text, with_last(x, out), x.dtype);
}

Value draw_vector(Draft& draft, const Value& x) {
  const Value v = draft.normal({"v", "vector"}, {x.dims.back()});
  Dims dims = x.dims;
  dims.pop_back();
  return draft.say(fmt::format("{} @ {}", x.name, v.name), dims, x.dtype);
}

// Sums over any indices. Letters of x stand for its axes; the result's letters are some of both operands'.
Value draw_einsum(Draft& draft, const Value& x) {
  const std::string all = "abcdefg";
  const std::string left = all.substr(0, static_cast<std::size_t>(x.rank()));
  std::string right, kept, sum;
  Dims right_dims;
  Dims result;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const char letter = left[static_cast<std::size_t>(axis)];
    const bool can_sum = short_sum(x.dim(axis)) && sum.empty();
    const double share = draft.random.uniform();
    if ((can_sum && share < 0.4) || (sum.empty() && axis == x.rank() - 1)) {
      sum += letter;
      right += letter;
      right_dims.push_back(x.dim(axis));
    } else {
      if (share > 0.8) {  // in both and kept: a batch axis
        right += letter;
        right_dims.push_back(x.dim(axis));
      }
      kept += letter;
      result.push_back(x.dim(axis));
    }
  }
  if (draft.chance(0.7)) {
    const Dim out = draft.size({"k", "units", "hidden"}, 2, 12, 20, 60);
    const char letter = all[static_cast<std::size_t>(x.rank())];
    const bool last = draft.chance(0.7);
    right.insert(last ? right.size() : 0, 1, letter);
    right_dims.insert(last ? right_dims.end() : right_dims.begin(), out);
    const bool at_end = draft.chance(0.7);
    kept.insert(at_end ? kept.size() : 0, 1, letter);
    result.insert(at_end ? result.end() : result.begin(), out);
  }
  const Value b = draft.normal({"b", "w", "weight"}, right_dims);
  return draft.say(fmt::format("torch.einsum('{},{}->{}', {}, {})", left, right, kept, x.name, b.name), result,
                   x.dtype);
}

bool fits_einsum(const Value& x) {
  return x.floating() && x.rank() >= 2 && x.rank() <= 4 && short_sum(x.dims.back()) && x.elements(2) <= 200'000;
}

Value start_vector(Draft& draft) { return draft.normal({"x", "u"}, {draft.size({"m", "rows"}, 5, 90, 200, 500)}); }

Value draw_outer(Draft& draft, const Value& x) {
  const Dim cols = draft.size({"n", "cols"}, 5, 60, 100, 400);
  const Value v = draft.normal({"v", "w"}, {cols});
  const std::string text = draft.chance(0.5) ? fmt::format("torch.outer({}, {})", x.name, v.name)
                                             : fmt::format("{}[:, None] * {}[None, :]", x.name, v.name);
  return draft.say(text, {x.dims[0], cols}, x.dtype);
}

constexpr Family families[] = {
    {"linear", 4, false, fits_rows, draw_linear, start_rows},
    {"batched_product", 2, false, fits_batch, draw_batched, start_batch},
    {"matrix_vector", 1, false, fits_rows, draw_vector, start_rows},
    {"einsum", 3, false, fits_einsum, draw_einsum},
    {"outer", 1, false, [](const Value& x) { return x.floating() && x.rank() == 1 && x.elements(2) <= 1000; },
     draw_outer, start_vector},
};

}  // namespace

std::span<const Family> stages_products() { return families; }

}  // namespace kw::programs
