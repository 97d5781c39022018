#pragma once
// What the model does with each row of a tensor besides products. All of it row by row, so results do not depend on the
// batch. Sums along a row run in 16 lanes by position modulo 16, then across lanes in a fixed tree; exp and log are our
// own polynomials, the same on every vector unit.

#include <cstdint>
#include <span>
#include <vector>

#include "model/arithmetic/thread_team.h"

namespace kw {

// y = x / sqrt(mean(x^2) + epsilon) * weight. inverse_rms (rows) may be null.
void rms_norm(ThreadTeam& team, std::int64_t rows, std::int64_t width, const float* x, const float* weight,
              float epsilon, float* y, float* inverse_rms);
// residual += update (in place), then y = rms_norm(residual).
void add_rms_norm(ThreadTeam& team, std::int64_t rows, std::int64_t width, float* residual, const float* update,
                  const float* weight, float epsilon, float* y, float* inverse_rms);
// dx += gradient of the norm; dweight (width) += ..., unless null.
void rms_norm_gradient(ThreadTeam& team, std::int64_t rows, std::int64_t width, const float* x, const float* weight,
                       const float* inverse_rms, const float* dy, float* dx, float* dweight);

// Rotary embedding, halves rotated (Hugging Face's rotate_half): element i pairs with i + head_dim / 2.
struct RotaryTable {
  RotaryTable(std::int64_t head_dim, double base, std::int64_t positions);
  std::int64_t half = 0;
  std::vector<float> cosine, sine;  // (positions, half), computed as Hugging Face does: frequencies in float32
};
// In place on (rows, heads, head_dim) with a stride between rows; `inverse` turns back, for gradients.
void rotate(ThreadTeam& team, const RotaryTable& table, std::span<const std::int32_t> positions, float* x,
            std::int64_t stride, std::int64_t heads, bool inverse = false);

// y = silu(gate) * up
void swiglu(ThreadTeam& team, std::int64_t rows, std::int64_t width, const float* gate, const float* up, float* y);
// dgate and dup are written; they may be the memory of gate and up.
void swiglu_gradient(ThreadTeam& team, std::int64_t rows, std::int64_t width, const float* gate, const float* up,
                     const float* dy, float* dgate, float* dup);

// How likely `token` is under softmax(logits * inverse_temperature), over the first `usable` logits.
struct TokenScore {
  float log_prob = 0;
  float entropy = 0;  // nats
  float log_sum = 0;  // log of the sum of exp(logit * inverse_temperature)
};
TokenScore score_token(const float* logits, std::int64_t usable, float inverse_temperature, std::int32_t token);
// logits become d(loss)/d(logits), given d(loss)/d(log_prob) and d(loss)/d(entropy); elements from usable to width
// become 0.
void score_token_gradient(float* logits, std::int64_t usable, std::int64_t width, float inverse_temperature,
                          std::int32_t token, const TokenScore& score, float d_log_prob, float d_entropy);

double sum_of_squares(ThreadTeam& team, std::span<const float> values);

}  // namespace kw
