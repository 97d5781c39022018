#include "model/gpu/torch/decoder.h"

#include <algorithm>
#include <bit>

#include "kernel/reference/torch_message.h"
#include "model/gpu/decoder_pages.h"
#include "model/gpu/torch/device_memory.h"

namespace kw {
namespace {

using at::Tensor;

constexpr std::int64_t graph_rows[] = {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256};
constexpr std::int64_t sampling_parts = 64;  // blocks that share a row of logits
constexpr std::int64_t wanted_blocks = 132 * 3;

}  // namespace

GpuDecoder::GpuDecoder(std::shared_ptr<SharedModel> model, std::vector<Tensor> owned, const GpuDecoderOptions& options,
                       HostSampler sampler)
    : model_(std::move(model)),
      owned_(std::move(owned)),
      options_(options),
      sampler_(sampler),
      operations_(model_->kernels),
      shape_(model_->description),
      context_(options.context > 0 ? std::min(options.context, model_->description.context)
                                   : model_->description.context),
      usable_(options.usable_vocabulary > 0 ? options.usable_vocabulary : model_->description.vocabulary) {
  const ModelDescription& description = model_->description;
  const bool gpu = model_->device.is_cuda();
  // A trainer on the same base is at work on a stream of its own, in a workspace of its own.
  if (model_->packed) workspace_.emplace(*model_->packed, model_->type, model_->device);
  const auto values = at::TensorOptions(model_->device).dtype(model_->type);
  const auto ints = at::TensorOptions(model_->device).dtype(at::kInt);
  const std::int64_t page_elements = description.kv_heads * 16 * description.head_dim;
  const std::int64_t page_bytes =
      description.layers * 2 * page_elements * static_cast<std::int64_t>(c10::elementSize(model_->type));
  page_count_ = options.page_count > 0 ? options.page_count
                                       : decoder_pages({.page_bytes = page_bytes,
                                                        .rows = options.most_rows,
                                                        .context = context_,
                                                        .most_bytes = options.cache_bytes,
                                                        .free_bytes = gpu ? free_device_bytes() : 0});
  // Zeros: attention multiplies places that hold no token yet by a probability of zero.
  cache_ = at::zeros({description.layers, 2, page_count_, page_elements}, values);

  const std::int64_t buffer = 64 + 7 * (options.most_tokens + 32) + 5 * (options.most_rows + 32) +
                              options.most_rows * ((context_ + 15) / 16 + 1);
  const auto host = at::TensorOptions().dtype(at::kInt).pinned_memory(gpu);
  host_input_ = at::zeros({buffer}, host);
  input_ = at::zeros({buffer}, ints);
  host_results_ = at::zeros({2, options.most_rows}, host);
  results_ = at::zeros({2, options.most_rows}, ints);
  logits_ = at::empty({options.most_rows, description.vocabulary}, values.dtype(at::kFloat));
  if (gpu) stream_ = c10::cuda::getStreamFromPool();
  operations_.stopwatch().enabled = options.profile && gpu;

  for (std::int64_t layer = 0; layer < description.layers && !model_->adapters.empty(); ++layer) {
    std::map<std::pair<int, std::int64_t>, LayerAdapters::Target> targets;  // by group and column
    for (std::size_t i = 0; i < model_->adapters.size(); ++i) {
      const AdapterViews& adapter = model_->adapters[i];
      for (int g = 0; g < adapter_group_count; ++g) {
        const GroupTensors& group = adapter.weights[static_cast<std::size_t>(layer)][static_cast<std::size_t>(g)];
        for (const auto& from : group.targets) {
          auto& target = targets[{g, from.column}];
          target.group = static_cast<AdapterGroup>(g);
          target.column = from.column;
          target.out = from.b.size(0);
          target.table.a_values.resize(model_->adapters.size());
          target.table.b_values.resize(model_->adapters.size());
          target.table.a_values[i] = group.a.narrow(0, from.first_rank, from.b.size(1));
          target.table.b_values[i] = from.b;
          target.table.most_rank = std::max(target.table.most_rank, from.b.size(1));
        }
      }
    }
    LayerAdapters& kept = adapters_.emplace_back();
    for (auto& [key, target] : targets) {
      LowRankTable& table = target.table;
      std::vector<std::int64_t> a, b;
      std::vector<std::int32_t> ranks;
      for (std::size_t i = 0; i < model_->adapters.size(); ++i) {
        const bool adapted = table.a_values[i].defined();
        a.push_back(adapted ? reinterpret_cast<std::int64_t>(table.a_values[i].data_ptr()) : 0);
        b.push_back(adapted ? reinterpret_cast<std::int64_t>(table.b_values[i].data_ptr()) : 0);
        ranks.push_back(adapted ? static_cast<std::int32_t>(table.b_values[i].size(1)) : 0);
        table.host_scales.push_back(model_->adapters[i].scale);
      }
      table.a = at::tensor(a, at::kLong).to(model_->device);
      table.b = at::tensor(b, at::kLong).to(model_->device);
      table.ranks = at::tensor(ranks, at::kInt).to(model_->device);
      table.scales = at::tensor(table.host_scales, at::kFloat).to(model_->device);
      kept.targets.push_back(std::move(target));
    }
  }
  if (gpu) c10::cuda::device_synchronize();
}

GpuDecoder::~GpuDecoder() = default;

void GpuDecoder::update(const Parameters* base, const std::vector<Adapter>& adapters, std::int64_t version) {
  if (owned_.size() != 1 + adapters.size() || model_->adapters.size() != adapters.size())
    throw std::runtime_error("the weights of this decoder are not its own, or it has other adapters");
  if (base != nullptr && base->description != model_->description)
    throw std::runtime_error("the new weights are of another model");
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  // A trainer at work has another stream, and need not be waited for.
  std::optional<c10::cuda::CUDAStreamGuard> on_stream;
  if (stream_) on_stream.emplace(*stream_);
  if (base != nullptr && model_->packed) throw std::runtime_error("a base in 4 bits stays as it is");
  if (base != nullptr) DeviceLayout(base->description, base->layout).upload(base->values, owned_.front());
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const AdapterLayoutOnDevice layout(model_->description, adapters[i].layout);
    if (layout.size() != owned_[i + 1].numel() || adapters[i].scale != model_->adapters[i].scale)
      throw std::runtime_error("the new adapters are of another shape or scale");
    layout.upload(adapters[i].values, owned_[i + 1]);
  }
  if (stream_) stream_->synchronize();
  seen_version_ = model_->version = version;
}

