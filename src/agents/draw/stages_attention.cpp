// Attention with masks and biases, and rotary positions.

#include <fmt/format.h>

#include <cmath>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

Value start_queries(Draft& draft) {
  Dims dims{draft.size({"batch", "samples"}, 1, 3, 2, 5)};
  if (draft.chance(0.7)) dims.push_back(draft.size({"heads"}, 1, 4, 2, 6));
  dims.push_back(draft.size({"seq", "queries"}, 3, 12, 20, 50));
  dims.push_back(draft.size({"dim", "head_dim"}, 4, 10, 16, 34, 2));
  return draft.normal({"q", "query"}, dims);
}

// Keys and values: as many as there are queries, or others.
Value draw_attention(Draft& draft, const Value& q) {
  const bool own = draft.chance(0.5);
  const Dim keys = own ? q.dim(-2) : draft.size({"keys", "context"}, 3, 12, 20, 50);
  Dims dims = q.dims;
  dims[dims.size() - 2] = keys;
  const Value k = draft.normal({"k", "key"}, dims), v = draft.normal({"v", "value"}, dims);
  std::string rest;
  const auto kind = draft.between(0, own ? 3 : 2);
  if (kind == 3) {
    rest = ", is_causal=True";
  } else if (kind == 2) {
    rest = ", attn_mask=" + draft.normal({"bias", "mask"}, {q.dim(-2), keys}).name;
  }
  if (draft.chance(0.25)) rest += fmt::format(", scale={}", draft.constant(0.1, 0.5));
  return draft.say(fmt::format("F.scaled_dot_product_attention({}, {}, {}{})", q.name, k.name, v.name, rest), q);
}

// The same by hand, in parts that later stages may stand between.
Value draw_attention_by_hand(Draft& draft, const Value& q) {
  const Dim keys = draft.size({"keys", "context"}, 3, 12, 20, 50);
  Dims dims = q.dims;
  dims[dims.size() - 2] = keys;
  Dims square = q.dims;
  square.back() = keys;
  const Value k = draft.normal({"k", "key"}, dims), v = draft.normal({"v", "value"}, dims);
  Value scores = draft.say(fmt::format("({} @ {}.transpose(-2, -1)) * {}", q.name, k.name, draft.constant(0.1, 0.5)),
                           square, q.dtype);
  switch (draft.between(0, 3)) {
    case 0: {
      const Value bias = draft.normal({"bias", "slopes"}, {q.dim(-2), keys});
      scores = draft.say(fmt::format("{} + {}", scores.name, bias.name), square, q.dtype);
      break;
    }
    case 1: {
      const Value mask =
          draft.input({"mask"}, {q.dim(-2), keys}, Dtype::boolean, IntegerValues{Expression(0), Expression(1)});
      scores = draft.say(fmt::format("{}.masked_fill({}, -1e4)", scores.name, mask.name), square, q.dtype);
      break;
    }
    case 2: {  // soft capping
      scores = draft.say(fmt::format("4.0 * torch.tanh({} / 4.0)", scores.name), square, q.dtype);
      break;
    }
    default:
      break;
  }
  const bool soft = draft.chance(0.8);
  const std::string weights =
      soft ? fmt::format("torch.softmax({}, dim=-1)", scores.name) : fmt::format("torch.sigmoid({})", scores.name);
  return draft.say(fmt::format("{} @ {}", weights, v.name), q);
}

bool fits_rotary(const Value& x) {
  return x.floating() && x.rank() >= 3 && x.rank() <= 4 && x.dims.back().divides_by(2) && x.dims.back().least() >= 2;
}

Value start_rotary(Draft& draft) {
  Dims dims{draft.size({"batch", "samples"}, 1, 3, 2, 6)};
  if (draft.chance(0.6)) dims.push_back(draft.size({"heads"}, 1, 4, 3, 8));
  dims.push_back(draft.size({"seq", "length"}, 3, 14, 30, 90));
  dims.push_back(draft.size({"dim", "head_dim"}, 4, 16, 24, 70, 2));
  return draft.normal({"x", "q"}, dims);
}

Value draw_rotary(Draft& draft, const Value& x) {
  const Dims table{x.dim(-2), x.dim(-1)};
  const Value cosine = draft.uniform({"cos"}, table, -1, 1), sine = draft.uniform({"sin"}, table, -1, 1);
  if (draft.chance(0.6)) {
    const Value halves = draft.say(
        fmt::format("torch.cat([-{0}[..., {0}.size(-1) // 2:], {0}[..., :{0}.size(-1) // 2]], dim=-1)", x.name), x);
    return draft.say(fmt::format("{} * {} + {} * {}", x.name, cosine.name, halves.name, sine.name), x);
  }
  const Value turned =
      draft.say(fmt::format("torch.stack([-{0}[..., 1::2], {0}[..., ::2]], dim=-1).flatten(-2)", x.name), x);
  return draft.say(fmt::format("{} * {} + {} * {}", x.name, cosine.name, turned.name, sine.name), x);
}

constexpr Family families[] = {
    {"attention", 2, false, nullptr, draw_attention, start_queries},
    {"attention_by_hand", 2, false, nullptr, draw_attention_by_hand, start_queries},
    {"rotary", 2, false, fits_rotary, draw_rotary, start_rotary},
};

}  // namespace

std::span<const Family> stages_attention() { return families; }

}  // namespace kw::programs
