#include <algorithm>
#include <cmath>

#include "model/arithmetic/units/kernels_of_unit.h"
#include "model/arithmetic/units/lanes.h"

namespace kw {
namespace KW_UNIT {
namespace {

void norm(const NormRows& n) {
  for (std::int64_t row = 0; row < n.rows; ++row) {
    const std::int64_t at = row * n.width;
    const float* x = n.residual != nullptr ? n.residual + at : n.x + at;
    Floats squares = zero();
    each_sixteen(n.width, [&](std::int64_t i, std::int64_t count) {
      Floats value = get(x + i, count);
      if (n.residual != nullptr) {
        value = value + get(n.update + at + i, count);
        put(n.residual + at + i, value, count);
      }
      squares = fma(value, value, squares);
    });
    const float mean = sum(squares) / static_cast<float>(n.width);
    const float inverse = 1.0f / std::sqrt(mean + n.epsilon);
    each_sixteen(n.width, [&](std::int64_t i, std::int64_t count) {
      put(n.y + at + i, get(x + i, count) * all(inverse) * get(n.weight + i, count), count);
    });
    if (n.inverse_rms != nullptr) n.inverse_rms[row] = inverse;
  }
}

void norm_gradient(const NormGradientRows& n) {
  for (std::int64_t row = 0; row < n.rows; ++row) {
    const float *x = n.x + row * n.width, *dy = n.dy + row * n.width;
    float* dx = n.dx + row * n.width;
    const Floats inverse = all(n.inverse_rms[row]);
    Floats products = zero();
    each_sixteen(n.width, [&](std::int64_t i, std::int64_t count) {
      products = fma(get(dy + i, count) * get(n.weight + i, count), get(x + i, count) * inverse, products);
    });
    const Floats minus_mean = all(-(sum(products) / static_cast<float>(n.width)));
    each_sixteen(n.width, [&](std::int64_t i, std::int64_t count) {
      const Floats g = get(dy + i, count) * get(n.weight + i, count);
      put(dx + i, fma(inverse, fma(get(x + i, count) * inverse, minus_mean, g), get(dx + i, count)), count);
    });
  }
}

void norm_weight_gradient(std::int64_t rows, std::int64_t columns, std::int64_t stride, const float* x,
                          const float* inverse_rms, const float* dy, float* dweight) {
  each_sixteen(columns, [&](std::int64_t j, std::int64_t count) {
    Floats column = zero();
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = row * stride + j;
      column = fma(get(dy + at, count), get(x + at, count) * all(inverse_rms[row]), column);
    }
    put(dweight + j, get(dweight + j, count) + column, count);
  });
}

void rotate(std::int64_t half, const float* cosine, const float* sine, float* x, std::int64_t heads, bool inverse) {
  for (std::int64_t head = 0; head < heads; ++head, x += 2 * half) {
    each_sixteen(half, [&](std::int64_t i, std::int64_t count) {
      const Floats first = get(x + i, count), second = get(x + half + i, count), c = get(cosine + i, count);
      const Floats s = inverse ? minus(get(sine + i, count)) : get(sine + i, count);
      put(x + i, first * c - second * s, count);
      put(x + half + i, second * c + first * s, count);
    });
  }
}

void swiglu(std::int64_t size, const float* gate, const float* up, float* y) {
  each_sixteen(size, [&](std::int64_t i, std::int64_t count) {
    const Floats g = get(gate + i, count);
    put(y + i, g / (all(1.0f) + exp(minus(g))) * get(up + i, count), count);
  });
}

void swiglu_gradient(std::int64_t size, const float* gate, const float* up, const float* dy, float* dgate, float* dup) {
  each_sixteen(size, [&](std::int64_t i, std::int64_t count) {
    const Floats one = all(1.0f), g = get(gate + i, count), u = get(up + i, count), d = get(dy + i, count);
    const Floats s = one / (one + exp(minus(g)));
    const Floats slope = s * fma(g, one - s, one);
    put(dgate + i, d * u * slope, count);
    put(dup + i, d * (g * s), count);
  });
}

TokenScore score_token(const float* logits, std::int64_t usable, float inverse_temperature, std::int32_t token) {
  const Floats scale = all(inverse_temperature);
  Floats most = all(-HUGE_VALF);
  each_sixteen(usable, [&](std::int64_t i, std::int64_t count) {
    const Floats z = get(logits + i, count) * scale;
    most = max(count == lanes ? z : keep_some(z, count, -HUGE_VALF), most);
  });
  const float biggest = largest(most);
  Floats sums = zero(), moments = zero();
  each_sixteen(usable, [&](std::int64_t i, std::int64_t count) {
    const Floats z = get(logits + i, count) * scale - all(biggest);
    Floats e = exp(z);
    if (count < lanes) e = keep_some(e, count, 0.0f);
    sums = sums + e;
    moments = fma(e, max(z, all(elementary::exp_low)), moments);
  });
  const float total = sum(sums), log_of_sum = elementary::log_of(total);
  return {.log_prob = logits[token] * inverse_temperature - biggest - log_of_sum,
          .entropy = log_of_sum - sum(moments) / total,
          .log_sum = biggest + log_of_sum};
}

void score_token_gradient(float* logits, std::int64_t usable, std::int64_t width, float inverse_temperature,
                          std::int32_t token, const TokenScore& score, float d_log_prob, float d_entropy) {
  const Floats scale = all(inverse_temperature), low = all(elementary::exp_low);
  const Floats minus_log_prob = all(-d_log_prob), minus_entropy = all(-d_entropy);
  each_sixteen(usable, [&](std::int64_t i, std::int64_t count) {
    const Floats log_p = get(logits + i, count) * scale - all(score.log_sum);
    const Floats slope = fma(minus_entropy, max(log_p, low) + all(score.entropy), minus_log_prob);
    put(logits + i, exp(log_p) * slope * scale, count);
  });
  logits[token] = std::fma(d_log_prob, inverse_temperature, logits[token]);
  std::fill(logits + usable, logits + width, 0.0f);
}

// Doubles in sixteen lanes: plain loops, which the compiler makes registers of.
double sum_of_squares(const float* values, std::int64_t size) {
  double sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    for (int lane = 0; lane < lanes; ++lane) {
      const auto value = static_cast<double>(values[i + lane]);
      sums[lane] = __builtin_fma(value, value, sums[lane]);
    }
  }
  for (int lane = 0; i + lane < size; ++lane) {
    const auto value = static_cast<double>(values[i + lane]);
    sums[lane] = __builtin_fma(value, value, sums[lane]);
  }
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

void adamw(const AdamWNumbers& n, std::int64_t size, float* parameters, const float* gradients, float* first_moment,
           float* second_moment) {
  each_sixteen(size, [&](std::int64_t i, std::int64_t count) {
    const Floats g = get(gradients + i, count) * all(n.gradient_scale);
    const Floats old_m = get(first_moment + i, count);
    const Floats m = fma(all(n.one_minus_beta1), g - old_m, old_m);
    const Floats v = fma(all(n.one_minus_beta2) * g, g, get(second_moment + i, count) * all(n.beta2));
    const Floats below = root(v) / all(n.root_bias2) + all(n.epsilon);
    put(parameters + i, fma(all(n.minus_step_size), m / below, get(parameters + i, count) * all(n.decay)), count);
    put(first_moment + i, m, count);
    put(second_moment + i, v, count);
  });
}

}  // namespace

extern const Kernels table;
const Kernels table{
    .name = KW_UNIT_NAME,
    .product = product,
    .column_sums = column_sums,
    .attend = attend,
    .attend_gradient = attend_gradient,
    .norm = norm,
    .norm_gradient = norm_gradient,
    .norm_weight_gradient = norm_weight_gradient,
    .rotate = rotate,
    .swiglu = swiglu,
    .swiglu_gradient = swiglu_gradient,
    .score_token = score_token,
    .score_token_gradient = score_token_gradient,
    .sum_of_squares = sum_of_squares,
    .adamw = adamw,
};

}  // namespace KW_UNIT
}  // namespace kw
