#include "model/arithmetic/rows.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"
#include "model/arithmetic/kernels.h"

namespace kw {
namespace {

constexpr std::int64_t part_work = 20000;  // elements: less is done sooner than a thread is woken

// body(first, count) over [0, rows), in parts of about part_work elements. Rows do not depend on each other.
template <class Body>
void split_rows(ThreadTeam& team, std::int64_t rows, std::int64_t row_work, const Body& body) {
  if (rows <= 0) return;
  if (team.size() == 1 || rows * row_work <= part_work) return body(0, rows);
  const std::int64_t per_part = std::max<std::int64_t>(1, part_work / std::max<std::int64_t>(1, row_work));
  const std::int64_t parts = (rows + per_part - 1) / per_part;
  const auto one = [&](std::int64_t part) {
    const std::int64_t first = part * per_part;
    body(first, std::min(per_part, rows - first));
  };
  team.run(parts, std::ref(one));
}

}  // namespace

void rms_norm(ThreadTeam& team, std::int64_t rows, std::int64_t width, const float* x, const float* weight,
              float epsilon, float* y, float* inverse_rms) {
  split_rows(team, rows, width, [&](std::int64_t first, std::int64_t count) {
    kernels().norm({.rows = count,
                    .width = width,
                    .x = x + first * width,
                    .weight = weight,
                    .epsilon = epsilon,
                    .y = y + first * width,
                    .inverse_rms = inverse_rms == nullptr ? nullptr : inverse_rms + first});
  });
}

void add_rms_norm(ThreadTeam& team, std::int64_t rows, std::int64_t width, float* residual, const float* update,
                  const float* weight, float epsilon, float* y, float* inverse_rms) {
  split_rows(team, rows, width, [&](std::int64_t first, std::int64_t count) {
    kernels().norm({.rows = count,
                    .width = width,
                    .residual = residual + first * width,
                    .update = update + first * width,
                    .weight = weight,
                    .epsilon = epsilon,
                    .y = y + first * width,
                    .inverse_rms = inverse_rms == nullptr ? nullptr : inverse_rms + first});
  });
}

void rms_norm_gradient(ThreadTeam& team, std::int64_t rows, std::int64_t width, const float* x, const float* weight,
                       const float* inverse_rms, const float* dy, float* dx, float* dweight) {
  const Kernels& unit = kernels();
  if (dweight != nullptr) {  // before dx is written: it may be the memory of dy
    constexpr std::int64_t strip = 64;
    const std::int64_t strips = (width + strip - 1) / strip;
    const auto body = [&](std::int64_t i) {
      const std::int64_t first = i * strip;
      unit.norm_weight_gradient(rows, std::min(strip, width - first), width, x + first, inverse_rms, dy + first,
                                dweight + first);
    };
    if (rows * width <= part_work) {
      for (std::int64_t i = 0; i < strips; ++i) body(i);
    } else {
      team.run(strips, std::ref(body));
    }
  }
  split_rows(team, rows, width, [&](std::int64_t first, std::int64_t count) {
    unit.norm_gradient({.rows = count,
                        .width = width,
                        .x = x + first * width,
                        .weight = weight,
                        .inverse_rms = inverse_rms + first,
                        .dy = dy + first * width,
                        .dx = dx + first * width});
  });
}

RotaryTable::RotaryTable(std::int64_t head_dim, double base, std::int64_t positions) : half(head_dim / 2) {
  KW_CHECK(head_dim > 0 && head_dim % 2 == 0);
  std::vector<float> frequency(half);
  for (std::int64_t i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    frequency[i] = 1.0f / static_cast<float>(std::pow(base, static_cast<double>(exponent)));
  }
  cosine.resize(positions * half);
  sine.resize(positions * half);
  for (std::int64_t position = 0; position < positions; ++position) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(position) * frequency[i];
      cosine[position * half + i] = static_cast<float>(std::cos(static_cast<double>(angle)));
      sine[position * half + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
}

void rotate(ThreadTeam& team, const RotaryTable& table, std::span<const std::int32_t> positions, float* x,
            std::int64_t stride, std::int64_t heads, bool inverse) {
  split_rows(team, static_cast<std::int64_t>(positions.size()), 2 * heads * table.half,
             [&](std::int64_t first, std::int64_t count) {
               for (std::int64_t row = first; row < first + count; ++row) {
                 const std::int64_t at = positions[row] * table.half;
                 kernels().rotate(table.half, table.cosine.data() + at, table.sine.data() + at, x + row * stride, heads,
                                  inverse);
               }
             });
}

void swiglu(ThreadTeam& team, std::int64_t rows, std::int64_t width, const float* gate, const float* up, float* y) {
  split_rows(team, rows, 2 * width, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * width;
    kernels().swiglu(count * width, gate + at, up + at, y + at);
  });
}

void swiglu_gradient(ThreadTeam& team, std::int64_t rows, std::int64_t width, const float* gate, const float* up,
                     const float* dy, float* dgate, float* dup) {
  split_rows(team, rows, 2 * width, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * width;
    kernels().swiglu_gradient(count * width, gate + at, up + at, dy + at, dgate + at, dup + at);
  });
}

TokenScore score_token(const float* logits, std::int64_t usable, float inverse_temperature, std::int32_t token) {
  return kernels().score_token(logits, usable, inverse_temperature, token);
}

void score_token_gradient(float* logits, std::int64_t usable, std::int64_t width, float inverse_temperature,
                          std::int32_t token, const TokenScore& score, float d_log_prob, float d_entropy) {
  kernels().score_token_gradient(logits, usable, width, inverse_temperature, token, score, d_log_prob, d_entropy);
}

double sum_of_squares(ThreadTeam& team, std::span<const float> values) {
  constexpr std::int64_t chunk = 1 << 14;  // fixed: sums of chunks are added in their order
  const auto size = static_cast<std::int64_t>(values.size());
  const std::int64_t chunks = (size + chunk - 1) / chunk;
  std::vector<double> sums(chunks);
  split_rows(team, chunks, chunk, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      sums[i] = kernels().sum_of_squares(values.data() + i * chunk, std::min(chunk, size - i * chunk));
    }
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace kw
