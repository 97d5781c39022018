#include "model/gpu/torch/operations.h"

#include <algorithm>
#include <cmath>

#include "model/gpu/torch/tensor_address.h"

namespace kw {
namespace {

using at::Tensor;

// Threads for a row of `width` elements in packs of 16 bytes: whole warps.
int threads_for(const Tensor& row_tensor, std::int64_t width) {
  const std::int64_t packs = width / (row_tensor.scalar_type() == at::kBFloat16 ? 8 : 4);
  return as_int(std::clamp<std::int64_t>((packs + 31) / 32 * 32, 32, 256));
}

constexpr std::int64_t norm_gradient_blocks = 132 * 8;  // what an H200 holds at once

}  // namespace

HeadShape::HeadShape(const ModelDescription& description)
    : heads(description.heads),
      kv_heads(description.kv_heads),
      head_dim(description.head_dim),
      scale(1.0 / std::sqrt(static_cast<double>(description.head_dim))) {}

void Operations::embed(const Tensor& ids, const Tensor& table, Tensor& out) const {
  if (!has_kernels()) {
    at::index_select_out(out, table, 0, ids);
    return;
  }
  kernels_->launch(typed("embed", table), {{ids.size(0), 1, 1}, 128, 0}, {ids, table, out, as_int(table.size(1))});
}

void Operations::embed_backward(const TokenRows& rows, const Tensor& dx, Tensor& dtable) const {
  if (!has_kernels()) {
    const Tensor counts = rows.starts.diff().to(at::kLong);
    const Tensor targets = rows.tokens.to(at::kLong).repeat_interleave(counts);
    dtable.index_add_(0, targets, dx.index_select(0, rows.rows).to(at::kFloat));
    return;
  }
  kernels_->launch(typed("embed_backward", dx), {{rows.tokens.size(0), (dx.size(1) + 127) / 128, 1}, 128, 0},
                   {rows.tokens, rows.starts, rows.rows, dx, dtable, as_int(dx.size(1))});
}

void Operations::rms_norm(const Tensor& x, const Tensor& update, Tensor& out, const Tensor& weight, double epsilon,
                          Tensor& y, Tensor& inverse_rms) const {
  const std::int64_t width = x.size(1);
  if (!has_kernels()) {
    Tensor sum = x;
    if (update.defined()) {
      at::add_out(out, x, update);
      sum = out;
    }
    const Tensor wide = sum.to(at::kFloat);
    const Tensor inverse = (wide.square().mean(1) + epsilon).rsqrt();
    if (inverse_rms.defined()) inverse_rms.copy_(inverse);
    y.copy_((wide * inverse.unsqueeze(1)).to(x.scalar_type()) * weight);
    return;
  }
  kernels_->launch(typed("rms_norm", x), {{x.size(0), 1, 1}, threads_for(x, width), 0},
                   {x, update, out, weight, y, inverse_rms, as_int(width), static_cast<float>(epsilon)});
}

void Operations::rms_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& inverse_rms,
                                   Tensor& dx, Tensor& dweight) const {
  const std::int64_t width = x.size(1);
  if (!has_kernels()) {
    const Tensor gradient = dy.to(at::kFloat), values = x.to(at::kFloat), inverse = inverse_rms.unsqueeze(1);
    const Tensor weighted = gradient * weight.to(at::kFloat);
    const Tensor common = (weighted * values).sum(1, true) * inverse.pow(3) / static_cast<double>(width);
    dx.copy_(dx.to(at::kFloat) + weighted * inverse - values * common);
    if (dweight.defined()) dweight.add_((gradient * values * inverse).sum(0));
    return;
  }
  const std::int64_t blocks = std::min(x.size(0), norm_gradient_blocks);
  Tensor partial;
  if (dweight.defined()) partial = at::empty({blocks, width}, x.options().dtype(at::kFloat));
  kernels_->launch(typed("rms_norm_backward", x),
                   {{blocks, 1, 1}, threads_for(x, width), width * static_cast<std::int64_t>(sizeof(float))},
                   {dy, x, weight, inverse_rms, dx, partial, as_int(x.size(0)), as_int(width)});
  if (dweight.defined()) dweight.add_(partial.sum(0));
}

