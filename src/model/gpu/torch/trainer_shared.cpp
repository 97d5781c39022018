// A trainer's parts where ranks share them: sums, and the steps of the own pieces.

#include <map>
#include <stdexcept>

#include "model/gpu/torch/trainer.h"

namespace kw {
namespace {

using at::Tensor;

}  // namespace

void GpuTrainer::connect(DeviceCollectives& ranks) {
  std::vector<RankExchange::Part> parts;
  for (const PartTensors& part : tensors_) parts.push_back({part.gradient, &part.plan});
  exchange_ = std::make_unique<RankExchange>(ranks, std::move(parts), options_.trace_exchange);
}

RankExchange& GpuTrainer::exchange() {
  if (!exchange_) throw std::runtime_error("the ranks of this trainer are not connected");
  return *exchange_;
}

void GpuTrainer::reduce_gradients() {
  last_backward_follows_ = false;
  exchange().finish();
}

double GpuTrainer::own_squares() {
  std::vector<Tensor> pieces;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].used) continue;
    for (const OwnPiece& piece : tensors_[i].plan.own)
      pieces.push_back(tensors_[i].gradient.narrow(0, piece.begin, piece.count));
  }
  if (pieces.empty()) return 0;
  return at::stack(at::_foreach_norm(pieces)).to(at::kDouble).square().sum().item<double>();
}

void GpuTrainer::move_own(std::size_t index, const OptimizerOptions& options, AdamWNumbers numbers) {
  PartTensors& part = tensors_[index];
  const bool is_muon = is_muon_base(index, options);
  std::vector<OwnPiece> matrices;
  for (const OwnPiece& piece : part.plan.own) {
    if (is_muon && piece.begin >= layout_.linear_layers() && piece.begin < layout_.matrices()) {
      matrices.push_back(piece);
      continue;
    }
    Tensor values = part.own_values(piece), gradient = part.gradient.narrow(0, piece.begin, piece.count),
           first = part.first.narrow(0, piece.place, piece.count),
           second = part.second.narrow(0, piece.place, piece.count),
           copy = part.copy.defined() ? part.copy.narrow(0, piece.begin, piece.count) : Tensor();
    // Stretches do not cross from matrices into what does not decay.
    numbers.decay = piece.begin < part.decayed ? options.weight_decay : 0;
    operations_.adamw(numbers, values, gradient, first, second, copy);
  }
  if (!matrices.empty()) move_own_matrices(matrices, options, numbers.learning_rate, numbers.gradient_scale);
  // Others' pieces have sums of some ranks; AdamW has cleared its own.
  if (share_->owner.size > 1 || is_muon) part.gradient.zero_();
}

void GpuTrainer::move_own_matrices(const std::vector<OwnPiece>& matrices, const OptimizerOptions& options,
                                   double learning_rate, double gradient_scale) {
  PartTensors& base = tensors_[0];
  std::map<std::int64_t, at::IntArrayRef> shapes;  // by place in the base
  const std::vector<Tensor> all = layout_.linear_weights(base.gradient);
  for (const Tensor& matrix : all) shapes[matrix.storage_offset()] = matrix.sizes();
  const double rate = learning_rate * options.muon.rate_scale, momentum = options.muon.momentum;
  std::vector<Tensor> values, gradients, firsts;
  for (const OwnPiece& piece : matrices) {
    const at::IntArrayRef shape = shapes.at(piece.begin);
    values.push_back(base.own_values(piece).view(shape));
    gradients.push_back(base.gradient.narrow(0, piece.begin, piece.count).view(shape));
    firsts.push_back(base.first.narrow(0, piece.place, piece.count).view(shape));
  }
  at::_foreach_mul_(gradients, gradient_scale);
  at::_foreach_lerp_(firsts, gradients, 1 - momentum);
  if (options.muon.nesterov) {
    at::_foreach_lerp_(gradients, firsts, momentum);
  } else {
    at::_foreach_copy_(gradients, firsts);
  }
  at::_foreach_mul_(values, 1 - rate * options.weight_decay);
  add_orthogonalised(gradients, values, options, rate);
  if (!base.copy.defined()) return;
  for (const OwnPiece& piece : matrices) base.copy.narrow(0, piece.begin, piece.count).copy_(base.own_values(piece));
}

}  // namespace kw