Tensor GpuDecoder::keys(std::int64_t layer) const {
  return cache_[layer][0].view({page_count_, shape_.kv_heads, 16, shape_.head_dim});
}
Tensor GpuDecoder::values(std::int64_t layer) const {
  return cache_[layer][1].view({page_count_, shape_.kv_heads, shape_.head_dim, 16});
}

// Few rows leave most of the GPU idle unless each one's context is divided.
std::int64_t GpuDecoder::attention_parts(std::int64_t rows) const {
  return std::clamp<std::int64_t>(wanted_blocks / (rows * shape_.kv_heads), 1, 32);
}

Result<std::vector<SampledToken>> GpuDecoder::step(std::span<const DecoderRow> rows) {
  if (rows.empty()) return std::vector<SampledToken>{};
  KW_TRY_VOID(check(rows));
  try {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    std::optional<c10::cuda::CUDAStreamGuard> on_stream;
    if (stream_) {
      // The trainer's last step may still be under way, on its own stream.
      if (seen_version_ != model_->version) c10::cuda::device_synchronize();
      seen_version_ = model_->version;
      on_stream.emplace(*stream_);
    }
    const auto count = static_cast<std::int64_t>(rows.size());
    const bool single_tokens = std::ranges::all_of(rows, [](const DecoderRow& row) { return row.tokens.size() == 1; });
    const auto* padded = std::ranges::lower_bound(graph_rows, count);
    const bool graph = stream_ && options_.graphs && !options_.profile && single_tokens &&
                       padded != std::end(graph_rows) && *padded <= options_.most_rows;
    StepPlan plan = fill(rows, graph ? *padded : 0);
    fill_masks(rows, plan);
    input_.narrow(0, 0, plan.used).copy_(host_input_.narrow(0, 0, plan.used), true);
    const Inputs inputs = views(input_, plan.tokens, plan.rows);
    // Profiling: the device waits until everything is enqueued, so that the host's time does not show.
    if (operations_.stopwatch().enabled) at::cuda::sleep(40'000'000);
    operations_.stopwatch().mark(nullptr);
    if (graph) {
      replay(inputs, plan);
    } else {
      compute(inputs, plan);
    }
    return collect(rows, plan);
  } catch (const std::exception& problem) {
    return Error{"a step of the decoder failed: " + first_lines(problem.what(), 3), "", {}};
  }
}

