#include "model/rollout/cpu_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>

#include "model/arithmetic/attention.h"
#include "model/arithmetic/rows.h"
#include "model/decoder/float_buffer.h"
#include "model/rollout/cpu_weights.h"
#include "model/rollout/sampler.h"
#include "model/rollout/zeroed_memory.h"

namespace kw {
namespace {

constexpr std::int64_t head_rows = 64;  // rows of logits that exist at a time

// Neighbouring rows with the same adapter.
struct AdapterRun {
  std::int32_t adapter = -1;
  std::int64_t first = 0, rows = 0;
};

void extend_runs(std::vector<AdapterRun>& runs, std::int32_t adapter, std::int64_t first, std::int64_t rows) {
  if (!runs.empty() && runs.back().adapter == adapter) {
    runs.back().rows += rows;
  } else {
    runs.push_back({adapter, first, rows});
  }
}

// Where the result of one projection goes.
struct Target {
  float* y = nullptr;
  std::int64_t stride = 0;
};

class Decoding final : public CpuDecoder {
 public:
  Decoding(ThreadTeam& team, const ModelDescription& model, CpuWeights weights, std::vector<CpuAdapter> adapters,
           const CpuDecoderOptions& options);

  std::int64_t page_tokens() const override { return kw::page_tokens; }
  std::int64_t page_count() const override { return page_count_; }
  std::int64_t context() const override { return context_; }
  std::int64_t most_tokens() const override { return options_.most_tokens; }
  std::int64_t vocabulary() const override { return usable_; }
  std::int64_t adapters() const override { return adapter_count_; }
  bool constrains() const override { return true; }
  std::int64_t weights_version() const override { return weights_version_; }
  const ModelDescription& description() const override { return model_; }
  std::int64_t weight_bytes() const override;
  std::int64_t page_bytes() const override { return page_floats_ * static_cast<std::int64_t>(sizeof(float)); }

  Result<std::vector<SampledToken>> step(std::span<const DecoderRow> rows) override;
  Result<void> copy_page(std::int32_t from, std::int32_t to) override;
  Result<void> update(const Parameters& parameters) override;
  Result<void> update_adapter(std::int64_t index, const Adapter& adapter) override;
  Result<void> set_weights_version(std::int64_t version) override;

 private:
  // One step's rows in the order of their adapters, and what follows from them.
  struct Batch {
    std::vector<std::size_t> order;  // of the caller's rows
    std::vector<std::int32_t> tokens, positions;
    std::vector<std::int64_t> starts;  // of each sequence's tokens, and the end
    std::vector<AdapterRun> runs;      // over tokens
    std::vector<KvPage> pages;         // of all sequences, of the layer in progress
    std::vector<std::size_t> first_page;
    std::vector<std::size_t> sampled;      // places in `order` whose next token is wanted
    std::vector<AdapterRun> sampled_runs;  // over `sampled`
    std::vector<AttentionRows> attention;
  };

  Result<void> check_rows(std::span<const DecoderRow> rows) const;
  void prepare(std::span<const DecoderRow> rows);
  void embed();
  void project(std::size_t layer, GroupName name, std::int64_t rows, const float* x, std::span<const Target> targets,
               std::span<const AdapterRun> runs);
  void write_pages();
  void run_layer(std::size_t layer, std::int64_t rows);
  Result<void> sample(std::span<const DecoderRow> rows, std::vector<SampledToken>& result);

  ThreadTeam& team_;
  ModelDescription model_;
  CpuDecoderOptions options_;
  CpuWeights weights_;
  std::vector<CpuAdapter> adapters_;
  std::atomic<std::int64_t> adapter_count_;  // requests are checked from any thread
  std::int64_t weights_version_ = 0;
  std::int64_t stepped_version_ = -1;  // of the last step: pages may be of these weights
  AttentionShape shape_;
  std::int64_t context_, usable_, query_, key_, qkv_width_, page_floats_, page_count_;
  RotaryTable rotary_;

  ZeroedFloats pages_;  // (page, layer, keys then values); zero is finite, where no token was written yet

