#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "model/gpu/torch/trainer.h"

namespace kw {
namespace {

using at::Tensor;

// Rows grouped by token, in order.
struct GroupedRows {
  std::vector<std::int32_t> tokens, starts, rows;
};
GroupedRows group_rows(const std::vector<std::int32_t>& tokens) {
  GroupedRows grouped;
  grouped.rows.resize(tokens.size());
  std::iota(grouped.rows.begin(), grouped.rows.end(), 0);
  std::ranges::stable_sort(grouped.rows, {}, [&](std::int32_t row) { return tokens[static_cast<std::size_t>(row)]; });
  for (std::size_t i = 0; i < grouped.rows.size(); ++i) {
    const std::int32_t token = tokens[static_cast<std::size_t>(grouped.rows[i])];
    if (grouped.tokens.empty() || grouped.tokens.back() != token) {
      grouped.tokens.push_back(token);
      grouped.starts.push_back(static_cast<std::int32_t>(i));
    }
  }
  grouped.starts.push_back(static_cast<std::int32_t>(grouped.rows.size()));
  return grouped;
}

}  // namespace

void GpuTrainer::backward(const BatchPlan& plan, const ScoreGradients& gradients) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  auto& watch = operations_.stopwatch();
  watch.mark(nullptr);
  if (has_base_) parts_[0].used = true;
  for (const BatchPlan::Run& run : plan.runs) {
    parts_[static_cast<std::size_t>(run.adapter) + (has_base_ ? 1 : 0)].used = true;
  }
  if (has_value_head_ && !gradients.value.empty()) parts_.back().used = true;
  if (exchange_ && exchange_->begun()) throw std::runtime_error("it comes after the last one of the step");
  // What is sent early is what step() would send: a rank that has nothing to do here sends it then.
  const bool sends = std::exchange(last_backward_follows_, false) && exchange_ && plan.scored() > 0;
  const auto reached = [&](std::int64_t moment) {
    if (sends) exchange_->reached(static_cast<int>(moment));
  };
  if (plan.scored() == 0) return;

  if (sends) exchange_->begin();
  const std::int64_t layers = shared_->description.layers;
  Tensor dx = head_backward(plan, gradients);
  reached(0);
  if (has_base_ || !plan.runs.empty()) {
    for (std::int64_t layer = layers - 1; layer >= 0; --layer) {
      Block& block = kept_.blocks[static_cast<std::size_t>(layer)];
      compute_again(kept_, layer, block, kept_.keeps.kept(layer, layers));
      block_backward(kept_, layer, block, dx);
      block = {};
      reached(layers - layer);
    }
  }
  if (has_base_) {
    const GroupedRows grouped = group_rows(plan.tokens);
    operations_.embed_backward({to_device(grouped.tokens), to_device(grouped.starts), to_device(grouped.rows)}, dx,
                               gradients_.embedding);
    watch.mark("embedding");
  }
  reached(layers + 1);
  kept_ = {};
}

Tensor GpuTrainer::head_backward(const BatchPlan& plan, const ScoreGradients& gradients) {
  auto& watch = operations_.stopwatch();
  const ModelDescription& model = shared_->description;
  const std::int64_t scored = plan.scored();
  const Pass& pass = kept_;
  const auto upload = [&](const std::vector<float>& values) {  // in the plan's order
    Tensor host = at::empty({scored}, at::kFloat);
    for (std::int64_t i = 0; i < scored; ++i) {
      host.data_ptr<float>()[i] = values[static_cast<std::size_t>(plan.scored_places[static_cast<std::size_t>(i)])];
    }
    return host.to(shared_->device);
  };
  const Tensor d_log_prob = upload(gradients.log_prob);
  const Tensor d_entropy = gradients.entropy.empty() ? Tensor() : upload(gradients.entropy);

  Tensor dnorm = at::empty_like(pass.scored_norm);
  const std::int64_t chunk = std::min(chunk_rows(pass), scored);
  Tensor dlogits_buffer = at::empty({chunk, model.vocabulary}, pass.scored_x.options());
  Tensor logits_buffer = pass.logits.defined()
                             ? Tensor()
                             : at::empty({chunk, model.vocabulary}, pass.scored_x.options().dtype(logits_type()));
  for (std::int64_t begin = 0; begin < scored; begin += chunk) {
    const std::int64_t count = std::min(chunk, scored - begin);
    const auto part = [&](const Tensor& tensor) { return tensor.defined() ? tensor.narrow(0, begin, count) : tensor; };
    Tensor logits = part(pass.logits);
    if (!logits.defined()) {
      logits = logits_buffer.narrow(0, 0, count);
      operations_.product(logits, part(pass.scored_norm), false, shared_->weights.output, true);
      watch.mark("product logits");
      if (pass.masks.defined()) operations_.mask_logits(logits, pass.masks, part(pass.mask_of_row), usable_);
    }
    const bool in_place = logits.scalar_type() == dlogits_buffer.scalar_type();
    Tensor dlogits = in_place ? logits : dlogits_buffer.narrow(0, 0, count);
    operations_.score_gradient(logits, part(pass.scored_tokens), usable_, plan.inverse_temperature, part(pass.log_sum),
                               part(pass.entropy), part(d_log_prob), part(d_entropy), dlogits);
    watch.mark("scores gradient");
    Tensor into = part(dnorm);
    operations_.product(into, dlogits, false, shared_->weights.output, false);
    if (has_base_) operations_.product(gradients_.output, dlogits, true, part(pass.scored_norm), false, 1);
    watch.mark("product logits gradient");
  }
  if (has_value_head_ && !gradients.value.empty()) {
    const Tensor d_value = upload(gradients.value);
    const Tensor& head = tensors_.back().values;
    Tensor& head_gradient = tensors_.back().gradient;
    head_gradient.narrow(0, 0, model.hidden).add_(at::mv(pass.scored_norm.to(at::kFloat).t(), d_value));
    head_gradient.narrow(0, model.hidden, 1).add_(d_value.sum());
    dnorm.add_(at::outer(d_value, head.narrow(0, 0, model.hidden)).to(dnorm.scalar_type()));
  }
  Tensor dscored = at::zeros_like(pass.scored_x);
  Tensor dweight = has_base_ ? gradients_.final_norm : Tensor();
  operations_.rms_norm_backward(dnorm, pass.scored_x, shared_->weights.final_norm, pass.scored_inverse, dscored,
                                dweight);
  Tensor dx = at::zeros({plan.rows(), model.hidden}, pass.scored_x.options());
  dx.index_copy_(0, pass.scored_rows, dscored);
  watch.mark("norm gradient");
  return dx;
}

