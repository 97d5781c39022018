#include <algorithm>
#include <vector>

#include "model/arithmetic/portable_kernels.h"
#include "model/arithmetic/units/columns.h"
#include "model/arithmetic/units/kernels_of_unit.h"
#include "model/arithmetic/units/tile.h"

namespace kw::KW_UNIT {
namespace {

constexpr std::int64_t query_block = 48, key_block = 64;

struct Scratch {
  std::vector<float> keys, values;  // blocks of (dim, 64): sixty-four keys side by side
  std::vector<float> p, ds;         // (48, 64)
};

// Blocks of 64 rows of x (rows, stride), transposed; the last is padded with zeros.
void transpose_blocks(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t dim,
                      std::vector<float>& to) {
  const std::int64_t blocks = (rows + key_block - 1) / key_block;
  if (static_cast<std::int64_t>(to.size()) < blocks * dim * key_block) to.resize(blocks * dim * key_block);
  const ProductColumns columns{.kind = ProductColumns::Kind::by_column,
                               .data = reinterpret_cast<const std::byte*>(x),
                               .stride = stride,
                               .columns = rows};
  for (std::int64_t block = 0; block < blocks; ++block) {
    fetch_columns(columns, dim, 0, dim, block * key_block, key_block, to.data() + block * dim * key_block);
  }
}

// p: the scores of rows [i, i + rows) and keys [j, j + 64), ds: dout . v of the same. They become the probabilities
// and the gradient of the scores; what a row must not see is zero.
void finish_scores(const AttentionGradientPart& part, std::int64_t head, std::int64_t i, std::int64_t rows,
                   std::int64_t j, const float* along, float* p, float* ds) {
  const AttentionGradient& s = *part.sequence;
  const Floats scale = all(part.shape->scale);
  for (std::int64_t r = 0; r < rows; ++r, p += key_block, ds += key_block) {
    const Floats log_sum = all(s.log_sum[(i + r) * part.shape->heads + head]), along_row = all(along[r]);
    for (std::int64_t k = 0; k < key_block; k += lanes) {
      const std::int64_t seen = i + r + 1 - (j + k);  // keys of these sixteen
      Floats probability = zero(), slope = zero();
      if (seen > 0) {
        probability = exp(load(p + k) * scale - log_sum);
        slope = probability * (load(ds + k) - along_row) * scale;
        if (seen < lanes) {
          probability = keep_some(probability, seen, 0.0f);
          slope = keep_some(slope, seen, 0.0f);
        }
      }
      store(p + k, probability);
      store(ds + k, slope);
    }
  }
}

}  // namespace

void attend_gradient(const AttentionGradientPart& part) {
  const AttentionShape& shape = *part.shape;
  const AttentionGradient& s = *part.sequence;
  const std::int64_t dim = shape.head_dim, group = shape.heads / shape.kv_heads, at = part.kv_head * dim;
  if (dim % lanes != 0) return portable::attend_gradient(part);
  thread_local Scratch scratch;
  transpose_blocks(s.k + at, s.kv_stride, s.rows, dim, scratch.keys);
  transpose_blocks(s.v + at, s.kv_stride, s.rows, dim, scratch.values);
  scratch.p.resize(query_block * key_block);
  scratch.ds.resize(query_block * key_block);
  float *p = scratch.p.data(), *ds = scratch.ds.data();
  for (std::int64_t j = 0; j < s.rows; ++j) {
    std::fill_n(s.dk + j * s.kv_stride + at, dim, 0.0f);
    std::fill_n(s.dv + j * s.kv_stride + at, dim, 0.0f);
  }

  for (std::int64_t head = part.kv_head * group; head < (part.kv_head + 1) * group; ++head) {
    for (std::int64_t i = 0; i < s.rows; i += query_block) {
      const std::int64_t rows = std::min(query_block, s.rows - i);
      const float* q = s.q + i * s.q_stride + head * dim;
      const float* dout = s.dout + i * s.out_stride + head * dim;
      const float* out = s.out + i * s.out_stride + head * dim;
      float along[query_block];
      for (std::int64_t r = 0; r < rows; ++r) {
        Floats products = zero();
        for (std::int64_t d = 0; d < dim; d += lanes) {
          products = fma(load(dout + r * s.out_stride + d), load(out + r * s.out_stride + d), products);
        }
        along[r] = sum(products);
      }
      for (std::int64_t j = 0; j < i + rows; j += key_block) {
        const std::int64_t keys = std::min(key_block, i + rows - j);
        const std::int64_t block = j / key_block * dim * key_block;
        chain_product({.a = q,
                       .a_row = s.q_stride,
                       .a_depth = 1,
                       .b = scratch.keys.data() + block,
                       .b_depth = key_block,
                       .c = p,
                       .c_row = key_block,
                       .rows = rows,
                       .depth = dim,
                       .columns = key_block,
                       .from_zero = true});
        chain_product({.a = dout,
                       .a_row = s.out_stride,
                       .a_depth = 1,
                       .b = scratch.values.data() + block,
                       .b_depth = key_block,
                       .c = ds,
                       .c_row = key_block,
                       .rows = rows,
                       .depth = dim,
                       .columns = key_block,
                       .from_zero = true});
        finish_scores(part, head, i, rows, j, along, p, ds);
        const std::int64_t kv = j * s.kv_stride + at;
        chain_product({.a = ds,
                       .a_row = key_block,
                       .a_depth = 1,
                       .b = s.k + kv,
                       .b_depth = s.kv_stride,
                       .c = s.dq + i * s.q_stride + head * dim,
                       .c_row = s.q_stride,
                       .rows = rows,
                       .depth = keys,
                       .columns = dim,
                       .from_zero = j == 0});
        chain_product({.a = p,
                       .a_row = 1,
                       .a_depth = key_block,
                       .b = dout,
                       .b_depth = s.out_stride,
                       .c = s.dv + kv,
                       .c_row = s.kv_stride,
                       .rows = keys,
                       .depth = rows,
                       .columns = dim});
        chain_product({.a = ds,
                       .a_row = 1,
                       .a_depth = key_block,
                       .b = q,
                       .b_depth = s.q_stride,
                       .c = s.dk + kv,
                       .c_row = s.kv_stride,
                       .rows = keys,
                       .depth = rows,
                       .columns = dim});
      }
    }
  }
}

}  // namespace kw::KW_UNIT