void GpuDecoder::replay(const Inputs& inputs, const StepPlan& plan) {
  auto& graph = graphs_[2 * plan.rows + (plan.masked ? 1 : 0)];
  if (!graph) {
    compute(inputs, plan);  // warm up: what is allocated once (cuBLAS, kernels) must not be part of the graph
    stream_->synchronize();
    auto captured = std::make_unique<at::cuda::CUDAGraph>();
    // Other threads of the program (the judge's reference) go on using the device meanwhile.
    captured->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    compute(inputs, plan);
    captured->capture_end();
    graph = std::move(captured);
  }
  graph->replay();
}

std::vector<SampledToken> GpuDecoder::collect(std::span<const DecoderRow> rows, const StepPlan& plan) {
  std::vector<SampledToken> sampled(rows.size());
  if (plan.sampled.empty()) {
    if (stream_) stream_->synchronize();
    return sampled;
  }
  host_results_.copy_(results_, true);
  if (stream_) stream_->synchronize();
  const std::int32_t* tokens = host_results_.data_ptr<std::int32_t>();
  for (std::size_t i = 0; i < plan.sampled.size(); ++i) {
    const DecoderRow& row = rows[plan.sampled[i]];
    if (!row.sample) continue;
    SampledToken& result = sampled[plan.sampled[i]];
    const bool few =
        row.rule.temperature > 0 && (row.rule.top_p < 1 || (row.rule.top_k > 0 && row.rule.top_k < usable_));
    if (few) {
      const Tensor logits = logits_[static_cast<std::int64_t>(i)].to(at::kCPU);
      result = sampler_(logits.data_ptr<float>(), usable_, row.rule, row.answer_index);
    } else {
      result.token = tokens[i];
      result.log_prob = std::bit_cast<float>(tokens[static_cast<std::size_t>(options_.most_rows) + i]);
    }
    // Logits without a largest number leave no token.
    if (result.token < 0 || result.token >= usable_) result.token = -1;
  }
  return sampled;
}

Result<void> GpuDecoder::copy_page(std::int32_t from, std::int32_t to) {
  if (from < 0 || from >= page_count_ || to < 0 || to >= page_count_) return Error{"there is no such page", "", {}};
  try {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    std::optional<c10::cuda::CUDAStreamGuard> on_stream;
    if (stream_) on_stream.emplace(*stream_);
    cache_.select(2, to).copy_(cache_.select(2, from), true);
  } catch (const std::exception& problem) {
    return Error{"a page could not be copied: " + first_lines(problem.what(), 3), "", {}};
  }
  return {};
}

// Which tokens the sampled rows may choose from, into buffers that stay where they are: graphs read them.
void GpuDecoder::fill_masks(std::span<const DecoderRow> rows, StepPlan& plan) {
  for (const std::size_t i : plan.sampled) plan.masked = plan.masked || (rows[i].sample && rows[i].allowed != nullptr);
  if (!plan.masked) return;
  const std::int64_t words = (usable_ + 31) / 32;
  if (!masks_.defined()) {
    host_masks_ = at::zeros({options_.most_rows, words}, host_input_.options().pinned_memory(host_input_.is_pinned()));
    host_mask_of_row_ = at::zeros({options_.most_rows}, host_masks_.options());
    masks_ = at::zeros({options_.most_rows, words}, input_.options());
    mask_of_row_ = at::zeros({options_.most_rows}, input_.options());
  }
  host_mask_of_row_.fill_(-1);
  for (std::size_t i = 0; i < plan.sampled.size(); ++i) {
    const DecoderRow& row = rows[plan.sampled[i]];
    if (!row.sample || row.allowed == nullptr) continue;
    std::vector<std::int32_t> bits;
    append_mask(*row.allowed, words, bits);
    std::copy(bits.begin(), bits.end(), host_masks_.data_ptr<std::int32_t>() + static_cast<std::int64_t>(i) * words);
    host_mask_of_row_.data_ptr<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  }
  masks_.narrow(0, 0, plan.rows).copy_(host_masks_.narrow(0, 0, plan.rows), true);
  mask_of_row_.copy_(host_mask_of_row_, true);
}

void GpuDecoder::finish(const Inputs& inputs, const StepPlan& plan) {
  const std::int64_t rows = plan.rows;
  Tensor logits = logits_.narrow(0, 0, rows);
  if (plan.masked) operations_.mask_logits(logits, masks_, mask_of_row_.narrow(0, 0, rows), usable_);
  Tensor scratch = at::empty({rows * sampling_parts * 5}, logits_.options());
  Tensor tokens = results_[0].narrow(0, 0, rows);
  Tensor log_probs = results_[1].view(at::kFloat).narrow(0, 0, rows);
  operations_.sample(logits, inputs.rules, usable_, sampling_parts, scratch, tokens, log_probs);
  operations_.stopwatch().mark("sampling");
}

}  // namespace kw