  Batch batch_;
  FloatBuffer stream_, norm_;        // (rows, hidden)
  FloatBuffer update_;               // (rows, hidden): what a block's half adds to the stream
  FloatBuffer qkv_;                  // (rows, (heads + 2 kv_heads) * head_dim)
  FloatBuffer attention_;            // (rows, heads * head_dim)
  FloatBuffer gate_up_, activated_;  // (2, rows, intermediate), (rows, intermediate)
  FloatBuffer low_;                  // (rows, adapted projections of a group * rank)
  FloatBuffer logits_;               // (head_rows, vocabulary)
  std::vector<SamplerScratch> scratch_;
};

Decoding::Decoding(ThreadTeam& team, const ModelDescription& model, CpuWeights weights,
                   std::vector<CpuAdapter> adapters, const CpuDecoderOptions& options)
    : team_(team),
      model_(model),
      options_(options),
      weights_(std::move(weights)),
      adapters_(std::move(adapters)),
      adapter_count_(static_cast<std::int64_t>(adapters_.size())),
      shape_{model.heads, model.kv_heads, model.head_dim, 1.0f / std::sqrt(static_cast<float>(model.head_dim))},
      context_(options.context > 0 ? std::min(options.context, model.context) : model.context),
      usable_(options.usable_vocabulary > 0 ? std::min(options.usable_vocabulary, model.vocabulary) : model.vocabulary),
      query_(model.heads * model.head_dim),
      key_(model.kv_heads * model.head_dim),
      qkv_width_(query_ + 2 * key_),
      page_floats_(model.layers * 2 * shape_.page_floats()),
      page_count_(options.kv_bytes / page_bytes()),
      rotary_(model.head_dim, model.rope_base, context_),
      pages_(static_cast<std::size_t>(page_count_ * page_floats_)) {
  const std::int64_t rows = options_.most_tokens;
  stream_.reserve(rows * model_.hidden);
  norm_.reserve(rows * model_.hidden);
  update_.reserve(rows * model_.hidden);
  qkv_.reserve(rows * qkv_width_);
  attention_.reserve(rows * query_);
  gate_up_.reserve(2 * rows * model_.intermediate);
  activated_.reserve(rows * model_.intermediate);
  logits_.reserve(std::min(head_rows, rows) * model_.vocabulary);
  scratch_.resize(2 * static_cast<std::size_t>(team_.size()));
}

std::int64_t Decoding::weight_bytes() const {
  return static_cast<std::int64_t>(weights_.bytes() - weights_.embedding.bytes());
}

Result<void> Decoding::check_rows(std::span<const DecoderRow> rows) const {
  std::int64_t tokens = 0;
  for (const DecoderRow& row : rows) {
    const auto count = static_cast<std::int64_t>(row.tokens.size());
    tokens += count;
    const std::int64_t end = row.first_position + count;
    KW_CHECK(count > 0 && row.first_position >= 0);
    KW_CHECK(static_cast<std::int64_t>(row.pages.size()) * kw::page_tokens >= end);
    if (end > context_) return Error{fmt::format("{} tokens do not fit the context of {}", end, context_), "", {}};
    if (row.adapter < -1 || row.adapter >= adapters()) {
      return Error{fmt::format("there is no adapter {}", row.adapter), "", {}};
    }
    for (const std::int32_t token : row.tokens) {
      if (token < 0 || token >= model_.vocabulary) {
        return Error{fmt::format("{} is no token of this model", token), "", {}};
      }
    }
    for (const std::int32_t page : row.pages) KW_CHECK(page >= 0 && page < page_count_);
  }
  if (tokens > options_.most_tokens) {
    return Error{fmt::format("{} tokens in a step that takes {}", tokens, options_.most_tokens), "", {}};
  }
  return {};
}

void Decoding::prepare(std::span<const DecoderRow> rows) {
  Batch& batch = batch_;
  batch.order.resize(rows.size());
  std::iota(batch.order.begin(), batch.order.end(), std::size_t{0});
  std::stable_sort(batch.order.begin(), batch.order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].adapter < rows[b].adapter; });
  batch.tokens.clear();
  batch.positions.clear();
  batch.starts.assign(1, 0);
  batch.runs.clear();
  batch.pages.clear();
  batch.first_page.assign(1, 0);
  batch.sampled.clear();
  batch.sampled_runs.clear();
  for (std::size_t place = 0; place < batch.order.size(); ++place) {
    const DecoderRow& row = rows[batch.order[place]];
    const auto count = static_cast<std::int64_t>(row.tokens.size());
    extend_runs(batch.runs, row.adapter, batch.starts.back(), count);
    batch.tokens.insert(batch.tokens.end(), row.tokens.begin(), row.tokens.end());
    for (std::int64_t i = 0; i < count; ++i) {
      batch.positions.push_back(static_cast<std::int32_t>(row.first_position + i));
    }
    batch.starts.push_back(batch.starts.back() + count);
    const std::int64_t pages = (row.first_position + count + kw::page_tokens - 1) / kw::page_tokens;
    for (std::int64_t i = 0; i < pages; ++i) {
      float* page = pages_.get() + row.pages[static_cast<std::size_t>(i)] * page_floats_;
      batch.pages.push_back({page, page + shape_.page_floats()});
    }
    batch.first_page.push_back(batch.pages.size());
    if (row.sample) {
      extend_runs(batch.sampled_runs, row.adapter, static_cast<std::int64_t>(batch.sampled.size()), 1);
      batch.sampled.push_back(place);
    }
  }
}

