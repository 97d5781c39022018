#pragma once
// Steps over a paged cache of keys and values. A step of one token a row runs as a CUDA graph, one for each padded
// number of rows, captured when first needed; anything else (prompts) runs operation by operation. All of a step's
// inputs travel in one copy, tokens and log-probabilities come back in another.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "model/gpu/gpu_library.h"
#include "model/gpu/torch/operations.h"
#include "model/gpu/torch/trainer.h"

namespace kw {

class GpuDecoder final : public Decoder {
 public:
  // `owned` keeps the flat buffers alive that the model's tensors are views of; may be empty for a trainer's.
  GpuDecoder(std::shared_ptr<SharedModel> model, std::vector<at::Tensor> owned, const GpuDecoderOptions& options,
             HostSampler sampler);
  ~GpuDecoder() override;

  std::int64_t page_tokens() const override { return 16; }
  std::int64_t page_count() const override { return page_count_; }
  std::int64_t context() const override { return context_; }
  std::int64_t most_tokens() const override { return options_.most_tokens; }
  Result<std::vector<SampledToken>> step(std::span<const DecoderRow> rows) override;
  Result<void> copy_page(std::int32_t from, std::int32_t to) override;
  std::int64_t weights_version() const override { return model_->version; }
  bool constrains() const override { return true; }

  // Into the buffers that it owns, so that graphs go on reading them.
  void update(const Parameters* base, const std::vector<Adapter>& adapters, std::int64_t version);

  std::string profile() { return operations_.stopwatch().report(); }

 private:
  // A step's inputs, as views of one int32 buffer. n tokens, m rows that are sampled.
  struct Inputs {
    at::Tensor tokens, positions, slots, adapters;  // (n)
    PagedRows paged;                                // lengths and table_of_row: (n)
    at::Tensor rules;                               // (m, 4)
    at::Tensor last;                                // (m): the token whose next one is sampled
    std::int64_t tables_at = 0;                     // where page numbers begin
  };
  // What the host decides about a step.
  struct StepPlan {
    std::int64_t tokens = 0, rows = 0;  // padded
    std::int64_t fresh = 0;             // the first tokens: whole prompts from position 0
    SequenceStarts starts;              // of those prompts
    std::vector<std::size_t> sampled;   // which caller's row each sampled row is
    std::int64_t used = 0;              // elements of the buffer
    bool single_tokens = false;         // every row has one token
    bool masked = false;                // a row may not choose any token
  };

  Result<void> check(std::span<const DecoderRow> rows) const;
  static Inputs views(const at::Tensor& buffer, std::int64_t tokens, std::int64_t rows);
  StepPlan fill(std::span<const DecoderRow> rows, std::int64_t padded);
  void compute(const Inputs& inputs, const StepPlan& plan);
  void compute_single(const Inputs& inputs, const StepPlan& plan);
  void replay(const Inputs& inputs, const StepPlan& plan);
  void attend(const Inputs& inputs, const StepPlan& plan, std::int64_t layer, at::Tensor& qkv, at::Tensor& out) const;
  void linear(at::Tensor& y, const at::Tensor& x, const at::Tensor& weight) const;
  void linear(at::Tensor& y, const at::Tensor& x, std::int64_t layer, AdapterGroup group);
  // A single row, with what its product does besides.
  void linear_single(at::Tensor& y, const at::Tensor& x, std::int64_t layer, AdapterGroup group,
                     const Operations::SingleRow& extras) const;
  bool has_single() const;
  void adapt(const Inputs& inputs, std::int64_t layer, AdapterGroup group, const at::Tensor& x, at::Tensor& y) const;
  void finish(const Inputs& inputs, const StepPlan& plan);
  void fill_masks(std::span<const DecoderRow> rows, StepPlan& plan);
  std::vector<SampledToken> collect(std::span<const DecoderRow> rows, const StepPlan& plan);
  at::Tensor keys(std::int64_t layer) const;
  at::Tensor values(std::int64_t layer) const;
  std::int64_t attention_parts(std::int64_t rows) const;

  std::shared_ptr<SharedModel> model_;
  std::vector<at::Tensor> owned_;
  std::optional<Nf4Workspace> workspace_;  // where the base is packed
  GpuDecoderOptions options_;
  HostSampler sampler_;
  Operations operations_;
  HeadShape shape_;
  std::int64_t page_count_ = 0, context_ = 0, usable_ = 0;
  at::Tensor cache_;                           // (layers, 2, pages, kv_heads * 16 * head_dim)
  at::Tensor host_input_, input_;              // int32
  at::Tensor logits_;                          // (most_rows, vocabulary) float32
  at::Tensor masks_, host_masks_;              // (most_rows, words) int32, made when they are first wanted
  at::Tensor mask_of_row_, host_mask_of_row_;  // (most_rows) int32: the row's own number, or -1
  at::Tensor results_, host_results_;          // (2, most_rows) int32: tokens, bits of log-probabilities
  struct LayerAdapters {
    struct Target {
      AdapterGroup group;
      std::int64_t column = 0, out = 0;
      LowRankTable table;
    };
    std::vector<Target> targets;
  };
  std::vector<LayerAdapters> adapters_;
  std::optional<c10::cuda::CUDAStream> stream_;
  std::int64_t seen_version_ = -1;
  std::map<std::int64_t, std::unique_ptr<at::cuda::CUDAGraph>> graphs_;  // by padded rows, twice; + 1: masked
};

}  // namespace kw
