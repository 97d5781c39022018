#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "model/gpu/torch/operations.h"
#include "model/gpu/torch/tensor_address.h"

namespace kw {
namespace {

using at::Tensor;

// The kernel's noise, to the same bits up to the logarithm.
float gumbel(std::uint32_t key_low, std::uint32_t key_high, std::uint32_t token) {
  std::uint32_t h = token * 0x9e3779b9u + key_low;
  h ^= h >> 16;
  h *= 0x21f0aaadu;
  h ^= (h >> 15) ^ key_high;
  h *= 0x735a2d97u;
  h ^= h >> 15;
  const float uniform = std::min((static_cast<float>(h) + 0.5f) * (1.0f / 4294967296.0f), 1.0f - 1.0f / 16777216.0f);
  return -std::log(-std::log1p(-uniform));
}

bool has_matrix_attention(const Tensor& qkv, const HeadShape& shape) {
  return qkv.scalar_type() == at::kBFloat16 && shape.heads / shape.kv_heads <= 16 &&
         (shape.head_dim == 32 || shape.head_dim == 64 || shape.head_dim == 128);
}

// KERNELWRIGHT_ROTATING_ATTENTION=0: rotation as a kernel of its own.
bool rotates_in_attention() {
  static const bool wanted = [] {
    const char* given = std::getenv("KERNELWRIGHT_ROTATING_ATTENTION");
    return given == nullptr || std::string_view(given) != "0";
  }();
  return wanted;
}

// Where the parts of a context leave their sums, and the largest score and the total of each.
std::pair<Tensor, Tensor> parts_of(const Tensor& scratch, std::int64_t rows, std::int64_t parts,
                                   const HeadShape& shape) {
  const std::int64_t count = rows * shape.heads * parts;
  return {scratch.narrow(0, 0, count * shape.head_dim), scratch.narrow(0, count * shape.head_dim, count * 2)};
}

}  // namespace

void Operations::rotate_into_cache(Tensor& qkv, const Tensor& bias, const Tensor& positions, const Tensor& slots,
                                   const Tensor& cosine, const Tensor& sine, const HeadShape& shape, Tensor& keys,
                                   Tensor& values) const {
  const std::int64_t rows = qkv.size(0);
  if (!has_kernels()) {
    rotate_qkv(qkv, bias, positions, cosine, sine, shape, false);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t slot = slots[row].item<std::int32_t>();
      if (slot < 0) continue;
      const Tensor parts = qkv[row].narrow(0, shape.query(), 2 * shape.key()).view({2, shape.kv_heads, shape.head_dim});
      keys[slot / 16].select(1, slot % 16).copy_(parts[0]);
      values[slot / 16].select(2, slot % 16).copy_(parts[1]);
    }
    return;
  }
  kernels_->launch(typed("rotate_into_cache", qkv), {{rows, 1, 1}, 256, 0},
                   {qkv, bias, positions, slots, cosine, sine, keys, values, as_int(shape.heads),
                    as_int(shape.kv_heads), as_int(shape.head_dim)});
}

void Operations::paged_attention(const Tensor& qkv, const Tensor& keys, const Tensor& values, const PagedRows& rows,
                                 const HeadShape& shape, std::int64_t parts, Tensor& scratch, Tensor& out) const {
  const std::int64_t count = qkv.size(0);
  if (!has_kernels()) {
    const std::int64_t stride = rows.table_stride[0].item<std::int32_t>(), group = shape.heads / shape.kv_heads;
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t length = rows.lengths[row].item<std::int32_t>();
      if (length == 0) {
        out[row].zero_();
        continue;
      }
      const Tensor pages =
          rows.tables.narrow(0, rows.table_of_row[row].item<std::int32_t>() * stride, (length + 15) / 16);
      const auto of_heads = [&](const Tensor& tokens) {  // (kv_heads, tokens, head_dim) -> (heads, length, head_dim)
        return tokens.narrow(1, 0, length).to(at::kFloat).repeat_interleave(group, 0);
      };
      const Tensor k = of_heads(keys.index_select(0, pages).transpose(0, 1).flatten(1, 2));
      const Tensor v = of_heads(values.index_select(0, pages).permute({1, 0, 3, 2}).flatten(1, 2));
      const Tensor q = qkv[row].narrow(0, 0, shape.query()).view({shape.heads, 1, shape.head_dim}).to(at::kFloat);
      const Tensor p = (at::matmul(q, k.transpose(1, 2)) * shape.scale).softmax(2);
      out[row].copy_(at::matmul(p, v).view({shape.query()}));
    }
    return;
  }
  if (!has_matrix_attention(qkv, shape)) {
    kernels_->launch(typed("paged_attention_plain", qkv), {{shape.heads, count, 1}, 32, shape.head_dim * 4},
                     {qkv, keys, values, rows.tables, rows.table_of_row, rows.lengths, rows.table_stride, out,
                      as_int(shape.kv_heads), as_int(shape.head_dim), static_cast<float>(shape.scale)});
    return;
  }
  const auto [part_out, part_scale] = parts_of(scratch, count, parts, shape);
  kernels_->launch("paged_attention_" + std::to_string(shape.head_dim), {{parts, shape.kv_heads, count}, 128, 0},
                   {qkv, keys, values, rows.tables, rows.table_of_row, rows.lengths, rows.table_stride, out, part_out,
                    part_scale, as_int(shape.heads), as_int(shape.kv_heads), static_cast<float>(shape.scale)});
  if (parts > 1) {
    kernels_->launch("join_attention", {{shape.heads, count, 1}, as_int(shape.head_dim), 0},
                     {part_out, part_scale, out, as_int(parts)});
  }
}

