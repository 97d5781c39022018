#pragma once
// Adapters on the device. Projections that read the same input (q, k, v; gate, up) form a group whose A matrices lie
// one below the other, so that one product serves them all.

#include <array>
#include <span>
#include <vector>

#include "model/decoder/adapter.h"
#include "model/decoder/batch_plan.h"
#include "model/gpu/gradient_buckets.h"
#include "model/gpu/torch/eight_bit.h"
#include "model/gpu/torch/model_tensors.h"
#include "model/gpu/torch/operations.h"

namespace kw {

enum class AdapterGroup { qkv, o, gate_up, down };
inline constexpr int adapter_group_count = 4;
// The base's own, of the same projections.
const at::Tensor& matrix_of(const LayerTensors& layer, AdapterGroup group);

struct GroupTensors {
  at::Tensor a;  // (all ranks, in); undefined: nothing of the group is adapted
  struct Target {
    at::Tensor b;                             // (out, rank)
    std::int64_t first_rank = 0, column = 0;  // in the rows of `a`, in the group's fused output
    Projection projection = Projection::q;
  };
  std::vector<Target> targets;
};
using LayerGroups = std::array<GroupTensors, adapter_group_count>;

class AdapterLayoutOnDevice {
 public:
  AdapterLayoutOnDevice(const ModelDescription& description, const AdapterLayout& layout);
  std::int64_t size() const { return size_; }
  std::vector<LayerGroups> views(const at::Tensor& flat) const;
  // Where the program's elements are, in its order: for moments that are kept in that.
  std::vector<EightBitMoments::Piece> pieces() const;
  // Moments as DeviceLayout has them.
  std::vector<GradientStretch> stretches() const;
  void upload(std::span<const float> from, at::Tensor& flat) const;
  void download(const at::Tensor& flat, std::span<float> into) const;

 private:
  struct Piece {
    std::int64_t layer = 0;
    Projection projection = Projection::q;
    std::int64_t host_a = 0, host_b = 0, device_a = 0, device_b = 0, in = 0, out = 0;
    std::int64_t first_rank = 0, column = 0, group_a = 0;
  };
  std::int64_t layers_ = 0, rank_ = 0, size_ = 0;
  std::vector<Piece> pieces_;
};

// One adapter as a pass sees it: weights in the computing type, gradients in float32 (empty: not wanted).
struct AdapterViews {
  float scale = 1;
  std::vector<LayerGroups> weights, gradients;
};

// y (rows, fused out) += scale * B (A x), for the rows of each run. Gives back A x of each, for the gradient.
std::vector<at::Tensor> add_adapters(const Operations& operations, const std::vector<AdapterViews>& adapters,
                                     const std::vector<BatchPlan::Run>& runs, std::int64_t layer, AdapterGroup group,
                                     const at::Tensor& x, const at::Tensor& y);
// First half of the gradient: dx += ...; gives back d(A x) for each run.
std::vector<at::Tensor> adapters_input_gradient(const Operations& operations, const std::vector<AdapterViews>& adapters,
                                                const std::vector<BatchPlan::Run>& runs, std::int64_t layer,
                                                AdapterGroup group, const at::Tensor& dy, const at::Tensor& dx);
// Second half: gradients of A and B. inner: what add_adapters gave.
void adapters_weight_gradient(const Operations& operations, const std::vector<AdapterViews>& adapters,
                              const std::vector<BatchPlan::Run>& runs, std::int64_t layer, AdapterGroup group,
                              const at::Tensor& dy, const at::Tensor& x, const std::vector<at::Tensor>& inner,
                              const std::vector<at::Tensor>& d_inner);

}  // namespace kw