Tensor GpuTrainer::input_gradient(const Pass& pass, std::int64_t layer, AdapterGroup group, const Tensor& dy,
                                  std::vector<Tensor>& d_inner) {
  const Tensor weight = matrix(layer, group);
  Tensor dx = at::empty({dy.size(0), weight.size(1)}, dy.options());
  operations_.product(dx, dy, false, weight, false);
  operations_.stopwatch().mark("product input gradient");
  d_inner = adapters_input_gradient(operations_, shared_->adapters, pass.runs, layer, group, dy, dx);
  operations_.stopwatch().mark("adapters gradient");
  return dx;
}

void GpuTrainer::weight_gradient(const Pass& pass, std::int64_t layer, AdapterGroup group, const Tensor& dy,
                                 const Tensor& x, Tensor gradient, Tensor bias_gradient, const Block& block,
                                 const std::vector<Tensor>& d_inner) {
  if (has_base_) {
    operations_.product(gradient, dy, true, x, false, 1);
    if (bias_gradient.defined()) bias_gradient.add_(dy.sum(0, false, at::kFloat));
    operations_.stopwatch().mark("product weight gradient");
  }
  adapters_weight_gradient(operations_, shared_->adapters, pass.runs, layer, group, dy, x,
                           block.adapted[static_cast<std::size_t>(group)], d_inner);
  operations_.stopwatch().mark("adapters gradient");
}

void GpuTrainer::block_backward(const Pass& pass, std::int64_t layer, Block& block, Tensor& dx) {
  feed_forward_backward(pass, layer, block, dx);
  attention_half_backward(pass, layer, block, dx);
}

// dx is the gradient of middle + down(swiglu(gate_up(norm2(middle)))), and then of middle.
void GpuTrainer::feed_forward_backward(const Pass& pass, std::int64_t layer, Block& block, Tensor& dx) {
  auto& watch = operations_.stopwatch();
  const auto at = static_cast<std::size_t>(layer);
  LayerTensors none;
  LayerTensors& into = has_base_ ? gradients_.layers[at] : none;
  std::vector<Tensor> d_inner;
  Tensor dactivated = input_gradient(pass, layer, AdapterGroup::down, dx, d_inner);
  Tensor activated = at::empty_like(dactivated);
  operations_.swiglu_backward(block.gate_up, dactivated, activated);
  dactivated = Tensor();
  watch.mark("swiglu gradient");
  weight_gradient(pass, layer, AdapterGroup::down, dx, activated, into.down, {}, block, d_inner);
  activated = Tensor();
  const Tensor dnorm2 = input_gradient(pass, layer, AdapterGroup::gate_up, block.gate_up, d_inner);
  weight_gradient(pass, layer, AdapterGroup::gate_up, block.gate_up, block.norm2, into.gate_up, {}, block, d_inner);
  block.gate_up = Tensor();
  operations_.rms_norm_backward(dnorm2, block.middle, shared_->weights.layers[at].post_attention_norm, block.inverse2,
                                dx, into.post_attention_norm);
  watch.mark("norm gradient");
}

// dx is the gradient of x + o(attention(qkv(norm1(x)))), and then of x.
void GpuTrainer::attention_half_backward(const Pass& pass, std::int64_t layer, Block& block, Tensor& dx) {
  auto& watch = operations_.stopwatch();
  const auto at = static_cast<std::size_t>(layer);
  LayerTensors none;
  LayerTensors& into = has_base_ ? gradients_.layers[at] : none;
  const HeadShape shape(shared_->description);
  std::vector<Tensor> d_inner;
  const Tensor dattention = input_gradient(pass, layer, AdapterGroup::o, dx, d_inner);
  weight_gradient(pass, layer, AdapterGroup::o, dx, block.attention.out, into.o, into.o_bias, block, d_inner);
  Tensor dqkv = at::empty_like(block.qkv);
  operations_.attention_backward(dattention, block.qkv, block.attention, pass.starts, shape, dqkv);
  watch.mark("attention gradient");
  operations_.rotate_qkv(dqkv, {}, pass.positions, shared_->rotary.cosine, shared_->rotary.sine, shape, true);
  watch.mark("rotate");
  const Tensor dnorm1 = input_gradient(pass, layer, AdapterGroup::qkv, dqkv, d_inner);
  weight_gradient(pass, layer, AdapterGroup::qkv, dqkv, block.norm1, into.qkv, into.qkv_bias, block, d_inner);
  operations_.rms_norm_backward(dnorm1, block.x, shared_->weights.layers[at].input_norm, block.inverse1, dx,
                                into.input_norm);
  watch.mark("norm gradient");
}

}  // namespace kw
