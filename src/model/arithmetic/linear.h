#pragma once
// Matrix products of the model, on the CPU, in float32.
//
// Order: every element of a result of linear() is one chain of fused multiply-adds over `in`, ascending, from zero;
// a bias or the old value is added at the end. So a row's result is the same to the last bit whatever other rows are in
// the batch, however many threads there are and whichever vector unit does it: what rollout sampled, training computes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/arithmetic/aligned_memory.h"
#include "model/arithmetic/thread_team.h"
#include "model/weights/gguf_blocks.h"

namespace kw {

// A weight (out, in), laid out for reading: panels of several outputs side by side. Blocks of a GGUF file stay
// quantised and are expanded on the way into the registers, to exactly the values of dequantise_blocks().
class PackedWeight {
 public:
  PackedWeight() = default;
  static PackedWeight from_floats(std::span<const float> values, std::int64_t out, std::int64_t in);
  // `row_order[i]` is the row of the file that becomes row i; empty: as they lie. Formats: all of BlockFormat.
  static PackedWeight from_blocks(BlockFormat format, std::span<const std::byte> blocks, std::int64_t out,
                                  std::int64_t in, std::span<const std::int64_t> row_order = {});

  std::int64_t out() const { return out_; }
  std::int64_t in() const { return in_; }
  std::size_t bytes() const { return storage_.size(); }
  // Row `row` as float32: for embeddings that share this weight.
  void read_row(std::int64_t row, std::span<float> values) const;

 private:
  friend class LinearKernels;
  std::int64_t out_ = 0, in_ = 0;
  BlockFormat format_ = BlockFormat::f32;
  std::vector<std::byte, AlignedMemory<std::byte>> storage_;
};

// y (rows, out) = x (rows, in) * weight^T + bias, or y += that.
// bias: (out) or null. Strides in floats.
struct LinearRows {
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  float* y = nullptr;
  std::int64_t y_stride = 0;
  std::int64_t rows = 0;
};
void linear(ThreadTeam& team, const LinearRows& rows, const PackedWeight& weight, const float* bias, bool add = false);

// The same from a weight that is not packed, row-major (out, in): it is packed on the way, so it pays for many rows.
void linear(ThreadTeam& team, const LinearRows& rows, const float* weight, std::int64_t out, std::int64_t in,
            const float* bias, bool add = false);

// Gradients: sums of chains of 512. dx (rows, in) = dy (rows, out) * weight (out, in), or added to it.
void linear_input_gradient(ThreadTeam& team, std::int64_t rows, const float* dy, const float* weight, std::int64_t out,
                           std::int64_t in, float* dx, bool add);
// The same from a packed weight, as it is. Few rows are not worth it: a weight is expanded once for 240 of them.
void linear_input_gradient(ThreadTeam& team, std::int64_t rows, const float* dy, const PackedWeight& weight, float* dx,
                           bool add);
// dweight (out, in) += dy^T x; dbias (out) += column sums of dy, unless null.
void linear_weight_gradient(ThreadTeam& team, std::int64_t rows, const float* dy, const float* x, std::int64_t out,
                            std::int64_t in, float* dweight, float* dbias);

}  // namespace kw
