#include <stdexcept>
#include <utility>

#include "model/gpu/torch/trainer.h"

namespace kw {
namespace {

using at::Tensor;

// Kept in the program's order: nothing has to be put into another.
bool is_largest(PartArray array) { return array == PartArray::first_largest || array == PartArray::second_largest; }

}  // namespace

void GpuTrainer::clear_gradients() {
  if (exchange_) exchange_->clear();
  last_backward_follows_ = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    tensors_[i].gradient.zero_();
    parts_[i].used = false;
  }
}

double GpuTrainer::gradient_squares() {
  if (share_) return own_squares();
  double squares = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].used) continue;
    const double norm = static_cast<double>(at::linalg_vector_norm(tensors_[i].gradient).item<float>());
    squares += norm * norm;
  }
  return squares;
}

void GpuTrainer::move(const OptimizerOptions& options, double learning_rate, double gradient_scale) {
  operations_.stopwatch().mark(nullptr);
  std::vector<std::pair<const PartBuckets*, Tensor>> moved;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].used) continue;
    const AdamWNumbers numbers{learning_rate,        options.beta1,  options.beta2,    options.epsilon,
                               options.weight_decay, gradient_scale, ++parts_[i].steps};
    if (share_) {
      move_own(i, options, numbers);
      moved.emplace_back(&tensors_[i].plan, tensors_[i].computed_with());
    } else {
      move_whole(i, options, numbers);
    }
    parts_[i].used = false;
  }
  operations_.stopwatch().mark("optimizer");
  if (share_) exchange().gather(moved);
}

void GpuTrainer::move_whole(std::size_t index, const OptimizerOptions& options, AdamWNumbers numbers) {
  PartTensors& part = tensors_[index];
  if (part.eight_bit) {  // decays as a whole or not at all
    numbers.decay = part.decayed > 0 ? options.weight_decay : 0;
    return part.eight_bit->move(operations_, numbers, part.values, part.gradient, part.copy);
  }
  const double gradient_scale = numbers.gradient_scale;
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
  const bool is_muon = is_muon_base(index, options);
  over(0, is_muon ? layout_.linear_layers() : part.decayed, options.weight_decay);
  if (is_muon) move_linear_layers(options, numbers.learning_rate, gradient_scale);
  over(part.decayed, part.values.numel(), 0);
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
    case PartArray::second_moment:
      return tensors.second;
    default:
      break;
  }
  if (!tensors.eight_bit) throw std::runtime_error("this part has no moments of 8 bits");
  EightBitMoments& moments = *tensors.eight_bit;
  switch (array) {
    case PartArray::first_codes:
      return moments.first_codes;
    case PartArray::first_largest:
      return moments.first_largest;
    case PartArray::second_codes:
      return moments.second_codes;
    default:
      return moments.second_largest;
  }
}

void GpuTrainer::download(std::size_t part, const Tensor& flat, std::span<float> into) const {
  if (into.empty()) return;
  if (part == 0 && has_base_) {
    layout_.download(flat, into);
  } else if (const std::size_t adapter = part - (has_base_ ? 1 : 0); adapter < adapter_layouts_.size()) {
    adapter_layouts_[adapter].download(flat, into);
  } else {
    at::from_blob(into.data(), {flat.numel()}, at::kFloat).copy_(flat);
  }
}

void GpuTrainer::upload(std::size_t part, std::span<const float> from, Tensor& flat) const {
  if (part == 0 && has_base_) {
    layout_.upload(from, flat);
  } else if (const std::size_t adapter = part - (has_base_ ? 1 : 0); adapter < adapter_layouts_.size()) {
    adapter_layouts_[adapter].upload(from, flat);
  } else {
    flat.copy_(at::from_blob(const_cast<float*>(from.data()), {flat.numel()}, at::kFloat));
  }
}

void GpuTrainer::read_part(std::size_t part, PartArray array, std::span<float> into) {
  const PartTensors& tensors = tensors_.at(part);
  const Tensor& flat = array_of(part, array);
  if (is_largest(array)) {
    at::from_blob(into.data(), {flat.numel()}, at::kFloat).copy_(flat);
    return;
  }
  if (!is_shared(part, array)) return download(part, flat, into);
  Tensor whole = at::zeros_like(tensors.gradient);
  for (const OwnPiece& piece : tensors.plan.own)
    whole.narrow(0, piece.begin, piece.count).copy_(flat.narrow(0, piece.place, piece.count));
  exchange().gather(tensors.plan, whole);
  download(part, whole, into);
}

void GpuTrainer::write_part(std::size_t part, PartArray array, std::span<const float> from) {
  PartTensors& tensors = tensors_.at(part);
  Tensor& flat = array_of(part, array);
  if (is_largest(array)) {
    flat.copy_(at::from_blob(const_cast<float*>(from.data()), {flat.numel()}, at::kFloat));
    return;
  }
  if (!is_shared(part, array)) {
    upload(part, from, flat);
    if (array == PartArray::values && tensors.copy.defined()) tensors.copy.copy_(flat);
    return;
  }
  Tensor whole = at::empty_like(tensors.gradient);
  upload(part, from, whole);
  for (const OwnPiece& piece : tensors.plan.own)
    flat.narrow(0, piece.place, piece.count).copy_(whole.narrow(0, piece.begin, piece.count));
  if (array == PartArray::values) tensors.copy.copy_(whole);
}

void GpuTrainer::read_codes(std::size_t part, PartArray array, std::span<std::uint8_t> into) {
  const Tensor& codes = array_of(part, array);
  at::from_blob(into.data(), {codes.numel()}, at::kByte).copy_(codes);
}

void GpuTrainer::write_codes(std::size_t part, PartArray array, std::span<const std::uint8_t> from) {
  Tensor& codes = array_of(part, array);
  codes.copy_(at::from_blob(const_cast<std::uint8_t*>(from.data()), {codes.numel()}, at::kByte));
}

void GpuTrainer::read_weights(std::size_t part, std::span<float> into) {
  const PartTensors& tensors = tensors_.at(part);
  download(part, share_ ? tensors.computed_with() : tensors.values, into);
}

void GpuTrainer::read_base(std::span<float> into) {
  if (has_base_) return read_weights(0, into);
  layout_.download(base_, into);
  if (shared_->packed) shared_->packed->download(operations_, shared_->type, into);
}

}  // namespace kw
