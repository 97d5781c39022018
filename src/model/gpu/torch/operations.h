#pragma once
// What the model does, on tensors of one device. On a GPU these are our kernels (kernels/*.cu), cuBLAS and torch's
// flash attention; on the CPU plain ATen operations that say the same: the slow path that the kernels are tested
// against. Matrices are row-major; `rows` of a tensor are its first dimension. An undefined tensor is "none".

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/decoder/token_mask.h"
#include "model/gpu/torch/kernel_module.h"
#include "model/gpu/torch/stopwatch.h"
#include "model/gpu/torch/torch_headers.h"
#include "model/weights/model_description.h"

namespace kw {

struct Nf4Matrix;  // nf4_matrices.h

struct HeadShape {
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  double scale = 0;

  explicit HeadShape(const ModelDescription& description);
  std::int64_t query() const { return heads * head_dim; }
  std::int64_t key() const { return kv_heads * head_dim; }
  std::int64_t qkv() const { return query() + 2 * key(); }
};

// Sequences one after the other.
struct SequenceStarts {
  std::vector<std::int64_t> host;  // sequences + 1
  at::Tensor device;               // the same, int32
  std::int64_t longest = 0;
};

// Rows of each distinct token, for the embedding's gradient: one order of summation.
struct TokenRows {
  at::Tensor tokens, starts, rows;  // int32: (n), (n + 1), (all)
};

struct AttentionOutput {
  at::Tensor out;                      // (rows, heads * head_dim)
  at::Tensor log_sum, seed, not_used;  // for the gradient; only on the fast path
};

struct AdamWNumbers {
  double learning_rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, decay = 0, gradient_scale = 1;
  std::int64_t step = 1;
};

// Rows of a step, of which row i reads table `table_of_row[i]` of page numbers. All int32, on the device.
struct PagedRows {
  at::Tensor tables;        // page numbers, table after table
  at::Tensor table_stride;  // (1)
  at::Tensor table_of_row;  // (rows)
  at::Tensor lengths;       // (rows): keys that the row sees; 0: the row is none
};

// One layer's low-rank additions for rows with adapters of their own.
struct LowRankTable {
  at::Tensor a, b;                             // (adapters) int64: addresses; 0: not adapted here
  at::Tensor scales, ranks;                    // (adapters): float, int32
  std::vector<at::Tensor> a_values, b_values;  // (rank, in), (out, rank); undefined: not adapted
  std::vector<float> host_scales;
  std::int64_t most_rank = 0;  // 0: no adapter touches this layer
};

// A mask as `words` words of 32 bits, behind what is there.
inline void append_mask(const TokenMask& mask, std::int64_t words, std::vector<std::int32_t>& bits) {
  for (std::int64_t i = 0; i < words; ++i) {
    const auto at = static_cast<std::size_t>(i / 2);
    const std::uint64_t pair = at < mask.words().size() ? mask.words()[at] : 0;
    bits.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(pair >> (32 * (i % 2)))));
  }
}

class Operations {
 public:
  // None: the slow twins.
  explicit Operations(std::shared_ptr<const KernelLauncher> kernels) : kernels_(std::move(kernels)) {}
  bool has_kernels() const { return kernels_ != nullptr; }
  const KernelLauncher* kernels() const { return kernels_.get(); }

  // out = alpha * op(a) op(b) + beta * out; types may differ between out and the others on the GPU.
  void product(at::Tensor& out, const at::Tensor& a, bool transpose_a, const at::Tensor& b, bool transpose_b,
               double beta = 0, double alpha = 1) const;

  // y += scale * x op(weights) where x has few columns: in bf16 a kernel of our own, if sizes allow it.
  void low_rank_add(at::Tensor& y, const at::Tensor& x, const at::Tensor& weights, bool transposed, double scale) const;