void Decoding::embed() {
  const auto hidden = static_cast<std::size_t>(model_.hidden);
  const PackedWeight& rows = weights_.embedding_rows();
  for (std::size_t i = 0; i < batch_.tokens.size(); ++i) {
    rows.read_row(batch_.tokens[i], std::span(stream_.data() + i * hidden, hidden));
  }
}

// A group's projections of x (rows, in), each with what the rows' adapters add: u = A x, u *= scale, y += B u.
void Decoding::project(std::size_t layer, GroupName name, std::int64_t rows, const float* x,
                       std::span<const Target> targets, std::span<const AdapterRun> runs) {
  const auto group = static_cast<std::size_t>(name);
  const int first = static_cast<int>(projection_groups[group].first);
  const CpuLayerWeights& weights = weights_.layers[layer];
  const std::vector<PackedWeight>& parts = weights.parts[group];
  const std::int64_t in = parts[0].in();
  const bool joined = name == GroupName::qkv;
  const std::vector<float>& bias = weights.bias[static_cast<std::size_t>(first)];
  std::int64_t column = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& part_bias = joined ? bias : weights.bias[static_cast<std::size_t>(first) + i];
    linear(team_, {x, in, targets[i].y, targets[i].stride, rows}, parts[i],
           part_bias.empty() ? nullptr : part_bias.data() + (joined ? column : 0));
    column += parts[i].out();
  }
  for (const AdapterRun& run : runs) {
    if (run.adapter < 0) continue;
    const CpuAdapter& adapter = adapters_[static_cast<std::size_t>(run.adapter)];
    const CpuAdapterLayer& adapted = adapter.layers[layer];
    const PackedWeight& a = adapted.a[group];
    if (a.out() == 0) continue;
    float* low = low_.reserve(run.rows * a.out());
    linear(team_, {x + run.first * in, in, low, a.out(), run.rows}, a, nullptr);
    for (std::int64_t i = 0; i < run.rows * a.out(); ++i) low[i] *= adapter.scale;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const PackedWeight& b = adapted.b[static_cast<std::size_t>(first) + i];
      if (b.out() == 0) continue;
      linear(team_, {low + offset, a.out(), targets[i].y + run.first * targets[i].stride, targets[i].stride, run.rows},
             b, nullptr, true);
      offset += adapter.rank;
    }
  }
}

void Decoding::write_pages() {
  const auto write = [&](std::size_t place) {
    const std::int64_t start = batch_.starts[place];
    for (std::int64_t row = start; row < batch_.starts[place + 1]; ++row) {
      const std::int64_t position = batch_.positions[static_cast<std::size_t>(row)];
      const KvPage& page =
          batch_.pages[batch_.first_page[place] + static_cast<std::size_t>(position / kw::page_tokens)];
      const float* qkv = qkv_.data() + row * qkv_width_;
      write_token(shape_, page, position % kw::page_tokens, qkv + query_, qkv + query_ + key_);
    }
  };
  for (std::size_t place = 0; place < batch_.order.size(); ++place) write(place);
}