void Operations::rotate_qkv(Tensor& qkv, const Tensor& bias, const Tensor& positions, const Tensor& cosine,
                            const Tensor& sine, const HeadShape& shape, bool back) const {
  if (!has_kernels()) {
    const std::int64_t rotated = shape.heads + shape.kv_heads, half = shape.head_dim / 2;
    const Tensor wide = bias.defined() ? qkv.to(at::kFloat) + bias : qkv.to(at::kFloat);
    const auto turned = [&](const Tensor& of) {
      return of.narrow(1, 0, rotated * shape.head_dim).view({qkv.size(0), rotated, shape.head_dim});
    };
    const Tensor part = turned(wide);
    const Tensor c = cosine.index_select(0, positions).unsqueeze(1);
    const Tensor s = sine.index_select(0, positions).unsqueeze(1) * (back ? -1 : 1);
    const Tensor low = part.narrow(2, 0, half), high = part.narrow(2, half, half);
    turned(qkv).copy_(at::cat({low * c - high * s, high * c + low * s}, 2));
    if (bias.defined()) {
      const std::int64_t begin = rotated * shape.head_dim;
      qkv.narrow(1, begin, shape.key()).copy_(wide.narrow(1, begin, shape.key()));
    }
    return;
  }
  const int threads = threads_for(qkv, (shape.query() + shape.key()) / 2);
  kernels_->launch(typed("rotate_qkv", qkv), {{qkv.size(0), 1, 1}, threads, 0},
                   {qkv, bias, positions, cosine, sine, as_int(shape.heads), as_int(shape.kv_heads),
                    as_int(shape.head_dim), back ? -1.0f : 1.0f});
}

void Operations::swiglu(const Tensor& gate_up, Tensor& y) const {
  const std::int64_t width = y.size(1);
  if (!has_kernels()) {
    const Tensor gate = gate_up.narrow(1, 0, width).to(at::kFloat), up = gate_up.narrow(1, width, width).to(at::kFloat);
    y.copy_(at::silu(gate) * up);
    return;
  }
  const int threads = threads_for(y, width);
  const std::int64_t part = threads * (y.scalar_type() == at::kBFloat16 ? 8 : 4);
  kernels_->launch(typed("swiglu", y), {{y.size(0), (width + part - 1) / part, 1}, threads, 0},
                   {gate_up, y, as_int(width)});
}

void Operations::swiglu_backward(Tensor& gate_up, const Tensor& dy, Tensor& y) const {
  const std::int64_t width = dy.size(1);
  if (!has_kernels()) {
    const Tensor gate = gate_up.narrow(1, 0, width).to(at::kFloat), up = gate_up.narrow(1, width, width).to(at::kFloat);
    const Tensor gradient = dy.to(at::kFloat), s = at::sigmoid(gate), silu = gate * s;
    if (y.defined()) y.copy_(silu * up);
    gate_up.narrow(1, 0, width).copy_(gradient * up * (s + silu * (1 - s)));
    gate_up.narrow(1, width, width).copy_(gradient * silu);
    return;
  }
  const int threads = threads_for(dy, width);
  const std::int64_t part = threads * (dy.scalar_type() == at::kBFloat16 ? 8 : 4);
  kernels_->launch(typed("swiglu_backward", dy), {{dy.size(0), (width + part - 1) / part, 1}, threads, 0},
                   {gate_up, dy, y, as_int(width)});
}

void Operations::mask_logits(Tensor& logits, const Tensor& masks, const Tensor& mask_of_row,
                             std::int64_t usable) const {
  if (!has_kernels()) {
    const Tensor rows = (mask_of_row >= 0).nonzero().squeeze(1);
    if (rows.size(0) == 0) return;
    const Tensor words = masks.index_select(0, mask_of_row.index_select(0, rows)).to(at::kLong);
    const Tensor bits = words.unsqueeze(2).bitwise_right_shift(at::arange(32, at::kLong)).bitwise_and(1);
    const Tensor banned = (bits.flatten(1).narrow(1, 0, usable) == 0);
    Tensor part = logits.index_select(0, rows);
    part.narrow(1, 0, usable).masked_fill_(banned, -1e30);
    logits.index_copy_(0, rows, part);
    return;
  }
  kernels_->launch(typed("mask_logits", logits), {{(usable + 2047) / 2048, logits.size(0), 1}, 256, 0},
                   {logits, masks, mask_of_row, as_int(logits.size(1)), as_int(usable), as_int(masks.size(1))});
}

