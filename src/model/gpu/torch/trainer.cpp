#include "model/gpu/torch/trainer.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

namespace kw {
namespace {

using at::Tensor;

constexpr std::int64_t least_rows_at_once = 2048;  // of logits on a GPU: fewer leave it idle

}  // namespace

void GpuTrainer::add_part(NewPart part) {
  const auto floats = at::TensorOptions(shared_->device).dtype(at::kFloat);
  PartTensors tensors;
  tensors.decayed = part.decayed;
  if (part.has_copy && shared_->type != at::kFloat)
    tensors.copy = at::zeros({part.device_size}, floats.dtype(shared_->type));
  std::int64_t own_size = part.device_size;
  if (share_) {
    // A quarter of a small part is sent while the rest is computed.
    const std::int64_t bucket = std::min(options_.bucket_bytes / 4, std::max<std::int64_t>(part.device_size / 4, 1));
    tensors.plan = plan_buckets(part.stretches, bucket, share_->owner.rank, share_->owner.size);
    own_size = tensors.plan.own_size;
  }
  tensors.values = at::zeros({tensors.copy.defined() ? own_size : part.device_size}, floats);
  tensors.gradient = at::zeros({part.device_size}, floats);
  tensors.first = at::zeros({own_size}, floats);
  tensors.second = at::zeros({own_size}, floats);
  parts_.push_back({std::move(part.name), part.size, false, 0});
  tensors_.push_back(std::move(tensors));
}

GpuTrainer::GpuTrainer(const Parameters& parameters, const std::vector<Adapter>& adapters,
                       std::span<const float> value_head, const TrainingOptions& training, const GpuOptions& options,
                       std::shared_ptr<const KernelLauncher> kernels, std::optional<TrainerShare> share)
    : shared_(std::make_shared<SharedModel>(
          SharedModel{parameters.description,
                      at::Device(options.on_cpu ? at::kCPU : at::kCUDA),
                      options.precision == GpuPrecision::bf16 ? at::kBFloat16 : at::kFloat,
                      kernels,
                      {},
                      {},
                      {},
                      0})),
      operations_(std::move(kernels)),
      training_(training),
      options_(options),
      layout_(parameters.description, parameters.layout),
      has_base_(training.train_base),
      has_value_head_(!value_head.empty()),
      usable_(training.usable_vocabulary > 0 ? training.usable_vocabulary : parameters.description.vocabulary),
      share_(share) {
  operations_.stopwatch().enabled = options.profile && !options.on_cpu;
  SharedModel& model = *shared_;
  if (has_base_) {
    add_part({"base", parameters.layout.size, layout_.size(), layout_.matrices(),
              layout_.stretches(share_ && share_->whole_matrices)});
    gradients_ = layout_.views(tensors_.back().gradient);
    write_part(0, PartArray::values, parameters.values);
    model.weights = layout_.views(tensors_[0].computed_with());
  } else {
    base_ = at::empty({layout_.size()}, at::TensorOptions(model.device).dtype(model.type));
    layout_.upload(parameters.values, base_);
    model.weights = layout_.views(base_);
  }
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const auto& layout = adapter_layouts_.emplace_back(model.description, adapters[i].layout);
    add_part({"adapter." + std::to_string(i) + "." + adapters[i].name, adapters[i].layout.size, layout.size(),
              layout.size(), layout.stretches()});
    write_part(parts_.size() - 1, PartArray::values, adapters[i].values);
    const PartTensors& part = tensors_.back();
    model.adapters.push_back({adapters[i].scale, layout.views(part.computed_with()), layout.views(part.gradient)});
  }
  if (has_value_head_) {
    const auto size = static_cast<std::int64_t>(value_head.size());
    // Computed in float32.
    add_part({"value_head", size, size, 0, {{0, size, 0}}, false});
    write_part(parts_.size() - 1, PartArray::values, value_head);
  }
  model.rotary = rotary_tensors(model.description, model.description.context, model.device);
}

Tensor GpuTrainer::to_device(const std::vector<std::int32_t>& values) const {
  const Tensor host =
      at::from_blob(const_cast<std::int32_t*>(values.data()), {static_cast<std::int64_t>(values.size())}, at::kInt);
  return shared_->device.is_cpu() ? host.clone() : host.to(shared_->device);
}

std::int64_t GpuTrainer::chunk_rows() const {
  return operations_.has_kernels() ? std::max(training_.logits_chunk, least_rows_at_once) : training_.logits_chunk;
}

