// Muon as in model/arithmetic/muon.h, on the device: matrices of one shape are orthogonalised together, in the
// computing type (bfloat16 is what Jordan et al. use; momentum, norms and the weights stay in float32).

#include <cmath>
#include <map>

#include "model/gpu/torch/trainer.h"

namespace kw {
namespace {

using at::Tensor;

constexpr double linear_term = 3.4445, cubic_term = -4.7750, quintic_term = 2.0315;
constexpr double least_norm = 1e-7, update_rms = 0.2;
constexpr std::int64_t most_elements = std::int64_t{1} << 27;  // together: bounds the memory that a step needs besides

// x: (matrices, out, in).
Tensor orthogonalised(const Tensor& stack, at::ScalarType type, int iterations) {
  const Tensor norm = at::linalg_vector_norm(stack, 2, at::IntArrayRef({1, 2}), true).clamp_min(least_norm);
  Tensor x = (stack / norm).to(type);
  const bool tall = x.size(1) > x.size(2);
  if (tall) x = x.transpose(1, 2);
  for (int i = 0; i < iterations; ++i) {
    const Tensor gram = at::bmm(x, x.transpose(1, 2));
    x = at::baddbmm(x, at::baddbmm(gram, gram, gram, cubic_term, quintic_term), x, linear_term);
  }
  if (tall) x = x.transpose(1, 2);
  return x.to(at::kFloat);
}

}  // namespace

void GpuTrainer::add_orthogonalised(const std::vector<Tensor>& updates, const std::vector<Tensor>& weights,
                                    const OptimizerOptions& options, double rate) const {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> by_shape;
  for (std::size_t i = 0; i < weights.size(); ++i) by_shape[{weights[i].size(0), weights[i].size(1)}].push_back(i);
  for (const auto& [shape, members] : by_shape) {
    const auto& [out, in] = shape;
    const double along = -rate * update_rms * std::sqrt(static_cast<double>(std::max(out, in)));
    const auto together = static_cast<std::size_t>(std::max<std::int64_t>(1, most_elements / (out * in)));
    for (std::size_t next = 0; next < members.size(); next += together) {
      std::vector<Tensor> from, to;
      for (std::size_t i = next; i < std::min(members.size(), next + together); ++i) {
        from.push_back(updates[members[i]]);
        to.push_back(weights[members[i]]);
      }
      at::_foreach_add_(to, orthogonalised(at::stack(from), shared_->type, options.muon.iterations).unbind(0), along);
    }
  }
}

void GpuTrainer::move_linear_layers(const OptimizerOptions& options, double learning_rate, double gradient_scale) {
  PartTensors& base = tensors_[0];
  const std::int64_t begin = layout_.linear_layers(), count = layout_.matrices() - begin;
  if (count == 0) return;
  const double rate = learning_rate * options.muon.rate_scale, momentum = options.muon.momentum;
  Tensor values = base.values.narrow(0, begin, count), gradient = base.gradient.narrow(0, begin, count),
         first = base.first.narrow(0, begin, count);
  gradient.mul_(gradient_scale);
  first.lerp_(gradient, 1 - momentum);
  // The gradient becomes what is orthogonalised.
  if (options.muon.nesterov) {
    gradient.lerp_(first, momentum);
  } else {
    gradient.copy_(first);
  }
  values.mul_(1 - rate * options.weight_decay);

  add_orthogonalised(layout_.linear_weights(base.gradient), layout_.linear_weights(base.values), options, rate);
  gradient.zero_();
  if (base.copy.defined()) base.copy.narrow(0, begin, count).copy_(values);
}

}  // namespace kw