void Operations::rotating_attention(Tensor& qkv, const Tensor& bias, const Tensor& positions, const Tensor& slots,
                                    const Tensor& cosine, const Tensor& sine, Tensor& keys, Tensor& values,
                                    const PagedRows& rows, const HeadShape& shape, std::int64_t parts, Tensor& scratch,
                                    Tensor& out) const {
  if (!has_kernels() || !has_matrix_attention(qkv, shape) || !rotates_in_attention()) {
    rotate_into_cache(qkv, bias, positions, slots, cosine, sine, shape, keys, values);
    paged_attention(qkv, keys, values, rows, shape, parts, scratch, out);
    return;
  }
  const std::int64_t count = qkv.size(0);
  const auto [part_out, part_scale] = parts_of(scratch, count, parts, shape);
  kernels_->launch("paged_attention_rotating_" + std::to_string(shape.head_dim),
                   {{parts, shape.kv_heads, count}, 128, 0},
                   {qkv, bias, positions, slots, cosine, sine, keys, values, rows.tables, rows.table_of_row,
                    rows.lengths, rows.table_stride, out, part_out, part_scale, as_int(shape.heads),
                    as_int(shape.kv_heads), static_cast<float>(shape.scale)});
  if (parts > 1) {
    kernels_->launch("join_attention", {{shape.heads, count, 1}, as_int(shape.head_dim), 0},
                     {part_out, part_scale, out, as_int(parts)});
  }
}

void Operations::low_rank_rows(const Tensor& x, const LowRankTable& table, const Tensor& adapter_of_row,
                               Tensor y) const {
  if (table.most_rank == 0) return;
  const std::int64_t rows = x.size(0), out = y.size(1);
  if (!has_kernels()) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const int adapter = adapter_of_row[row].item<std::int32_t>();
      if (adapter < 0 || !table.a_values[static_cast<std::size_t>(adapter)].defined()) continue;
      const auto i = static_cast<std::size_t>(adapter);
      y[row].add_(at::mv(table.b_values[i], at::mv(table.a_values[i], x[row])), table.host_scales[i]);
    }
    return;
  }
  // Each part does the first product again: worth it only where rows alone leave the GPU idle.
  const std::int64_t part = rows < 64 ? 1024 : out;
  kernels_->launch(typed("low_rank_rows", x), {{(out + part - 1) / part, rows, 1}, 256, table.most_rank * 4},
                   {x, as_int(x.stride(0)), y, as_int(y.stride(0)), adapter_of_row, table.a, table.b, table.scales,
                    table.ranks, as_int(x.size(1)), as_int(out), as_int(part)});
}

void Operations::sample(const Tensor& logits, const Tensor& rules, std::int64_t usable, std::int64_t parts,
                        Tensor& scratch, Tensor& tokens, Tensor& log_probs) const {
  const std::int64_t rows = logits.size(0), width = logits.size(1);
  if (!has_kernels()) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto* rule = reinterpret_cast<const std::uint32_t*>(rules.data_ptr<std::int32_t>()) + row * 4;
      const Tensor z = logits[row].narrow(0, 0, usable) * std::bit_cast<float>(rule[0]);
      const float* values = z.data_ptr<float>();
      std::int64_t best = 0;
      float best_value = -INFINITY;
      for (std::int64_t i = 0; i < usable; ++i) {
        const float value =
            rule[1] != 0 ? values[i] + gumbel(rule[2], rule[3], static_cast<std::uint32_t>(i)) : values[i];
        if (value > best_value) best_value = value, best = i;
      }
      tokens[row] = best;
      log_probs[row] = z[best] - z.logsumexp(0);
    }
    return;
  }
  kernels_->launch("sample_parts", {{parts, rows, 1}, 256, 0}, {logits, rules, scratch, as_int(width), as_int(usable)});
  kernels_->launch("sample_join", {{rows, 1, 1}, 32, 0}, {scratch, as_int(parts), tokens, log_probs});
}

}  // namespace kw