// KERNELWRIGHT_LOGITS=bf16: half the bytes, and log-probabilities that are right to 8 bits of a logit only.
at::ScalarType GpuTrainer::logits_type() const {
  static const bool narrow = [] {
    const char* given = std::getenv("KERNELWRIGHT_LOGITS");
    return given != nullptr && std::string_view(given) == "bf16";
  }();
  return narrow ? shared_->type : at::kFloat;
}

TokenScores GpuTrainer::run(const BatchPlan& plan, bool keep) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  auto& watch = operations_.stopwatch();
  watch.mark(nullptr);
  const ModelDescription& model = shared_->description;
  if (keep) kept_ = {};
  Pass pass;
  pass.starts.host = plan.starts;
  for (std::size_t i = 0; i + 1 < plan.starts.size(); ++i) {
    pass.starts.longest = std::max(pass.starts.longest, plan.starts[i + 1] - plan.starts[i]);
  }
  pass.starts.device = to_device(std::vector<std::int32_t>(plan.starts.begin(), plan.starts.end()));
  pass.positions = to_device(plan.positions);
  pass.runs = plan.runs;
  const Tensor ids = to_device(plan.tokens);
  Tensor stream = at::empty({plan.rows(), model.hidden}, at::TensorOptions(shared_->device).dtype(shared_->type));
  operations_.embed(ids, shared_->weights.embedding, stream);
  watch.mark("embedding");
  Tensor update;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    Block block;
    update = block_forward(pass, layer, stream, update, block);
    stream = block.middle;
    if (!keep) continue;
    if (training_.recompute) {
      Block only_input;
      only_input.x = block.x;
      block = std::move(only_input);
    }
    pass.blocks.push_back(std::move(block));
  }
  TokenScores scores = score(plan, pass, stream, update, keep);
  if (keep) kept_ = std::move(pass);
  return scores;
}

Tensor GpuTrainer::block_forward(const Pass& pass, std::int64_t layer, const Tensor& stream, const Tensor& update,
                                 Block& block) {
  auto& watch = operations_.stopwatch();
  const ModelDescription& model = shared_->description;
  const LayerTensors& weights = shared_->weights.layers[static_cast<std::size_t>(layer)];
  const HeadShape shape(model);
  const std::int64_t rows = stream.size(0);
  const auto floats = stream.options().dtype(at::kFloat);
  const auto adapt = [&](AdapterGroup group, const Tensor& x, const Tensor& y) {
    block.adapted[static_cast<std::size_t>(group)] =
        add_adapters(operations_, shared_->adapters, pass.runs, layer, group, x, y);
  };

  block.x = update.defined() ? at::empty_like(stream) : stream;
  block.norm1 = at::empty_like(stream);
  block.inverse1 = at::empty({rows}, floats);
  operations_.rms_norm(stream, update, block.x, weights.input_norm, model.rms_epsilon, block.norm1, block.inverse1);
  watch.mark("norm");
  block.qkv = at::empty({rows, shape.qkv()}, stream.options());
  operations_.product(block.qkv, block.norm1, false, weights.qkv, true);
  watch.mark("product qkv");
  adapt(AdapterGroup::qkv, block.norm1, block.qkv);
  watch.mark("adapters");
  operations_.rotate_qkv(block.qkv, weights.qkv_bias, pass.positions, shared_->rotary.cosine, shared_->rotary.sine,
                         shape, false);
  watch.mark("rotate");
  block.attention = operations_.attention(block.qkv, pass.starts, shape);
  watch.mark("attention");
  Tensor projected = at::empty_like(stream);
  operations_.product(projected, block.attention.out, false, weights.o, true);
  if (weights.o_bias.defined()) projected.add_(weights.o_bias);
  watch.mark("product o");
  adapt(AdapterGroup::o, block.attention.out, projected);
  watch.mark("adapters");

  block.middle = at::empty_like(stream);
  block.norm2 = at::empty_like(stream);
  block.inverse2 = at::empty({rows}, floats);
  operations_.rms_norm(block.x, projected, block.middle, weights.post_attention_norm, model.rms_epsilon, block.norm2,
                       block.inverse2);
  watch.mark("norm");
  block.gate_up = at::empty({rows, 2 * model.intermediate}, stream.options());
  operations_.product(block.gate_up, block.norm2, false, weights.gate_up, true);
  watch.mark("product gate up");
  adapt(AdapterGroup::gate_up, block.norm2, block.gate_up);
  watch.mark("adapters");
  Tensor activated = at::empty({rows, model.intermediate}, stream.options());
  operations_.swiglu(block.gate_up, activated);
  watch.mark("swiglu");
  operations_.product(projected, activated, false, weights.down, true);
  watch.mark("product down");
  adapt(AdapterGroup::down, activated, projected);
  watch.mark("adapters");
  return projected;
}