// The stream has had the norm of this layer already, in norm_. In the last layer only rows that are sampled from go on
// behind the keys and values: the first rows of all buffers are theirs then.
void Decoding::run_layer(std::size_t layer, std::int64_t rows) {
  const bool last = layer + 1 == weights_.layers.size();
  const auto epsilon = static_cast<float>(model_.rms_epsilon);
  const std::int64_t hidden = model_.hidden;
  float* qkv = qkv_.data();
  const std::array<Target, 3> qkv_targets{
      {{qkv, qkv_width_}, {qkv + query_, qkv_width_}, {qkv + query_ + key_, qkv_width_}}};
  project(layer, GroupName::qkv, rows, norm_.data(), qkv_targets, batch_.runs);
  rotate(team_, rotary_, batch_.positions, qkv, qkv_width_, shape_.heads + shape_.kv_heads);
  write_pages();

  batch_.attention.clear();
  const auto attend_to = [&](std::size_t place, std::int64_t first, std::int64_t count, std::int64_t out_row) {
    batch_.attention.push_back(
        {qkv + first * qkv_width_, qkv_width_, attention_.data() + out_row * query_, query_, nullptr, count,
         batch_.positions[static_cast<std::size_t>(first)],
         std::span(batch_.pages)
             .subspan(batch_.first_page[place], batch_.first_page[place + 1] - batch_.first_page[place])});
  };
  std::span<const AdapterRun> runs = batch_.runs;
  if (last) {
    rows = static_cast<std::int64_t>(batch_.sampled.size());
    runs = batch_.sampled_runs;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::size_t place = batch_.sampled[static_cast<std::size_t>(i)];
      const std::int64_t row = batch_.starts[place + 1] - 1;
      attend_to(place, row, 1, i);
      if (row != i) std::copy_n(stream_.data() + row * hidden, hidden, stream_.data() + i * hidden);
    }
    if (rows == 0) return;
  } else {
    for (std::size_t place = 0; place < batch_.order.size(); ++place) {
      attend_to(place, batch_.starts[place], batch_.starts[place + 1] - batch_.starts[place], batch_.starts[place]);
    }
  }
  attend(team_, shape_, batch_.attention);
  const Target update{update_.data(), hidden};
  project(layer, GroupName::o, rows, attention_.data(), {&update, 1}, runs);
  add_rms_norm(team_, rows, hidden, stream_.data(), update_.data(), weights_.layers[layer].post_attention_norm.data(),
               epsilon, norm_.data(), nullptr);
  float* gate = gate_up_.data();
  float* up = gate + rows * model_.intermediate;
  const std::array<Target, 2> gate_up_targets{{{gate, model_.intermediate}, {up, model_.intermediate}}};
  project(layer, GroupName::gate_up, rows, norm_.data(), gate_up_targets, runs);
  swiglu(team_, rows, model_.intermediate, gate, up, activated_.data());
  project(layer, GroupName::down, rows, activated_.data(), {&update, 1}, runs);
  const std::vector<float>& next = last ? weights_.final_norm : weights_.layers[layer + 1].input_norm;
  add_rms_norm(team_, rows, hidden, stream_.data(), update_.data(), next.data(), epsilon, norm_.data(), nullptr);
}

Result<void> Decoding::sample(std::span<const DecoderRow> rows, std::vector<SampledToken>& result) {
  const auto count = static_cast<std::int64_t>(batch_.sampled.size());
  for (std::int64_t begin = 0; begin < count; begin += head_rows) {
    const std::int64_t slice = std::min(head_rows, count - begin);
    linear(team_, {norm_.data() + begin * model_.hidden, model_.hidden, logits_.data(), model_.vocabulary, slice},
           weights_.output, nullptr);
    const std::int64_t parts = std::min(slice, static_cast<std::int64_t>(scratch_.size()));
    team_.run(parts, [&](std::int64_t part) {
      for (std::int64_t i = slice * part / parts; i < slice * (part + 1) / parts; ++i) {
        const std::size_t index = batch_.order[batch_.sampled[static_cast<std::size_t>(begin + i)]];
        // top-k and top-p choose among what is left.
        if (rows[index].allowed != nullptr) rows[index].allowed->apply(logits_.data() + i * model_.vocabulary, usable_);
        result[index] = sample_token(logits_.data() + i * model_.vocabulary, usable_, rows[index].rule,
                                     rows[index].answer_index, scratch_[static_cast<std::size_t>(part)]);
      }
    });
  }
  for (const std::size_t place : batch_.sampled) {
    if (result[batch_.order[place]].token < 0) {
      return Error{"the model's logits are not numbers", "its weights are damaged, or training diverged", {}};
    }
  }
  return {};
}

