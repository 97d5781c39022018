#include "model/gpu/torch/trainer.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>
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
  if (part.pieces.empty()) {
    tensors.first = at::zeros({own_size}, floats);
    tensors.second = at::zeros({own_size}, floats);
  } else {
    tensors.eight_bit.emplace(part.pieces, shared_->device);
  }
  parts_.push_back({std::move(part.name), part.size, false, 0});
  tensors_.push_back(std::move(tensors));
}

GpuTrainer::GpuTrainer(const HostBase& base, const std::vector<Adapter>& adapters, std::span<const float> value_head,
                       const TrainingOptions& training, const GpuOptions& options,
                       std::shared_ptr<const KernelLauncher> kernels, std::optional<TrainerShare> share, bool eight_bit)
    : shared_(std::make_shared<SharedModel>(
          SharedModel{base.description,
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
      layout_(base.description, base.layout, base.packed == nullptr),
      has_base_(training.train_base),
      has_value_head_(!value_head.empty()),
      eight_bit_(eight_bit),
      usable_(training.usable_vocabulary > 0 ? training.usable_vocabulary : base.description.vocabulary),
      share_(share) {
  operations_.stopwatch().enabled = options.profile && !options.on_cpu;
  SharedModel& model = *shared_;
  if (eight_bit_ && (has_base_ || share_))
    throw std::runtime_error("moments of 8 bits are for adapters, without ranks");
  if (has_base_ && base.floats == nullptr) throw std::runtime_error("a base in 4 bits cannot be trained itself");
  if (has_base_) {
    add_part({"base", base.layout.size, layout_.size(), layout_.matrices(),
              layout_.stretches(share_ && share_->whole_matrices)});
    gradients_ = layout_.views(tensors_.back().gradient);
    write_part(0, PartArray::values, base.floats->values);
    model.weights = layout_.views(tensors_[0].computed_with());
  } else {
    base_ = at::empty({layout_.size()}, at::TensorOptions(model.device).dtype(model.type));
    if (base.packed != nullptr) {
      layout_.upload(base.packed->others, base_);
      model.packed = std::make_shared<const Nf4Matrices>(*base.packed, model.device);
      workspace_.emplace(*model.packed, model.type, model.device);
    } else {
      layout_.upload(base.floats->values, base_);
    }
    model.weights = layout_.views(base_);
  }
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const auto& layout = adapter_layouts_.emplace_back(model.description, adapters[i].layout);
    add_part({"adapter." + std::to_string(i) + "." + adapters[i].name, adapters[i].layout.size, layout.size(),
              layout.size(), layout.stretches(), true,
              eight_bit_ ? layout.pieces() : std::vector<EightBitMoments::Piece>{}});
    write_part(parts_.size() - 1, PartArray::values, adapters[i].values);
    const PartTensors& part = tensors_.back();
    model.adapters.push_back({adapters[i].scale, layout.views(part.computed_with()), layout.views(part.gradient)});
  }
  if (has_value_head_) {
    const auto size = static_cast<std::int64_t>(value_head.size());
    // Computed in float32.
    add_part({"value_head",
              size,
              size,
              0,
              {{0, size, 0}},
              false,
              eight_bit_ ? std::vector<EightBitMoments::Piece>{{0, 0, size}} : std::vector<EightBitMoments::Piece>{}});
    write_part(parts_.size() - 1, PartArray::values, value_head);
  }
  model.rotary = rotary_tensors(model.description, model.description.context, model.device);
  memory_shape_.model = model.description;
  memory_shape_.method = has_base_                ? TrainingMethod::full
                         : base.packed != nullptr ? TrainingMethod::qlora
                                                  : TrainingMethod::lora;
  memory_shape_.eight_bit = eight_bit_;
  memory_shape_.value_head = has_value_head_;
  memory_shape_.element_bytes = static_cast<std::int64_t>(elementSize(model.type));
  for (const Adapter& adapter : adapters) {
    memory_shape_.adapter_parameters += adapter.layout.size;
    memory_shape_.adapter_ranks = std::max(memory_shape_.adapter_ranks, projection_count * adapter.layout.rank);
  }
}

Tensor GpuTrainer::to_device(const std::vector<std::int32_t>& values) const {
  const Tensor host =
      at::from_blob(const_cast<std::int32_t*>(values.data()), {static_cast<std::int64_t>(values.size())}, at::kInt);
  return shared_->device.is_cpu() ? host.clone() : host.to(shared_->device);
}

std::int64_t GpuTrainer::chunk_rows(const Pass& pass) const {
  if (pass.keeps.logits_rows > 0) return pass.keeps.logits_rows;
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
  pass.keeps = plan_memory(plan, keep);
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
    forget(block, pass.keeps.kept(layer, model.layers));
    pass.blocks.push_back(std::move(block));
  }
  TokenScores scores = score(plan, pass, stream, update, keep);
  if (keep) kept_ = std::move(pass);
  return scores;
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
  const bool keep_logits = keep && options_.memory_bytes == 0 && logits_bytes <= options_.kept_logits_bytes;
  const std::int64_t chunk = std::min(chunk_rows(pass), scored);
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