void Operations::score_tokens(const Tensor& logits, const Tensor& tokens, std::int64_t usable,
                              float inverse_temperature, Tensor& log_prob, Tensor& entropy, Tensor& log_sum) const {
  if (!has_kernels()) {
    const Tensor z = logits.narrow(1, 0, usable).to(at::kFloat) * inverse_temperature;
    log_sum.copy_(z.logsumexp(1));
    log_prob.copy_(z.gather(1, tokens.to(at::kLong).unsqueeze(1)).squeeze(1) - log_sum);
    entropy.copy_(log_sum - ((z - log_sum.unsqueeze(1)).exp() * z).sum(1));
    return;
  }
  kernels_->launch(
      typed("score_tokens", logits), {{logits.size(0), 1, 1}, 512, 0},
      {logits, tokens, log_prob, entropy, log_sum, as_int(logits.size(1)), as_int(usable), inverse_temperature});
}

void Operations::score_gradient(const Tensor& logits, const Tensor& tokens, std::int64_t usable,
                                float inverse_temperature, const Tensor& log_sum, const Tensor& entropy,
                                const Tensor& d_log_prob, const Tensor& d_entropy, Tensor& out) const {
  const std::int64_t rows = logits.size(0), width = logits.size(1);
  if (!has_kernels()) {
    const Tensor log_p = logits.narrow(1, 0, usable).to(at::kFloat) * inverse_temperature - log_sum.unsqueeze(1);
    const Tensor p = log_p.exp();
    Tensor gradient = -d_log_prob.unsqueeze(1) * p;
    gradient.scatter_add_(1, tokens.to(at::kLong).unsqueeze(1), d_log_prob.unsqueeze(1));
    if (d_entropy.defined()) gradient -= d_entropy.unsqueeze(1) * p * (log_p + entropy.unsqueeze(1));
    out.zero_();
    out.narrow(1, 0, usable).copy_(gradient * inverse_temperature);
    return;
  }
  const bool narrow = logits.scalar_type() == at::kBFloat16;
  kernels_->launch(narrow ? std::string("score_gradient_narrow") : typed("score_gradient", out),
                   {{(width + 2047) / 2048, rows, 1}, 256, 0},
                   {logits, tokens, log_sum, entropy, d_log_prob, d_entropy, out, as_int(width), as_int(usable),
                    inverse_temperature});
}

void Operations::adamw(const AdamWNumbers& n, Tensor& values, Tensor& gradient, Tensor& first, Tensor& second,
                       Tensor& copy) const {
  const double correction1 = 1 - std::pow(n.beta1, static_cast<double>(n.step));
  const double root2 = std::sqrt(1 - std::pow(n.beta2, static_cast<double>(n.step)));
  if (!has_kernels()) {
    const Tensor g = gradient * n.gradient_scale;
    first.mul_(n.beta1).add_(g, 1 - n.beta1);
    second.mul_(n.beta2).addcmul_(g, g, 1 - n.beta2);
    values.mul_(1 - n.learning_rate * n.decay);
    values.addcdiv_(first, second.sqrt() / root2 + n.epsilon, -n.learning_rate / correction1);
    gradient.zero_();
    if (copy.defined()) copy.copy_(values);
    return;
  }
  kernels_->launch("adamw", {{2048, 1, 1}, 256, 0},
                   {values, gradient, first, second, copy, static_cast<std::uint64_t>(values.numel()),
                    static_cast<float>(n.gradient_scale), static_cast<float>(n.learning_rate),
                    static_cast<float>(n.beta1), static_cast<float>(n.beta2), static_cast<float>(n.epsilon),
                    static_cast<float>(n.decay), static_cast<float>(correction1), static_cast<float>(root2)});
}

}  // namespace kw
