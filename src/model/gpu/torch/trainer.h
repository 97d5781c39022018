#pragma once
// Forward and backward by hand, without autograd: each tensor that is kept for the gradient is named here.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/gpu/gpu_library.h"
#include "model/gpu/gradient_buckets.h"
#include "model/gpu/memory_plan.h"
#include "model/gpu/torch/adapter_tensors.h"
#include "model/gpu/torch/model_tensors.h"
#include "model/gpu/torch/nf4_matrices.h"
#include "model/gpu/torch/operations.h"
#include "model/gpu/torch/rank_exchange.h"

namespace kw {

// Weights that trainer and decoder share.
struct SharedModel {
  ModelDescription description;
  at::Device device;
  at::ScalarType type;
  std::shared_ptr<const KernelLauncher> kernels;
  ModelTensors weights;                // in the computing type
  std::vector<AdapterViews> adapters;  // likewise
  RotaryTensors rotary;
  std::int64_t version = 0;
  std::shared_ptr<const Nf4Matrices> packed = {};  // the linear layers, where they are not among `weights`
};

// Something that is trained as a whole. Flat float32 buffers in the device's layout. Ranks that share it have each the
// moments of their own pieces alone, and the masters too, where there is a copy to compute with.
struct PartTensors {
  at::Tensor values;  // the master; with float32 as computing type, the weights themselves
  at::Tensor gradient, first, second;
  std::optional<EightBitMoments> eight_bit;  // in the place of first and second
  at::Tensor copy;                           // in the computing type; undefined: `values` is computed with
  std::int64_t decayed = 0;                  // weight decay applies to elements before this
  PartBuckets plan;                          // of a part that ranks share

  const at::Tensor& computed_with() const { return copy.defined() ? copy : values; }
  // A piece's masters.
  at::Tensor own_values(const OwnPiece& piece) const {
    return values.narrow(0, copy.defined() ? piece.place : piece.begin, piece.count);
  }
};

class GpuTrainer final : public DeviceTrainer {
 public:
  GpuTrainer(const HostBase& base, const std::vector<Adapter>& adapters, std::span<const float> value_head,
             const TrainingOptions& training, const GpuOptions& options, std::shared_ptr<const KernelLauncher> kernels,
             std::optional<TrainerShare> share = std::nullopt, bool eight_bit = false);

  TokenScores run(const BatchPlan& plan, bool keep) override;
  void backward(const BatchPlan& plan, const ScoreGradients& gradients) override;
  void clear_gradients() override;
  double gradient_squares() override;
  void move(const OptimizerOptions& options, double learning_rate, double gradient_scale) override;
  void connect(DeviceCollectives& ranks) override;
  void last_backward_follows() override { last_backward_follows_ = true; }
  void reduce_gradients() override;
  std::string exchange_report() override { return exchange_ ? exchange_->report() : std::string(); }
  std::vector<DevicePart>& parts() override { return parts_; }
  void read_part(std::size_t part, PartArray array, std::span<float> into) override;
  void write_part(std::size_t part, PartArray array, std::span<const float> from) override;
  void read_codes(std::size_t part, PartArray array, std::span<std::uint8_t> into) override;
  void write_codes(std::size_t part, PartArray array, std::span<const std::uint8_t> from) override;
  void read_weights(std::size_t part, std::span<float> into) override;
  void read_base(std::span<float> into) override;
  std::int64_t& version() override { return shared_->version; }
  std::string profile() override { return operations_.stopwatch().report(); }

  const std::shared_ptr<SharedModel>& shared() const { return shared_; }

 private:
  // What a block leaves for its gradient. T rows.
  struct Block {
    at::Tensor x;                                                      // (T, hidden): the residual stream that enters
    at::Tensor norm1, inverse1;                                        // (T, hidden), (T)
    at::Tensor qkv;                                                    // (T, query + 2 key), rotated
    AttentionOutput attention;                                         // (T, query)
    at::Tensor middle;                                                 // (T, hidden): the stream after attention
    at::Tensor norm2, inverse2;                                        // (T, hidden), (T)
    at::Tensor gate_up;                                                // (T, 2 intermediate)
    std::array<std::vector<at::Tensor>, adapter_group_count> adapted;  // A x of each group and run
  };
  struct Pass {
    SequenceStarts starts;
    at::Tensor positions;  // (T) int32
    std::vector<BatchPlan::Run> runs;
    std::vector<Block> blocks;  // one for each layer, with what `keeps` says of it
    PassPlan keeps;
    at::Tensor scored_rows, scored_tokens;  // (S): int64, int32
    at::Tensor masks, mask_of_row;          // as Operations::mask_logits has them, (S); undefined: any token anywhere
    at::Tensor scored_x, scored_norm, scored_inverse;
    at::Tensor log_sum, entropy;  // (S)
    at::Tensor logits;            // (S, vocabulary), or undefined: to be computed again
  };

