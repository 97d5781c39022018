#pragma once
// Forward and backward of the decoder family over one batch, on the CPU, by hand. The functions of src/model/arithmetic
// are called in the order in which the decoder calls them, so that a token has the log-probability it was sampled with,
// to the last bit.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/arithmetic/attention.h"
#include "model/arithmetic/rows.h"
#include "model/decoder/adapter_linear.h"
#include "model/decoder/base_weights.h"
#include "model/decoder/batch_plan.h"
#include "model/decoder/float_buffer.h"

namespace kw {

// What a block leaves for its gradient. T rows; in the last block only the rows that predict a scored token go on
// after attention, and what follows it has so many rows.
struct BlockActivations {
  FloatBuffer norm1, inverse1;      // (T, hidden), (T)
  FloatBuffer qkv;                  // (T, (heads + 2 kv_heads) * head_dim), q and k rotated
  FloatBuffer attention, log_sum;   // (T, heads * head_dim), (T, heads)
  FloatBuffer attention_scored;     // (scored, heads * head_dim): rows of attention that go on, in the last block
  FloatBuffer middle;               // (T, hidden): the residual stream after attention
  FloatBuffer norm2, inverse2;      // (T, hidden), (T)
  FloatBuffer gate, up, activated;  // (T, intermediate)
};

// One batch on its way through the model.
struct CpuPass {
  BatchPlan plan;
  std::vector<FloatBuffer> streams;         // (T, hidden) each: what enters each block
  std::vector<BlockActivations> blocks;     // one for each layer, or one for all when nothing is kept
  FloatBuffer scored_stream;                // (scored, hidden): rows of the last stream that predict
  FloatBuffer scored_norm, scored_inverse;  // (scored, hidden), (scored)
  FloatBuffer logits;                       // (kept_logits, vocabulary): of the first scored tokens
  std::int64_t kept_logits = 0;
  std::vector<TokenScore> scores;  // in the plan's order
};

// Where gradients are added; null: not wanted.
struct CpuGradients {
  float* base = nullptr;         // like ParameterLayout
  std::vector<float*> adapters;  // like Adapter::values, one for each adapter
  std::int64_t first_layer = 0;  // no layer below it has anything to learn
};

class CpuBlocks {
 public:
  CpuBlocks(ThreadTeam& team, BaseWeights& base, const std::vector<Adapter>& adapters);

  // Must be called before the first block of a plan is run.
  void prepare(const BatchPlan& plan);
  // x (T, hidden), out (T, hidden) or of the last block (scored, hidden). out null: only what is kept is wanted.
  void run(const BatchPlan& plan, std::int64_t layer, const float* x, BlockActivations& kept, float* out);
  // From the gradient of what left the block to dx, that of what entered it; both are the same memory except in the
  // last block. Overwrites `kept` and d_out. In the first layer that learns, dx is left unfinished, for nobody needs
  // it.
  void run_gradient(const BatchPlan& plan, std::int64_t layer, const float* x, BlockActivations& kept, float* d_out,
                    float* dx, const CpuGradients& gradients);

 private:
  // Rows of a product, and which of them belong to adapters.
  struct Rows {
    std::int64_t count = 0;
    const std::vector<BatchPlan::Run>& runs;
  };
  Rows rows_after_attention(const BatchPlan& plan, std::int64_t layer) const;
  bool is_last(std::int64_t layer) const { return layer + 1 == base_.description().layers; }
  void project(const Rows& rows, std::int64_t layer, Projection first, int count, const float* x, float* y);
  // Gradients of `count` projections that read x. dy (rows, all outs), dx (rows, in) or null.
  void project_gradient(const Rows& rows, std::int64_t layer, Projection first, int count, const float* x,
                        const float* dy, float* dx, bool add, const CpuGradients& gradients);
  void write_pages(const BatchPlan& plan, const float* qkv);
  bool is_adapted(std::int64_t layer, Projection first, int count) const;

  ThreadTeam& team_;
  BaseWeights& base_;
  const std::vector<Adapter>& adapters_;
  AttentionShape shape_;
  std::int64_t hidden_, query_, key_, intermediate_;
  std::unique_ptr<RotaryTable> rotary_;
  std::int64_t rotary_positions_ = 0;

  // Pages of one layer at a time.
  FloatBuffer page_keys_, page_values_;
  std::vector<KvPage> pages_;
  std::vector<std::size_t> first_page_;      // of each sequence, and the end
  std::vector<std::int32_t> page_sequence_;  // whose page it is
  std::vector<AttentionRows> attention_rows_;
  std::vector<AttentionGradient> attention_gradients_;

  AdapterScratch adapter_scratch_;
  FloatBuffer entered_;      // (scored, hidden): rows of x that go on in the last block
  FloatBuffer update_;       // (T, hidden)
  FloatBuffer d_norm_;       // (T, hidden)
  FloatBuffer d_wide_;       // (T, max(heads * head_dim, intermediate))
  FloatBuffer d_attention_;  // (T, heads * head_dim), in the last block
  FloatBuffer d_qkv_;        // like qkv
  FloatBuffer d_part_;       // one projection's share of d_qkv_
};

}  // namespace kw
