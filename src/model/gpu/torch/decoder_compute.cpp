// The arithmetic of a step: what a graph captures. Nothing here may wait for the device or depend on its values.

#include "model/gpu/torch/decoder.h"

namespace kw {
namespace {

using at::Tensor;

}  // namespace

void GpuDecoder::linear(Tensor& y, const Tensor& x, const Tensor& weight) const {
  if (operations_.has_kernels() && x.size(0) == 1) {
    operations_.single_row(x, weight, {}, y);
  } else {
    operations_.product(y, x, false, weight, true);
  }
}

void GpuDecoder::linear(Tensor& y, const Tensor& x, std::int64_t layer, AdapterGroup group) {
  if (!model_->packed) return linear(y, x, matrix_of(model_->weights.layers[static_cast<std::size_t>(layer)], group));
  const Nf4Matrix& matrix = model_->packed->at(layer, group);
  if (operations_.has_nf4_rows(matrix, x)) return operations_.nf4_rows(x, matrix, {}, !options_.rounded_codes, y);
  operations_.product(y, x, false, workspace_->expand(operations_, matrix), true);
}

void GpuDecoder::linear_single(Tensor& y, const Tensor& x, std::int64_t layer, AdapterGroup group,
                               const Operations::SingleRow& extras) const {
  if (model_->packed) {
    return operations_.nf4_rows(x, model_->packed->at(layer, group), extras, !options_.rounded_codes, y);
  }
  operations_.single_row(x, matrix_of(model_->weights.layers[static_cast<std::size_t>(layer)], group), extras, y);
}

// Whether every product of a single row may do more than multiply.
bool GpuDecoder::has_single() const {
  if (!operations_.has_kernels() || !adapters_.empty()) return false;
  if (!model_->packed) return true;
  const ModelDescription& description = model_->description;
  return model_->type == at::kBFloat16 && description.hidden % nf4_block == 0 &&
         description.intermediate % nf4_block == 0 && shape_.query() % nf4_block == 0;
}

void GpuDecoder::adapt(const Inputs& inputs, std::int64_t layer, AdapterGroup group, const Tensor& x, Tensor& y) const {
  if (adapters_.empty()) return;
  for (const auto& target : adapters_[static_cast<std::size_t>(layer)].targets) {
    if (target.group != group) continue;
    operations_.low_rank_rows(x, target.table, inputs.adapters, y.narrow(1, target.column, target.out));
  }
}

// Rotates, fills the cache, attends.
void GpuDecoder::attend(const Inputs& inputs, const StepPlan& plan, std::int64_t layer, Tensor& qkv,
                        Tensor& out) const {
  auto& watch = operations_.stopwatch();
  const Tensor& bias = model_->weights.layers[static_cast<std::size_t>(layer)].qkv_bias;
  const RotaryTensors& rotary = model_->rotary;
  Tensor layer_keys = keys(layer), layer_values = values(layer);
  if (plan.single_tokens) {
    const std::int64_t parts = attention_parts(plan.tokens);
    Tensor scratch = at::empty({plan.tokens * shape_.heads * parts * (shape_.head_dim + 2)}, logits_.options());
    operations_.rotating_attention(qkv, bias, inputs.positions, inputs.slots, rotary.cosine, rotary.sine, layer_keys,
                                   layer_values, inputs.paged, shape_, parts, scratch, out);
    watch.mark("attention");
    return;
  }
  operations_.rotate_into_cache(qkv, bias, inputs.positions, inputs.slots, rotary.cosine, rotary.sine, shape_,
                                layer_keys, layer_values);
  watch.mark("rotate into cache");
  const std::int64_t rest = plan.tokens - plan.fresh;
  if (plan.fresh > 0) {
    out.narrow(0, 0, plan.fresh).copy_(operations_.attention(qkv.narrow(0, 0, plan.fresh), plan.starts, shape_).out);
  }
  if (rest == 0) return watch.mark("attention");
  PagedRows paged = inputs.paged;
  paged.lengths = paged.lengths.narrow(0, plan.fresh, rest);
  paged.table_of_row = paged.table_of_row.narrow(0, plan.fresh, rest);
  const std::int64_t parts = attention_parts(rest);
  Tensor scratch = at::empty({rest * shape_.heads * parts * (shape_.head_dim + 2)}, logits_.options());
  Tensor part = out.narrow(0, plan.fresh, rest);
  operations_.paged_attention(qkv.narrow(0, plan.fresh, rest), layer_keys, layer_values, paged, shape_, parts, scratch,
                              part);
  watch.mark("attention");
}

void GpuDecoder::compute(const Inputs& inputs, const StepPlan& plan) {
  if (plan.tokens == 1 && plan.rows == 1 && has_single()) return compute_single(inputs, plan);
  auto& watch = operations_.stopwatch();
  const ModelDescription& description = model_->description;
  const auto options = model_->weights.embedding.options();
  const std::int64_t rows = plan.tokens;
  Tensor stream = at::empty({rows, description.hidden}, options), update, none;
  operations_.embed(inputs.tokens, model_->weights.embedding, stream);
  Tensor norm = at::empty_like(stream), qkv = at::empty({rows, shape_.qkv()}, options),
         attention = at::empty({rows, shape_.query()}, options),
         gate_up = at::empty({rows, 2 * description.intermediate}, options),
         activated = at::empty({rows, description.intermediate}, options), projected = at::empty_like(stream);
  for (std::int64_t layer = 0; layer < description.layers; ++layer) {
    const LayerTensors& weights = model_->weights.layers[static_cast<std::size_t>(layer)];
    operations_.rms_norm(stream, update, stream, weights.input_norm, description.rms_epsilon, norm, none);
    watch.mark("norm");
    linear(qkv, norm, layer, AdapterGroup::qkv);
    watch.mark("product qkv");
    adapt(inputs, layer, AdapterGroup::qkv, norm, qkv);
    watch.mark("adapters");
    attend(inputs, plan, layer, qkv, attention);
    linear(projected, attention, layer, AdapterGroup::o);
    if (weights.o_bias.defined()) projected.add_(weights.o_bias);
    watch.mark("product o");
    adapt(inputs, layer, AdapterGroup::o, attention, projected);
    watch.mark("adapters");
    operations_.rms_norm(stream, projected, stream, weights.post_attention_norm, description.rms_epsilon, norm, none);
    watch.mark("norm");
    linear(gate_up, norm, layer, AdapterGroup::gate_up);
    watch.mark("product gate up");
    adapt(inputs, layer, AdapterGroup::gate_up, norm, gate_up);
    watch.mark("adapters");
    operations_.swiglu(gate_up, activated);
    watch.mark("swiglu");
    linear(projected, activated, layer, AdapterGroup::down);
    watch.mark("product down");
    adapt(inputs, layer, AdapterGroup::down, activated, projected);
    watch.mark("adapters");
    update = projected;
  }
  if (plan.rows == 0) return;
  // Only rows that are sampled need logits.
  Tensor last = stream.index_select(0, inputs.last);
  Tensor last_norm = at::empty_like(last);
  operations_.rms_norm(last, update.index_select(0, inputs.last), last, model_->weights.final_norm,
                       description.rms_epsilon, last_norm, none);
  Tensor logits = logits_.narrow(0, 0, plan.rows);
  linear(logits, last_norm, model_->weights.output);
  watch.mark("product logits");
  finish(inputs, plan);
}

// One row, no adapters: norms, biases, SwiGLU and residual additions are part of the products.
void GpuDecoder::compute_single(const Inputs& inputs, const StepPlan& plan) {
  auto& watch = operations_.stopwatch();
  const ModelDescription& description = model_->description;
  const auto options = model_->weights.embedding.options();
  const double epsilon = description.rms_epsilon;
  Tensor stream = at::empty({1, description.hidden}, options), qkv = at::empty({1, shape_.qkv()}, options),
         attention = at::empty({1, shape_.query()}, options),
         activated = at::empty({1, description.intermediate}, options);
  operations_.embed(inputs.tokens, model_->weights.embedding, stream);
  for (std::int64_t layer = 0; layer < description.layers; ++layer) {
    const LayerTensors& weights = model_->weights.layers[static_cast<std::size_t>(layer)];
    linear_single(qkv, stream, layer, AdapterGroup::qkv, {weights.input_norm, {}, {}, epsilon, false});
    watch.mark("product qkv");
    attend(inputs, plan, layer, qkv, attention);
    linear_single(stream, attention, layer, AdapterGroup::o, {{}, weights.o_bias, stream, 0, false});
    watch.mark("product o");
    linear_single(activated, stream, layer, AdapterGroup::gate_up,
                  {weights.post_attention_norm, {}, {}, epsilon, true});
    watch.mark("product gate up");
    linear_single(stream, activated, layer, AdapterGroup::down, {{}, {}, stream, 0, false});
    watch.mark("product down");
  }
  Tensor logits = logits_.narrow(0, 0, 1);
  operations_.single_row(stream, model_->weights.output, {model_->weights.final_norm, {}, {}, epsilon, false}, logits);
  watch.mark("product logits");
  finish(inputs, plan);
}

}  // namespace kw
