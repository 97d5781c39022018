#include <cmath>

#include "model/gpu/torch/trainer.h"

namespace kw {
namespace {

using at::Tensor;

}  // namespace

void GpuTrainer::clear_gradients() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    tensors_[i].gradient.zero_();
    parts_[i].used = false;
  }
}

double GpuTrainer::gradient_norm() {
  double squares = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].used) continue;
    const double norm = static_cast<double>(at::linalg_vector_norm(tensors_[i].gradient).item<float>());
    squares += norm * norm;
  }
  return std::sqrt(squares);
}

void GpuTrainer::move(const OptimizerOptions& options, double learning_rate, double gradient_scale) {
  operations_.stopwatch().mark(nullptr);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].used) continue;
    PartTensors& part = tensors_[i];
    AdamWNumbers numbers{learning_rate,        options.beta1,  options.beta2,    options.epsilon,
                         options.weight_decay, gradient_scale, ++parts_[i].steps};
    const std::int64_t size = part.values.numel();
    const auto over = [&](std::int64_t begin, std::int64_t end, double decay) {
      if (begin == end) return;
      const auto slice = [&](const Tensor& tensor) {
        return tensor.defined() ? tensor.narrow(0, begin, end - begin) : tensor;
      };
      Tensor values = slice(part.values), gradient = slice(part.gradient), first = slice(part.first),
             second = slice(part.second), copy = slice(part.copy);
      numbers.decay = decay;
      operations_.adamw(numbers, values, gradient, first, second, copy);
    };
    const bool is_muon = options.kind == OptimizerKind::muon && i == 0 && has_base_;
    over(0, is_muon ? layout_.linear_layers() : part.decayed, options.weight_decay);
    if (is_muon) move_linear_layers(options, learning_rate, gradient_scale);
    over(part.decayed, size, 0);
    parts_[i].used = false;
  }
  operations_.stopwatch().mark("optimizer");
}

Tensor& GpuTrainer::array_of(std::size_t part, PartArray array) {
  PartTensors& tensors = tensors_.at(part);
  switch (array) {
    case PartArray::values:
      return tensors.values;
    case PartArray::gradient:
      return tensors.gradient;
    case PartArray::first_moment:
      return tensors.first;
    default:
      return tensors.second;
  }
}

void GpuTrainer::read_part(std::size_t part, PartArray array, std::span<float> into) {
  const Tensor& flat = array_of(part, array);
  if (part == 0 && has_base_) {
    layout_.download(flat, into);
  } else if (const std::size_t adapter = part - (has_base_ ? 1 : 0); adapter < adapter_layouts_.size()) {
    adapter_layouts_[adapter].download(flat, into);
  } else {
    at::from_blob(into.data(), {flat.numel()}, at::kFloat).copy_(flat);
  }
}

void GpuTrainer::write_part(std::size_t part, PartArray array, std::span<const float> from) {
  Tensor& flat = array_of(part, array);
  if (part == 0 && has_base_) {
    layout_.upload(from, flat);
  } else if (const std::size_t adapter = part - (has_base_ ? 1 : 0); adapter < adapter_layouts_.size()) {
    adapter_layouts_[adapter].upload(from, flat);
  } else {
    flat.copy_(at::from_blob(const_cast<float*>(from.data()), {flat.numel()}, at::kFloat));
  }
  if (array == PartArray::values && tensors_[part].copy.defined()) tensors_[part].copy.copy_(flat);
}

void GpuTrainer::read_base(std::span<float> into) { layout_.download(has_base_ ? tensors_[0].values : base_, into); }

}  // namespace kw