Result<std::vector<SampledToken>> Decoding::step(std::span<const DecoderRow> rows) {
  KW_TRY_VOID(check_rows(rows));
  std::vector<SampledToken> result(rows.size());
  if (rows.empty()) return result;
  stepped_version_ = weights_version_;
  prepare(rows);
  embed();
  const auto count = static_cast<std::int64_t>(batch_.tokens.size());
  rms_norm(team_, count, model_.hidden, stream_.data(), weights_.layers[0].input_norm.data(),
           static_cast<float>(model_.rms_epsilon), norm_.data(), nullptr);
  for (std::size_t layer = 0; layer < weights_.layers.size(); ++layer) {
    run_layer(layer, count);
    for (KvPage& page : batch_.pages) {
      page.keys += 2 * shape_.page_floats();
      page.values += 2 * shape_.page_floats();
    }
  }
  KW_TRY_VOID(sample(rows, result));
  return result;
}

Result<void> Decoding::copy_page(std::int32_t from, std::int32_t to) {
  KW_CHECK(from >= 0 && from < page_count_ && to >= 0 && to < page_count_ && from != to);
  std::memcpy(pages_.get() + to * page_floats_, pages_.get() + from * page_floats_,
              static_cast<std::size_t>(page_bytes()));
  return {};
}

Result<void> Decoding::update(const Parameters& parameters) {
  if (parameters.description != model_) return Error{"the new weights are of another model", "", {}};
  weights_ = pack_weights(parameters);
  ++weights_version_;
  return {};
}

Result<void> Decoding::update_adapter(std::int64_t index, const Adapter& adapter) {
  if (index < 0 || index > adapters()) return Error{fmt::format("there is no adapter {}", index), "", {}};
  KW_TRY(CpuAdapter packed, pack_adapter(adapter, model_));
  if (index == adapters()) adapters_.emplace_back();
  adapters_[static_cast<std::size_t>(index)] = std::move(packed);
  adapter_count_ = static_cast<std::int64_t>(adapters_.size());
  ++weights_version_;
  return {};
}

Result<void> Decoding::set_weights_version(std::int64_t version) {
  if (version < weights_version_ && version <= stepped_version_) {
    return Error{fmt::format("version {} is older than the present one, {}", version, weights_version_), "", {}};
  }
  weights_version_ = version;
  return {};
}

Result<std::unique_ptr<CpuDecoder>> make(ThreadTeam& team, const ModelDescription& model, CpuWeights weights,
                                         const std::vector<Adapter>& adapters, const CpuDecoderOptions& options) {
  const std::int64_t page_bytes =
      model.layers * 2 * model.kv_heads * model.head_dim * page_tokens * static_cast<std::int64_t>(sizeof(float));
  if (options.kv_bytes < 2 * page_bytes) {
    return Error{
        fmt::format("keys and values need at least {} bytes, {} are given", 2 * page_bytes, options.kv_bytes), "", {}};
  }
  if (options.most_tokens < 1) return Error{"a step needs at least one token", "", {}};
  std::vector<CpuAdapter> packed;
  for (const Adapter& adapter : adapters) {
    KW_TRY(CpuAdapter one, pack_adapter(adapter, model));
    packed.push_back(std::move(one));
  }
  return std::unique_ptr<CpuDecoder>(
      std::make_unique<Decoding>(team, model, std::move(weights), std::move(packed), options));
}

}  // namespace

Result<std::unique_ptr<CpuDecoder>> make_cpu_decoder(ThreadTeam& team, const ModelFiles& files,
                                                     const std::vector<Adapter>& adapters,
                                                     const CpuDecoderOptions& options) {
  KW_TRY(CpuWeights weights, pack_weights(files));
  return make(team, files.description(), std::move(weights), adapters, options);
}

Result<std::unique_ptr<CpuDecoder>> make_cpu_decoder(ThreadTeam& team, const Parameters& parameters,
                                                     const std::vector<Adapter>& adapters,
                                                     const CpuDecoderOptions& options) {
  return make(team, parameters.description, pack_weights(parameters), adapters, options);
}

}  // namespace kw
