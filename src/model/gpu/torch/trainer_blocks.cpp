// One block of a trainer: forward, what of it is kept, and computing the rest once more.

#include <algorithm>
#include <stdexcept>

#include "model/gpu/torch/device_memory.h"
#include "model/gpu/torch/trainer.h"

namespace kw {
namespace {

using at::Tensor;

std::string in_mebibytes(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

Tensor GpuTrainer::matrix(std::int64_t layer, AdapterGroup group) {
  if (workspace_) return workspace_->expand(operations_, shared_->packed->at(layer, group));
  return matrix_of(shared_->weights.layers[static_cast<std::size_t>(layer)], group);
}

PassPlan GpuTrainer::plan_memory(const BatchPlan& plan, bool keep) const {
  PassPlan keeps;
  if (options_.memory_bytes == 0) {
    if (!training_.recompute) keeps.all = shared_->description.layers;
    return keeps;
  }
  const std::int64_t limit = options_.memory_bytes - memory_outside_allocator;
  const std::int64_t taken = shared_->device.is_cuda() ? allocated_device_bytes() : sum_of(fixed_memory(memory_shape_));
  const PassNeeds needs{plan.rows(), plan.scored(), static_cast<std::int64_t>(plan.starts.size()) - 1};
  const PassAnswer answer = plan_pass(memory_shape_, needs, limit - taken);
  // What is only scored keeps nothing: a pass that could not be learned from may still fit.
  if (!answer.fits && keep)
    throw std::runtime_error("a pass over " + std::to_string(needs.rows) + " tokens takes " +
                             in_mebibytes(answer.plan.bytes) + " of memory, and " +
                             in_mebibytes(std::max<std::int64_t>(limit - taken, 0)) +
                             " of the limit are left: take fewer tokens at once");
  return answer.plan;
}

void GpuTrainer::norm_first(std::int64_t layer, const Tensor& stream, const Tensor& update, Block& block) const {
  block.x = update.defined() ? at::empty_like(stream) : stream;
  block.norm1 = at::empty_like(stream);
  block.inverse1 = at::empty({stream.size(0)}, stream.options().dtype(at::kFloat));
  operations_.rms_norm(stream, update, block.x, shared_->weights.layers[static_cast<std::size_t>(layer)].input_norm,
                       shared_->description.rms_epsilon, block.norm1, block.inverse1);
  operations_.stopwatch().mark("norm");
}

// projected: what is to be added to the stream.
void GpuTrainer::attention_forward(const Pass& pass, std::int64_t layer, Block& block, Tensor& projected) {
  auto& watch = operations_.stopwatch();
  const LayerTensors& weights = shared_->weights.layers[static_cast<std::size_t>(layer)];
  const HeadShape shape(shared_->description);
  const auto adapt = [&](AdapterGroup group, const Tensor& x, const Tensor& y) {
    block.adapted[static_cast<std::size_t>(group)] =
        add_adapters(operations_, shared_->adapters, pass.runs, layer, group, x, y);
    watch.mark("adapters");
  };
  block.qkv = at::empty({block.x.size(0), shape.qkv()}, block.x.options());
  operations_.product(block.qkv, block.norm1, false, matrix(layer, AdapterGroup::qkv), true);
  watch.mark("product qkv");
  adapt(AdapterGroup::qkv, block.norm1, block.qkv);
  operations_.rotate_qkv(block.qkv, weights.qkv_bias, pass.positions, shared_->rotary.cosine, shared_->rotary.sine,
                         shape, false);
  watch.mark("rotate");
  block.attention = operations_.attention(block.qkv, pass.starts, shape);
  watch.mark("attention");
  projected = at::empty_like(block.x);
  operations_.product(projected, block.attention.out, false, matrix(layer, AdapterGroup::o), true);
  if (weights.o_bias.defined()) projected.add_(weights.o_bias);
  watch.mark("product o");
  adapt(AdapterGroup::o, block.attention.out, projected);
}

// block.middle = stream (+ update), and its norm.
void GpuTrainer::norm_middle(std::int64_t layer, const Tensor& stream, const Tensor& update, Block& block) const {
  block.middle = update.defined() ? at::empty_like(stream) : stream;
  block.norm2 = at::empty_like(stream);
  block.inverse2 = at::empty({stream.size(0)}, stream.options().dtype(at::kFloat));
  operations_.rms_norm(stream, update, block.middle,
                       shared_->weights.layers[static_cast<std::size_t>(layer)].post_attention_norm,
                       shared_->description.rms_epsilon, block.norm2, block.inverse2);
  operations_.stopwatch().mark("norm");
}

void GpuTrainer::gate_up_forward(const Pass& pass, std::int64_t layer, Block& block) {
  block.gate_up = at::empty({block.x.size(0), 2 * shared_->description.intermediate}, block.x.options());
  operations_.product(block.gate_up, block.norm2, false, matrix(layer, AdapterGroup::gate_up), true);
  operations_.stopwatch().mark("product gate up");
  block.adapted[static_cast<std::size_t>(AdapterGroup::gate_up)] =
      add_adapters(operations_, shared_->adapters, pass.runs, layer, AdapterGroup::gate_up, block.norm2, block.gate_up);
  operations_.stopwatch().mark("adapters");
}

Tensor GpuTrainer::block_forward(const Pass& pass, std::int64_t layer, const Tensor& stream, const Tensor& update,
                                 Block& block) {
  auto& watch = operations_.stopwatch();
  Tensor projected;
  norm_first(layer, stream, update, block);
  attention_forward(pass, layer, block, projected);
  norm_middle(layer, block.x, projected, block);
  gate_up_forward(pass, layer, block);
  Tensor activated = at::empty({stream.size(0), shared_->description.intermediate}, stream.options());
  operations_.swiglu(block.gate_up, activated);
  watch.mark("swiglu");
  operations_.product(projected, activated, false, matrix(layer, AdapterGroup::down), true);
  watch.mark("product down");
  block.adapted[static_cast<std::size_t>(AdapterGroup::down)] =
      add_adapters(operations_, shared_->adapters, pass.runs, layer, AdapterGroup::down, activated, projected);
  watch.mark("adapters");
  return projected;
}

// What adapters made of a product goes with it.
void GpuTrainer::forget(Block& block, Kept kept) {
  if (kept == Kept::all) return;
  block.norm1 = block.inverse1 = block.norm2 = block.inverse2 = Tensor();
  if (kept == Kept::products) return;
  block.gate_up = Tensor();
  block.adapted[static_cast<std::size_t>(AdapterGroup::gate_up)].clear();
  if (kept == Kept::attention) return;
  for (const AdapterGroup group : {AdapterGroup::qkv, AdapterGroup::o})
    block.adapted[static_cast<std::size_t>(group)].clear();
  block.qkv = block.middle = Tensor();
  block.attention = {};
}

// The product of down is left out: nothing but the next block reads it.
void GpuTrainer::compute_again(const Pass& pass, std::int64_t layer, Block& block, Kept kept) {
  if (kept == Kept::all) return;
  Tensor projected;
  norm_first(layer, block.x, {}, block);
  if (kept == Kept::input) attention_forward(pass, layer, block, projected);
  norm_middle(layer, kept == Kept::input ? block.x : block.middle, projected, block);
  if (kept != Kept::products) gate_up_forward(pass, layer, block);
}

}  // namespace kw