// Each mask once, however many tokens were chosen by it.
void GpuTrainer::upload_masks(const BatchPlan& plan, Pass& pass) const {
  pass.masks = pass.mask_of_row = Tensor();
  std::map<const TokenMask*, std::int32_t> places;
  std::vector<std::int32_t> of_row, words;
  const std::int64_t width = (usable_ + 31) / 32;
  for (const TokenMask* mask : plan.scored_masks) {
    if (mask == nullptr) {
      of_row.push_back(-1);
      continue;
    }
    const auto [place, fresh] = places.emplace(mask, static_cast<std::int32_t>(places.size()));
    of_row.push_back(place->second);
    if (fresh) append_mask(*mask, width, words);
  }
  if (places.empty()) return;
  pass.masks = to_device(words).view({static_cast<std::int64_t>(places.size()), width});
  pass.mask_of_row = to_device(of_row);
}

TokenScores GpuTrainer::score(const BatchPlan& plan, Pass& pass, const Tensor& stream, const Tensor& update,
                              bool keep) {
  auto& watch = operations_.stopwatch();
  const ModelDescription& model = shared_->description;
  const std::int64_t scored = plan.scored();
  TokenScores scores;
  if (scored == 0) return scores;
  const auto floats = stream.options().dtype(at::kFloat);
  pass.scored_rows =
      to_device(std::vector<std::int32_t>(plan.scored_rows.begin(), plan.scored_rows.end())).to(at::kLong);
  pass.scored_tokens = to_device(plan.scored_tokens);
  upload_masks(plan, pass);
  pass.scored_x = at::empty({scored, model.hidden}, stream.options());
  pass.scored_norm = at::empty_like(pass.scored_x);
  pass.scored_inverse = at::empty({scored}, floats);
  operations_.rms_norm(stream.index_select(0, pass.scored_rows), update.index_select(0, pass.scored_rows),
                       pass.scored_x, shared_->weights.final_norm, model.rms_epsilon, pass.scored_norm,
                       pass.scored_inverse);
  watch.mark("norm");

  Tensor results = at::empty({3, scored}, floats);  // log-probability, entropy, logarithm of the sum
  const std::int64_t logits_bytes = scored * model.vocabulary * static_cast<std::int64_t>(elementSize(logits_type()));
  const bool keep_logits = keep && logits_bytes <= options_.kept_logits_bytes;
  const std::int64_t chunk = std::min(chunk_rows(), scored);
  if (keep_logits) pass.logits = at::empty({scored, model.vocabulary}, floats.dtype(logits_type()));
  Tensor buffer = keep_logits ? Tensor() : at::empty({chunk, model.vocabulary}, floats.dtype(logits_type()));
  for (std::int64_t begin = 0; begin < scored; begin += chunk) {
    const std::int64_t count = std::min(chunk, scored - begin);
    Tensor logits = keep_logits ? pass.logits.narrow(0, begin, count) : buffer.narrow(0, 0, count);
    operations_.product(logits, pass.scored_norm.narrow(0, begin, count), false, shared_->weights.output, true);
    watch.mark("product logits");
    if (pass.masks.defined())
      operations_.mask_logits(logits, pass.masks, pass.mask_of_row.narrow(0, begin, count), usable_);
    Tensor log_prob = results[0].narrow(0, begin, count), entropy = results[1].narrow(0, begin, count),
           log_sum = results[2].narrow(0, begin, count);
    operations_.score_tokens(logits, pass.scored_tokens.narrow(0, begin, count), usable_, plan.inverse_temperature,
                             log_prob, entropy, log_sum);
    watch.mark("scores");
  }
  pass.entropy = results[1];
  pass.log_sum = results[2];
  const Tensor host = results.to(at::kCPU);
  const auto place = [&](const Tensor& from, std::vector<float>& into) {
    into.resize(static_cast<std::size_t>(scored));
    const float* values = from.data_ptr<float>();
    for (std::size_t i = 0; i < into.size(); ++i) into[static_cast<std::size_t>(plan.scored_places[i])] = values[i];
  };
  place(host[0], scores.log_prob);
  place(host[1], scores.entropy);
  if (has_value_head_) {
    const Tensor& head = tensors_.back().values;
    const Tensor weight = head.narrow(0, 0, model.hidden), bias = head.narrow(0, model.hidden, 1);
    place((at::mv(pass.scored_norm.to(at::kFloat), weight) + bias).to(at::kCPU), scores.value);
  }
  return scores;
}

}  // namespace kw
