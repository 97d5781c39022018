#pragma once
// The pieces of work that each vector unit does its own way. What the public functions do is split here into parts that
// do not depend on each other; a part gives the same bits on every unit.

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/arithmetic/attention.h"
#include "model/arithmetic/optimizer.h"
#include "model/arithmetic/rows.h"
#include "model/weights/gguf_blocks.h"

namespace kw {

// Where the second factor of a product comes from: B (depth, columns).
struct ProductColumns {
  // by_column: element (k, j) at data[j * stride + k]; by_depth: at data[k * stride + j]; packed: a weight whose
  // outputs are the columns; packed_depth: a weight whose outputs are the depth.
  enum class Kind { packed, packed_depth, by_column, by_depth };
  Kind kind = Kind::packed;
  BlockFormat format = BlockFormat::f32;
  const std::byte* data = nullptr;
  std::int64_t stride = 0;   // of floats that are not packed
  std::int64_t columns = 0;  // of the whole matrix
};

// C (rows, columns) = A (rows, depth) * B, for the columns [first_column, first_column + columns) of B. first_column is
// a multiple of 16 and the part stays within one panel of 64.
struct ProductPart {
  const float* a = nullptr;  // element (i, k) at a[i * a_row + k * a_depth]; one of the two strides is 1
  std::int64_t a_row = 0, a_depth = 1;
  std::int64_t rows = 0, depth = 0;
  ProductColumns b;
  std::int64_t first_column = 0, columns = 0;
  float* c = nullptr;  // of row 0 and first_column
  std::int64_t c_row = 0;
  const float* bias = nullptr;  // of first_column on, or null
  bool add = false;
};

// The queries [first_row, first_row + rows) of a sequence, for the query heads of one kv head.
struct AttentionPart {
  const AttentionShape* shape = nullptr;
  const AttentionRows* sequence = nullptr;
  std::int64_t kv_head = 0, first_row = 0, rows = 0;
};

struct AttentionGradientPart {
  const AttentionShape* shape = nullptr;
  const AttentionGradient* sequence = nullptr;
  std::int64_t kv_head = 0;
};

struct NormRows {
  std::int64_t rows = 0, width = 0;
  const float* x = nullptr;
  float* residual = nullptr;  // not null: x is residual + update, and stored there
  const float* update = nullptr;
  const float* weight = nullptr;
  float epsilon = 0;
  float* y = nullptr;
  float* inverse_rms = nullptr;
};

struct NormGradientRows {
  std::int64_t rows = 0, width = 0;
  const float *x = nullptr, *weight = nullptr, *inverse_rms = nullptr, *dy = nullptr;
  float* dx = nullptr;
};

struct AdamWNumbers {  // of a step, the same for all elements
  float gradient_scale, decay, one_minus_beta1, beta2, one_minus_beta2, root_bias2, epsilon, minus_step_size;
};

struct Kernels {
  const char* name;
  void (*product)(const ProductPart& part);
  void (*column_sums)(std::int64_t rows, std::int64_t columns, const float* x, std::int64_t stride, float* sums);
  void (*attend)(const AttentionPart& part);
  void (*attend_gradient)(const AttentionGradientPart& part);
  void (*norm)(const NormRows& rows);
  void (*norm_gradient)(const NormGradientRows& rows);
  // dweight (columns) += sum over rows of dy * x * inverse_rms
  void (*norm_weight_gradient)(std::int64_t rows, std::int64_t columns, std::int64_t stride, const float* x,
                               const float* inverse_rms, const float* dy, float* dweight);
  void (*rotate)(std::int64_t half, const float* cosine, const float* sine, float* x, std::int64_t heads, bool inverse);
  void (*swiglu)(std::int64_t count, const float* gate, const float* up, float* y);
  void (*swiglu_gradient)(std::int64_t count, const float* gate, const float* up, const float* dy, float* dgate,
                          float* dup);
  TokenScore (*score_token)(const float* logits, std::int64_t usable, float inverse_temperature, std::int32_t token);
  void (*score_token_gradient)(float* logits, std::int64_t usable, std::int64_t width, float inverse_temperature,
                               std::int32_t token, const TokenScore& score, float d_log_prob, float d_entropy);
  double (*sum_of_squares)(const float* values, std::int64_t count);
  void (*adamw)(const AdamWNumbers& numbers, std::int64_t count, float* parameters, const float* gradients,
                float* first_moment, float* second_moment);
};

// The best that this machine has, or the one that KERNELWRIGHT_VECTOR (portable, avx2, avx512) names.
const Kernels& kernels();
// All that this machine can run, portable first. For tests.
std::span<const Kernels* const> available_kernels();
// Tests only: kernels() answers this from now on; null: the choice of the machine again.
void force_kernels(const Kernels* chosen);

}  // namespace kw
