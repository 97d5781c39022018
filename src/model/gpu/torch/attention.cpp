#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "model/gpu/torch/operations.h"

namespace kw {
namespace {

using at::Tensor;

// (rows, heads, head_dim) of q, k and v within the fused rows.
struct Parts {
  Tensor q, k, v;
};
Parts parts_of(const Tensor& qkv, const HeadShape& shape) {
  const std::int64_t rows = qkv.size(0);
  return {qkv.narrow(1, 0, shape.query()).view({rows, shape.heads, shape.head_dim}),
          qkv.narrow(1, shape.query(), shape.key()).view({rows, shape.kv_heads, shape.head_dim}),
          qkv.narrow(1, shape.query() + shape.key(), shape.key()).view({rows, shape.kv_heads, shape.head_dim})};
}

bool has_flash(const Tensor& qkv) { return qkv.is_cuda() && qkv.scalar_type() == at::kBFloat16; }

// KERNELWRIGHT_ATTENTION: "flash", or "cudnn" as by default (for sequences of one length, a multiple of 64; others stay
// with flash). With
// "-fast" behind it the gradient may add up in any order, so that two runs differ in their last bits.
struct AttentionChoice {
  bool cudnn = false, any_order = false;
};
const AttentionChoice& attention_choice() {
  static const AttentionChoice choice = [] {
    const char* given = std::getenv("KERNELWRIGHT_ATTENTION");
    const std::string name = given != nullptr ? given : "cudnn";
    if (name == "flash") return AttentionChoice{false, false};
    if (name == "flash-fast") return AttentionChoice{false, true};
    if (name == "cudnn") return AttentionChoice{true, false};
    if (name == "cudnn-fast") return AttentionChoice{true, true};
    throw std::runtime_error("KERNELWRIGHT_ATTENTION is \"" + name + "\": flash, cudnn, flash-fast or cudnn-fast");
  }();
  return choice;
}

// cuDNN makes a plan for each new shape, which takes it a while: only lengths that come back.
constexpr std::int64_t cudnn_length_step = 64;

bool takes_cudnn(const SequenceStarts& starts, const HeadShape& shape) {
  if (!attention_choice().cudnn || shape.head_dim % 8 != 0 || shape.head_dim > 128) return false;
  if (starts.longest % cudnn_length_step != 0) return false;
  return static_cast<std::int64_t>(starts.host.size() - 1) * starts.longest == starts.host.back() - starts.host.front();
}

// (rows, heads, head_dim) as (sequences, heads, length, head_dim), without a copy.
Tensor as_batch(const Tensor& part, const SequenceStarts& starts) {
  return part.unflatten(0, {static_cast<std::int64_t>(starts.host.size()) - 1, starts.longest}).transpose(1, 2);
}

// One sequence, as matrices (heads, rows, ...): probabilities and what they are made from.
struct Plain {
  Tensor q, k, v, p;
};
Plain plain_attention(const Parts& parts, std::int64_t start, std::int64_t rows, const HeadShape& shape) {
  const std::int64_t group = shape.heads / shape.kv_heads;
  const auto matrices = [&](const Tensor& part, bool repeated) {
    const Tensor of_sequence = part.narrow(0, start, rows).transpose(0, 1).to(at::kFloat);
    return repeated ? of_sequence.repeat_interleave(group, 0) : of_sequence;
  };
  Plain plain{matrices(parts.q, false), matrices(parts.k, true), matrices(parts.v, true), {}};
  Tensor scores = at::matmul(plain.q, plain.k.transpose(1, 2)) * shape.scale;
  const Tensor later = at::ones({rows, rows}, scores.options().dtype(at::kBool)).triu(1);
  plain.p = scores.masked_fill(later, -INFINITY).softmax(2);
  return plain;
}

// Only the gradient of flash attention asks this setting; elsewhere it would forbid cuBLAS without its variable.
class Deterministic {
 public:
  explicit Deterministic(bool wanted)
      : before_(at::globalContext().deterministicAlgorithms()),
        only_warned_(at::globalContext().deterministicAlgorithmsWarnOnly()),
        filled_(at::globalContext().deterministicFillUninitializedMemory()) {
    at::globalContext().setDeterministicAlgorithms(wanted, false);  // where it only warns, flash attention ignores it
    at::globalContext().setDeterministicFillUninitializedMemory(false);
  }
  ~Deterministic() {
    at::globalContext().setDeterministicAlgorithms(before_, only_warned_);
    at::globalContext().setDeterministicFillUninitializedMemory(filled_);
  }

