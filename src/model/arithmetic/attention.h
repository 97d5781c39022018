#pragma once
// Causal attention over pages of keys and values, on the CPU, in float32; grouped queries share a key/value head.
//
// Order, the same for one query and for a thousand: a score is one chain of fused multiply-adds over the head's
// elements; scores are scaled; the largest is subtracted; exponentials are summed in 16 lanes by key position modulo
// 16, page after page, then across lanes in a fixed tree; an output element is one chain over the keys, ascending,
// divided by that sum at the end. A key beyond a query's position counts as an exponential of exactly zero.

#include <cstdint>
#include <span>

#include "model/arithmetic/thread_team.h"

namespace kw {

inline constexpr std::int64_t page_tokens = 16;

struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // divides heads; query head h reads kv head h / (heads / kv_heads)
  std::int64_t head_dim = 0;  // even
  float scale = 0;            // 1 / sqrt(head_dim)

  std::int64_t page_floats() const { return kv_heads * head_dim * page_tokens; }  // of keys; of values as many
};

// Sixteen tokens of one layer. Slots that hold no token yet have finite values.
struct KvPage {
  float* keys = nullptr;    // (kv_heads, head_dim, 16): sixteen keys side by side
  float* values = nullptr;  // (kv_heads, 16, head_dim)
};

// key and value: (kv_heads, head_dim), already rotated.
void write_token(const AttentionShape& shape, const KvPage& page, std::int64_t slot, const float* key,
                 const float* value);

// Consecutive queries of one sequence: row i stands at `first_position + i` and sees the keys of positions up to its
// own, which lie in the pages already.
struct AttentionRows {
  const float* q = nullptr;  // (rows, heads, head_dim), stride between rows below
  std::int64_t q_stride = 0;
  float* out = nullptr;  // (rows, heads, head_dim)
  std::int64_t out_stride = 0;
  float* log_sum = nullptr;  // (rows, heads): log of the sum of exp(scaled score), for the gradient; or null
  std::int64_t rows = 0;
  std::int64_t first_position = 0;
  std::span<const KvPage> pages;
};
void attend(ThreadTeam& team, const AttentionShape& shape, std::span<const AttentionRows> sequences);

// Gradient for one whole sequence (positions 0 .. rows-1) from contiguous rows. dq, dk, dv are written, not added to.
struct AttentionGradient {
  std::int64_t rows = 0;
  const float *q = nullptr, *k = nullptr, *v = nullptr;  // (rows, heads | kv_heads, head_dim), rotated
  const float *out = nullptr, *log_sum = nullptr;        // as attend() gave them
  const float* dout = nullptr;                           // like out
  float *dq = nullptr, *dk = nullptr, *dv = nullptr;
  std::int64_t q_stride = 0, kv_stride = 0, out_stride = 0;  // floats between rows; of dq, dk/dv and dout too
};
void attend_gradient(ThreadTeam& team, const AttentionShape& shape, std::span<const AttentionGradient> sequences);

}  // namespace kw
