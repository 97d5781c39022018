#include <algorithm>
#include <cmath>

#include "model/arithmetic/elementary.h"
#include "model/arithmetic/portable_kernels.h"

namespace kw {
namespace portable {
namespace {

void norm(const NormRows& n) {
  for (std::int64_t row = 0; row < n.rows; ++row) {
    const std::int64_t at = row * n.width;
    const float* x = n.residual != nullptr ? n.residual + at : n.x + at;
    if (n.residual != nullptr) {
      for (std::int64_t i = 0; i < n.width; ++i) n.residual[at + i] += n.update[at + i];
    }
    float lanes[16] = {};
    for (std::int64_t i = 0; i < n.width; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
    const float mean = sum_of_lanes(lanes) / static_cast<float>(n.width);
    const float inverse = 1.0f / std::sqrt(mean + n.epsilon);
    for (std::int64_t i = 0; i < n.width; ++i) n.y[at + i] = x[i] * inverse * n.weight[i];
    if (n.inverse_rms != nullptr) n.inverse_rms[row] = inverse;
  }
}

// With h = x * inverse and g = dy * weight: dx += inverse * (g - h * mean(g h)).
void norm_gradient(const NormGradientRows& n) {
  for (std::int64_t row = 0; row < n.rows; ++row) {
    const float *x = n.x + row * n.width, *dy = n.dy + row * n.width;
    float* dx = n.dx + row * n.width;
    const float inverse = n.inverse_rms[row];
    float lanes[16] = {};
    for (std::int64_t i = 0; i < n.width; ++i) {
      lanes[i % 16] = std::fma(dy[i] * n.weight[i], x[i] * inverse, lanes[i % 16]);
    }
    const float minus_mean = -(sum_of_lanes(lanes) / static_cast<float>(n.width));
    for (std::int64_t i = 0; i < n.width; ++i) {
      dx[i] = std::fma(inverse, std::fma(x[i] * inverse, minus_mean, dy[i] * n.weight[i]), dx[i]);
    }
  }
}

void norm_weight_gradient(std::int64_t rows, std::int64_t columns, std::int64_t stride, const float* x,
                          const float* inverse_rms, const float* dy, float* dweight) {
  for (std::int64_t j = 0; j < columns; ++j) {
    float sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      sum = std::fma(dy[row * stride + j], x[row * stride + j] * inverse_rms[row], sum);
    }
    dweight[j] += sum;
  }
}

// As Hugging Face rounds it: two products, then their sum.
void rotate(std::int64_t half, const float* cosine, const float* sine, float* x, std::int64_t heads, bool inverse) {
  for (std::int64_t head = 0; head < heads; ++head, x += 2 * half) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float first = x[i], second = x[half + i], s = inverse ? -sine[i] : sine[i];
      x[i] = first * cosine[i] - second * s;
      x[half + i] = second * cosine[i] + first * s;
    }
  }
}

void swiglu(std::int64_t count, const float* gate, const float* up, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = gate[i] / (1.0f + elementary::exp_of(-gate[i])) * up[i];
}

// silu'(g) = s (1 + g (1 - s)), s = 1 / (1 + exp(-g))
void swiglu_gradient(std::int64_t count, const float* gate, const float* up, const float* dy, float* dgate,
                     float* dup) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gate[i], u = up[i], s = 1.0f / (1.0f + elementary::exp_of(-g));
    const float slope = s * std::fma(g, 1.0f - s, 1.0f);
    const float d = dy[i];
    dgate[i] = d * u * slope;
    dup[i] = d * (g * s);
  }
}

TokenScore score_token(const float* logits, std::int64_t usable, float inverse_temperature, std::int32_t token) {
  float largest = -HUGE_VALF;
  for (std::int64_t i = 0; i < usable; ++i) largest = std::max(largest, logits[i] * inverse_temperature);
  float sums[16] = {}, moments[16] = {};
  for (std::int64_t i = 0; i < usable; ++i) {
    const float z = logits[i] * inverse_temperature - largest, e = elementary::exp_of(z);
    sums[i % 16] += e;
    // exp gives 0 for what is too small, and 0 times minus infinity is no number: exp_low is as good there.
    moments[i % 16] = std::fma(e, std::max(z, elementary::exp_low), moments[i % 16]);
  }
  const float sum = sum_of_lanes(sums), log_of_sum = elementary::log_of(sum);
  return {.log_prob = logits[token] * inverse_temperature - largest - log_of_sum,
          .entropy = log_of_sum - sum_of_lanes(moments) / sum,
          .log_sum = largest + log_of_sum};
}

// d log_prob / d z_i = (i is token) - p_i; d entropy / d z_i = -p_i (log p_i + entropy); z = logit *
// inverse_temperature.
void score_token_gradient(float* logits, std::int64_t usable, std::int64_t width, float inverse_temperature,
                          std::int32_t token, const TokenScore& score, float d_log_prob, float d_entropy) {
  const float minus_log_prob = -d_log_prob, minus_entropy = -d_entropy;
  for (std::int64_t i = 0; i < usable; ++i) {
    const float log_p = logits[i] * inverse_temperature - score.log_sum, p = elementary::exp_of(log_p);
    const float slope = std::fma(minus_entropy, std::max(log_p, elementary::exp_low) + score.entropy, minus_log_prob);
    logits[i] = p * slope * inverse_temperature;
  }
  logits[token] = std::fma(d_log_prob, inverse_temperature, logits[token]);
  std::fill(logits + usable, logits + width, 0.0f);
}

double sum_of_squares(const float* values, std::int64_t count) {
  double lanes[16] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    lanes[i % 16] = std::fma(static_cast<double>(values[i]), static_cast<double>(values[i]), lanes[i % 16]);
  }
  return sum_of_lanes(lanes);
}

void adamw(const AdamWNumbers& n, std::int64_t count, float* parameters, const float* gradients, float* first_moment,
           float* second_moment) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradients[i] * n.gradient_scale;
    const float m = std::fma(n.one_minus_beta1, g - first_moment[i], first_moment[i]);
    const float v = std::fma(n.one_minus_beta2 * g, g, second_moment[i] * n.beta2);
    const float root = std::sqrt(v) / n.root_bias2 + n.epsilon;
    parameters[i] = std::fma(n.minus_step_size, m / root, parameters[i] * n.decay);
    first_moment[i] = m;
    second_moment[i] = v;
  }
}

}  // namespace
}  // namespace portable

extern const Kernels portable_kernels;
const Kernels portable_kernels{
    .name = "portable",
    .product = portable::product,
    .column_sums = portable::column_sums,
    .attend = portable::attend,
    .attend_gradient = portable::attend_gradient,
    .norm = portable::norm,
    .norm_gradient = portable::norm_gradient,
    .norm_weight_gradient = portable::norm_weight_gradient,
    .rotate = portable::rotate,
    .swiglu = portable::swiglu,
    .swiglu_gradient = portable::swiglu_gradient,
    .score_token = portable::score_token,
    .score_token_gradient = portable::score_token_gradient,
    .sum_of_squares = portable::sum_of_squares,
    .adamw = portable::adamw,
};

}  // namespace kw