  // What the limit of memory lets a pass keep; without one, all or, with recomputation, the input of each block.
  PassPlan plan_memory(const BatchPlan& plan, bool keep) const;
  // stream (+ update) enters; gives back what is to be added to block.middle.
  at::Tensor block_forward(const Pass& pass, std::int64_t layer, const at::Tensor& stream, const at::Tensor& update,
                           Block& block);
  // Its two halves, up to `middle` and up to the product of gate and up. norm_first, norm_middle: the norms before
  // them.
  void norm_first(std::int64_t layer, const at::Tensor& stream, const at::Tensor& update, Block& block) const;
  void attention_forward(const Pass& pass, std::int64_t layer, Block& block, at::Tensor& projected);
  void norm_middle(std::int64_t layer, const at::Tensor& stream, const at::Tensor& update, Block& block) const;
  void gate_up_forward(const Pass& pass, std::int64_t layer, Block& block);
  static void forget(Block& block, Kept kept);
  void compute_again(const Pass& pass, std::int64_t layer, Block& block, Kept kept);
  void block_backward(const Pass& pass, std::int64_t layer, Block& block, at::Tensor& dx);
  void feed_forward_backward(const Pass& pass, std::int64_t layer, Block& block, at::Tensor& dx);
  void attention_half_backward(const Pass& pass, std::int64_t layer, Block& block, at::Tensor& dx);
  // A matrix of a linear layer as products take it; what is expanded is valid until the next call.
  at::Tensor matrix(std::int64_t layer, AdapterGroup group);
  // Of a linear layer: dx = dy W, then dW += dy^T x.
  at::Tensor input_gradient(const Pass& pass, std::int64_t layer, AdapterGroup group, const at::Tensor& dy,
                            std::vector<at::Tensor>& d_inner);
  void weight_gradient(const Pass& pass, std::int64_t layer, AdapterGroup group, const at::Tensor& dy,
                       const at::Tensor& x, at::Tensor gradient, at::Tensor bias_gradient, const Block& block,
                       const std::vector<at::Tensor>& d_inner);
  TokenScores score(const BatchPlan& plan, Pass& pass, const at::Tensor& stream, const at::Tensor& update, bool keep);
  at::Tensor head_backward(const BatchPlan& plan, const ScoreGradients& gradients);
  std::int64_t chunk_rows(const Pass& pass) const;
  at::ScalarType logits_type() const;
  at::Tensor to_device(const std::vector<std::int32_t>& values) const;
  void upload_masks(const BatchPlan& plan, Pass& pass) const;
  // Muon over the base's linear layers; clears their gradient.
  void move_linear_layers(const OptimizerOptions& options, double learning_rate, double gradient_scale);
  // Over the own ones of a base that ranks share.
  void move_own_matrices(const std::vector<OwnPiece>& matrices, const OptimizerOptions& options, double learning_rate,
                         double gradient_scale);
  // What is orthogonalised, (out, in) each, moves weights of the same shapes.
  void add_orthogonalised(const std::vector<at::Tensor>& updates, const std::vector<at::Tensor>& weights,
                          const OptimizerOptions& options, double rate) const;
  void move_whole(std::size_t index, const OptimizerOptions& options, AdamWNumbers numbers);
  void move_own(std::size_t index, const OptimizerOptions& options, AdamWNumbers numbers);
  bool is_muon_base(std::size_t part, const OptimizerOptions& options) const {
    return options.kind == OptimizerKind::muon && part == 0 && has_base_;
  }
  double own_squares();
  // Whether a rank has its own pieces of an array alone, in their order.
  bool is_shared(std::size_t part, PartArray array) const {
    return share_ && array != PartArray::gradient && (array != PartArray::values || tensors_.at(part).copy.defined());
  }
  RankExchange& exchange();

  // Decides who owns what, before the part's buffers are made.
  struct NewPart {
    std::string name;
    std::int64_t size = 0, device_size = 0, decayed = 0;
    std::vector<GradientStretch> stretches;
    bool has_copy = true;
    std::vector<EightBitMoments::Piece> pieces = {};  // of moments in 8 bits; none: they have 32
  };
  void add_part(NewPart part);
  at::Tensor& array_of(std::size_t part, PartArray array);
  void download(std::size_t part, const at::Tensor& flat, std::span<float> into) const;
  void upload(std::size_t part, std::span<const float> from, at::Tensor& flat) const;

  std::shared_ptr<SharedModel> shared_;
  Operations operations_;
  TrainingOptions training_;
  GpuOptions options_;
  DeviceLayout layout_;
  std::vector<AdapterLayoutOnDevice> adapter_layouts_;
  std::vector<DevicePart> parts_;  // the base where it is trained, adapters, the value head
  std::vector<PartTensors> tensors_;
  at::Tensor base_;  // flat, computing type, where the base is frozen; without linear layers where they are packed
  std::optional<Nf4Workspace> workspace_;
  TrainerShape memory_shape_;
  bool has_base_ = false, has_value_head_ = false, eight_bit_ = false;
  ModelTensors gradients_;  // of the base, float32
  std::int64_t usable_ = 0;
  Pass kept_;
  std::optional<TrainerShare> share_;  // none: no other rank has any
  std::unique_ptr<RankExchange> exchange_;
  bool last_backward_follows_ = false;
};

}  // namespace kw