 private:
  bool before_, only_warned_, filled_;
};

}  // namespace

AttentionOutput Operations::attention(const Tensor& qkv, const SequenceStarts& starts, const HeadShape& shape) const {
  const Parts parts = parts_of(qkv, shape);
  const std::int64_t rows = qkv.size(0);
  if (has_flash(qkv) && takes_cudnn(starts, shape)) {
    auto [out, log_sum, starts_q, starts_k, longest_q, longest_k, seed, offset, mask] = at::_cudnn_attention_forward(
        as_batch(parts.q, starts), as_batch(parts.k, starts), as_batch(parts.v, starts), std::nullopt, std::nullopt,
        std::nullopt, starts.longest, starts.longest, true, 0.0, true, false, shape.scale);
    return {out.transpose(1, 2).reshape({rows, shape.query()}), log_sum, seed, offset};
  }
  if (has_flash(qkv)) {
    auto [out, log_sum, seed, not_used, mask] =
        at::_flash_attention_forward(parts.q, parts.k, parts.v, starts.device, starts.device, starts.longest,
                                     starts.longest, 0.0, true, false, shape.scale);
    return {out.view({rows, shape.query()}), log_sum, seed, not_used};
  }
  Tensor out = at::empty({rows, shape.query()}, qkv.options());
  for (std::size_t s = 0; s + 1 < starts.host.size(); ++s) {
    const std::int64_t start = starts.host[s], length = starts.host[s + 1] - start;
    const Plain plain = plain_attention(parts, start, length, shape);
    out.narrow(0, start, length).copy_(at::matmul(plain.p, plain.v).transpose(0, 1).reshape({length, shape.query()}));
  }
  return {out, {}, {}, {}};
}

void Operations::attention_backward(const Tensor& dout, const Tensor& qkv, const AttentionOutput& kept,
                                    const SequenceStarts& starts, const HeadShape& shape, Tensor& dqkv) const {
  const Parts parts = parts_of(qkv, shape);
  const Parts gradients = parts_of(dqkv, shape);
  const std::int64_t rows = qkv.size(0), group = shape.heads / shape.kv_heads;
  const auto heads = [&](const Tensor& wide) { return wide.view({rows, shape.heads, shape.head_dim}); };
  if (has_flash(qkv) && takes_cudnn(starts, shape)) {
    const Deterministic deterministic(!attention_choice().any_order);
    const auto batch = [&](const Tensor& part) { return as_batch(part, starts); };
    auto [dq, dk, dv] = at::_cudnn_attention_backward(
        batch(heads(dout)), batch(parts.q), batch(parts.k), batch(parts.v), batch(heads(kept.out)), kept.log_sum,
        kept.seed, kept.not_used, {}, {}, {}, starts.longest, starts.longest, 0.0, true, shape.scale);
    batch(gradients.q).copy_(dq);
    batch(gradients.k).copy_(dk);
    batch(gradients.v).copy_(dv);
    return;
  }
  if (has_flash(qkv)) {
    const Deterministic deterministic(!attention_choice().any_order);
    auto [dq, dk, dv] = at::_flash_attention_backward(heads(dout), parts.q, parts.k, parts.v, heads(kept.out),
                                                      kept.log_sum, starts.device, starts.device, starts.longest,
                                                      starts.longest, 0.0, true, kept.seed, kept.not_used, shape.scale);
    gradients.q.copy_(dq);
    gradients.k.copy_(dk);
    gradients.v.copy_(dv);
    return;
  }
  for (std::size_t s = 0; s + 1 < starts.host.size(); ++s) {
    const std::int64_t start = starts.host[s], length = starts.host[s + 1] - start;
    const Plain plain = plain_attention(parts, start, length, shape);
    const Tensor d =
        dout.narrow(0, start, length).view({length, shape.heads, shape.head_dim}).transpose(0, 1).to(at::kFloat);
    const Tensor dp = at::matmul(d, plain.v.transpose(1, 2));
    const Tensor ds = plain.p * (dp - (dp * plain.p).sum(2, true)) * shape.scale;
    const auto shared = [&](const Tensor& by_head) {  // query heads of a kv head add up
      return by_head.view({shape.kv_heads, group, length, shape.head_dim}).sum(1).transpose(0, 1);
    };
    gradients.q.narrow(0, start, length).copy_(at::matmul(ds, plain.k).transpose(0, 1));
    gradients.k.narrow(0, start, length).copy_(shared(at::matmul(ds.transpose(1, 2), plain.q)));
    gradients.v.narrow(0, start, length).copy_(shared(at::matmul(plain.p.transpose(1, 2), d)));
  }
}

}  // namespace kw
