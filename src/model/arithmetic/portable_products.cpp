#include <algorithm>
#include <cmath>
#include <vector>

#include "model/arithmetic/elementary.h"
#include "model/arithmetic/packed_layout.h"
#include "model/arithmetic/portable_kernels.h"

namespace kw::portable {
namespace {

void read_column(const ProductColumns& b, std::int64_t column, std::int64_t depth, float* out) {
  const auto* floats = reinterpret_cast<const float*>(b.data);
  switch (b.kind) {
    case ProductColumns::Kind::packed:
      return read_packed_output(b.format, b.data, b.columns, depth, column, out);
    case ProductColumns::Kind::by_column:
      std::copy_n(floats + column * b.stride, depth, out);
      return;
    case ProductColumns::Kind::packed_depth:  // product() has made floats of it
    case ProductColumns::Kind::by_depth:
      for (std::int64_t k = 0; k < depth; ++k) out[k] = floats[k * b.stride + column];
      return;
  }
}

float dot(const float* a, const float* b, std::int64_t count, std::int64_t b_stride = 1) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum = std::fma(a[i], b[i * b_stride], sum);
  return sum;
}

void multiply_add(float factor, const float* x, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = std::fma(factor, x[i], y[i]);
}

}  // namespace

void product(const ProductPart& part) {
  ProductColumns b = part.b;
  std::vector<float> column(part.depth), rows;
  if (b.kind == ProductColumns::Kind::packed_depth) {
    rows.resize(part.depth * b.columns);
    for (std::int64_t k = 0; k < part.depth; ++k) {
      read_packed_output(b.format, b.data, part.depth, b.columns, k, rows.data() + k * b.columns);
    }
    b.data = reinterpret_cast<const std::byte*>(rows.data());
    b.stride = b.columns;
  }
  for (std::int64_t j = 0; j < part.columns; ++j) {
    read_column(b, part.first_column + j, part.depth, column.data());
    for (std::int64_t i = 0; i < part.rows; ++i) {
      const float* a = part.a + i * part.a_row;
      float sum = 0;
      for (std::int64_t k = 0; k < part.depth; ++k) sum = std::fma(a[k * part.a_depth], column[k], sum);
      float& c = part.c[i * part.c_row + j];
      if (part.bias != nullptr) sum += part.bias[j];
      c = part.add ? c + sum : sum;
    }
  }
}

void column_sums(std::int64_t rows, std::int64_t columns, const float* x, std::int64_t stride, float* sums) {
  for (std::int64_t j = 0; j < columns; ++j) {
    float sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += x[i * stride + j];
    sums[j] += sum;
  }
}

void attend(const AttentionPart& part) {
  const AttentionShape& shape = *part.shape;
  const AttentionRows& sequence = *part.sequence;
  const std::int64_t dim = shape.head_dim, group = shape.heads / shape.kv_heads;
  std::vector<float> weights;
  for (std::int64_t row = part.first_row; row < part.first_row + part.rows; ++row) {
    const std::int64_t keys = sequence.first_position + row + 1;
    for (std::int64_t head = part.kv_head * group; head < (part.kv_head + 1) * group; ++head) {
      const float* q = sequence.q + row * sequence.q_stride + head * dim;
      weights.assign(keys, 0);
      float largest = -HUGE_VALF;
      for (std::int64_t j = 0; j < keys; ++j) {
        const float* key = sequence.pages[j / page_tokens].keys + part.kv_head * dim * page_tokens + j % page_tokens;
        weights[j] = dot(q, key, dim, page_tokens) * shape.scale;
        largest = std::max(largest, weights[j]);
      }
      float lanes[16] = {};
      for (std::int64_t j = 0; j < keys; ++j) {
        weights[j] = elementary::exp_of(weights[j] - largest);
        lanes[j % page_tokens] += weights[j];
      }
      const float sum = sum_of_lanes(lanes);
      float* out = sequence.out + row * sequence.out_stride + head * dim;
      std::fill_n(out, dim, 0.0f);
      for (std::int64_t j = 0; j < keys; ++j) {
        const float* value =
            sequence.pages[j / page_tokens].values + (part.kv_head * page_tokens + j % page_tokens) * dim;
        multiply_add(weights[j], value, out, dim);
      }
      for (std::int64_t d = 0; d < dim; ++d) out[d] /= sum;
      if (sequence.log_sum != nullptr) {
        sequence.log_sum[row * shape.heads + head] = largest + elementary::log_of(sum);
      }
    }
  }
}

// With p = exp(scaled score - log_sum): dv_j = sum p_ij dout_i; ds_ij = p_ij (dout_i . v_j - dout_i . out_i) scale;
// dq_i = sum ds_ij k_j; dk_j = sum ds_ij q_i. Sums over rows run through the heads of the group, ascending.
void attend_gradient(const AttentionGradientPart& part) {
  const AttentionShape& shape = *part.shape;
  const AttentionGradient& s = *part.sequence;
  const std::int64_t dim = shape.head_dim, group = shape.heads / shape.kv_heads, at = part.kv_head * dim;
  for (std::int64_t j = 0; j < s.rows; ++j) {
    std::fill_n(s.dk + j * s.kv_stride + at, dim, 0.0f);
    std::fill_n(s.dv + j * s.kv_stride + at, dim, 0.0f);
  }
  for (std::int64_t head = part.kv_head * group; head < (part.kv_head + 1) * group; ++head) {
    for (std::int64_t i = 0; i < s.rows; ++i) {
      const float* q = s.q + i * s.q_stride + head * dim;
      const float* dout = s.dout + i * s.out_stride + head * dim;
      float* dq = s.dq + i * s.q_stride + head * dim;
      float lanes[16] = {};
      for (std::int64_t d = 0; d < dim; ++d) {
        lanes[d % 16] = std::fma(dout[d], s.out[i * s.out_stride + head * dim + d], lanes[d % 16]);
      }
      const float along = sum_of_lanes(lanes);
      const float log_sum = s.log_sum[i * shape.heads + head];
      std::fill_n(dq, dim, 0.0f);
      for (std::int64_t j = 0; j <= i; ++j) {
        const std::int64_t kv = j * s.kv_stride + at;
        const float p = elementary::exp_of(dot(q, s.k + kv, dim) * shape.scale - log_sum);
        const float ds = p * (dot(dout, s.v + kv, dim) - along) * shape.scale;
        multiply_add(p, dout, s.dv + kv, dim);
        multiply_add(ds, s.k + kv, dq, dim);
        multiply_add(ds, q, s.dk + kv, dim);
      }
    }
  }
}

}  // namespace kw::portable