  void embed(const at::Tensor& ids, const at::Tensor& table, at::Tensor& out) const;
  void embed_backward(const TokenRows& rows, const at::Tensor& dx, at::Tensor& dtable) const;
  // out = x + update (none: out is not touched), y = norm of that.
  void rms_norm(const at::Tensor& x, const at::Tensor& update, at::Tensor& out, const at::Tensor& weight,
                double epsilon, at::Tensor& y, at::Tensor& inverse_rms) const;
  // dx += ..., dweight (float) += ... unless none.
  void rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& inverse_rms, at::Tensor& dx, at::Tensor& dweight) const;
  void rotate_qkv(at::Tensor& qkv, const at::Tensor& bias, const at::Tensor& positions, const at::Tensor& cosine,
                  const at::Tensor& sine, const HeadShape& shape, bool back) const;
  void swiglu(const at::Tensor& gate_up, at::Tensor& y) const;
  // gate_up becomes its gradient, y (unless none) the forward result once more.
  void swiglu_backward(at::Tensor& gate_up, const at::Tensor& dy, at::Tensor& y) const;

  // Causal, within each sequence.
  AttentionOutput attention(const at::Tensor& qkv, const SequenceStarts& starts, const HeadShape& shape) const;
  void attention_backward(const at::Tensor& dout, const at::Tensor& qkv, const AttentionOutput& kept,
                          const SequenceStarts& starts, const HeadShape& shape, at::Tensor& dqkv) const;

  // Takes from logits (rows, vocabulary) what may not be chosen. masks: int32 (n, words), a bit for each of the usable
  // tokens; mask_of_row: int32 (rows), -1: any token.
  void mask_logits(at::Tensor& logits, const at::Tensor& masks, const at::Tensor& mask_of_row,
                   std::int64_t usable) const;
  // logits: float (rows, vocabulary), or bf16 where everything is. The results are float (rows).
  void score_tokens(const at::Tensor& logits, const at::Tensor& tokens, std::int64_t usable, float inverse_temperature,
                    at::Tensor& log_prob, at::Tensor& entropy, at::Tensor& log_sum) const;
  // out may be the logits, where types agree.
  void score_gradient(const at::Tensor& logits, const at::Tensor& tokens, std::int64_t usable,
                      float inverse_temperature, const at::Tensor& log_sum, const at::Tensor& entropy,
                      const at::Tensor& d_log_prob, const at::Tensor& d_entropy, at::Tensor& out) const;

  // Clears the gradient and refreshes `copy`, unless none.
  void adamw(const AdamWNumbers& numbers, at::Tensor& values, at::Tensor& gradient, at::Tensor& first,
             at::Tensor& second, at::Tensor& copy) const;

  // keys (pages, kv_heads, 16, head_dim), values (pages, kv_heads, head_dim, 16); slots: page * 16 + place or -1.
  void rotate_into_cache(at::Tensor& qkv, const at::Tensor& bias, const at::Tensor& positions, const at::Tensor& slots,
                         const at::Tensor& cosine, const at::Tensor& sine, const HeadShape& shape, at::Tensor& keys,
                         at::Tensor& values) const;
  // parts: into how many the context is divided; scratch: float, rows * heads * parts * (head_dim + 2).
  void paged_attention(const at::Tensor& qkv, const at::Tensor& keys, const at::Tensor& values, const PagedRows& rows,
                       const HeadShape& shape, std::int64_t parts, at::Tensor& scratch, at::Tensor& out) const;
  // rotate_into_cache and paged_attention at once, for rows of one token each; qkv may become rotated or not.
  void rotating_attention(at::Tensor& qkv, const at::Tensor& bias, const at::Tensor& positions, const at::Tensor& slots,
                          const at::Tensor& cosine, const at::Tensor& sine, at::Tensor& keys, at::Tensor& values,
                          const PagedRows& rows, const HeadShape& shape, std::int64_t parts, at::Tensor& scratch,
                          at::Tensor& out) const;
  void low_rank_rows(const at::Tensor& x, const LowRankTable& table, const at::Tensor& adapter_of_row,
                     at::Tensor y) const;
  // rules: int32 (rows, 4), bits of {1 / temperature, noisy, key low, key high}; scratch: float, rows * parts * 5.
  void sample(const at::Tensor& logits, const at::Tensor& rules, std::int64_t usable, std::int64_t parts,
              at::Tensor& scratch, at::Tensor& tokens, at::Tensor& log_probs) const;

  // Products for a single row, on the GPU only. pairs: silu(first half) * second half.
  struct SingleRow {
    at::Tensor norm, bias, residual;
    double epsilon = 0;
    bool pairs = false;
  };
  void single_row(const at::Tensor& x, const at::Tensor& weight, const SingleRow& extras, at::Tensor& y) const;

  // out (out, in) = the matrix, in out's type.
  void expand_nf4(const Nf4Matrix& matrix, at::Tensor& out) const;
  // Whether nf4_rows can do it: a few rows in bf16, on the GPU. Beyond, expanding and cuBLAS are faster.
  bool has_nf4_rows(const Nf4Matrix& matrix, const at::Tensor& x) const;
  static constexpr std::int64_t most_nf4_rows = 16;
  // y = x W^T and what single_row does besides, for a few rows; residual has y's stride. exact: weights are rounded as
  // expand_nf4 does; else codes are, which is faster.
  void nf4_rows(const at::Tensor& x, const Nf4Matrix& matrix, const SingleRow& extras, bool exact, at::Tensor& y) const;

  Stopwatch& stopwatch() const { return stopwatch_; }

 private:
  std::shared_ptr<const KernelLauncher> kernels_;
  mutable Stopwatch stopwatch_;
};

}  // namespace kw
