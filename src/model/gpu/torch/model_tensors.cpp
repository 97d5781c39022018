#include "model/gpu/torch/model_tensors.h"

#include <cmath>
#include <cstring>

namespace kw {
namespace {

using at::Tensor;
constexpr std::int64_t alignment = 64;

std::int64_t out_of(const ModelDescription& description, Projection projection) {
  const std::int64_t query = description.heads * description.head_dim,
                     key = description.kv_heads * description.head_dim;
  switch (projection) {
    case Projection::q:
      return query;
    case Projection::k:
    case Projection::v:
      return key;
    case Projection::gate:
    case Projection::up:
      return description.intermediate;
    default:
      return description.hidden;
  }
}

}  // namespace

std::int64_t DeviceLayout::add(const std::vector<std::pair<std::int64_t, std::int64_t>>& host_offsets_and_counts) {
  if (host_offsets_and_counts.front().first < 0) return -1;
  const std::int64_t begin = size_;
  for (const auto& [host, count] : host_offsets_and_counts) {
    pieces_.push_back({host, size_, count});
    size_ += count;
  }
  size_ = (size_ + alignment - 1) / alignment * alignment;
  return begin;
}

DeviceLayout::DeviceLayout(const ModelDescription& description, const ParameterLayout& layout, bool linear_layers)
    : description_(description), layers_(layout.layers.size()) {
  const std::int64_t hidden = description.hidden, inner = description.intermediate;
  const std::int64_t query = description.heads * description.head_dim;
  const auto out = [&](Projection p) { return out_of(description, p); };
  const auto at = [](Projection p) { return static_cast<std::size_t>(p); };
  embedding_ = add({{layout.embedding, description.vocabulary * hidden}});
  output_ = description.tied_embeddings ? embedding_ : add({{layout.output, description.vocabulary * hidden}});
  using enum Projection;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (!linear_layers) {
      layers_[i].qkv = layers_[i].o = layers_[i].gate_up = layers_[i].down = -1;
      continue;
    }
    const auto& weight = layout.layers[i].weight;
    layers_[i].qkv =
        add({{weight[at(q)], out(q) * hidden}, {weight[at(k)], out(k) * hidden}, {weight[at(v)], out(v) * hidden}});
    layers_[i].o = add({{weight[at(o)], hidden * query}});
    layers_[i].gate_up = add({{weight[at(gate)], inner * hidden}, {weight[at(up)], inner * hidden}});
    layers_[i].down = add({{weight[at(down)], hidden * inner}});
  }
  matrices_ = size_;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto& bias = layout.layers[i].bias;
    layers_[i].input_norm = add({{layout.layers[i].input_norm, hidden}});
    layers_[i].post_attention_norm = add({{layout.layers[i].post_attention_norm, hidden}});
    layers_[i].qkv_bias = add({{bias[at(q)], out(q)}, {bias[at(k)], out(k)}, {bias[at(v)], out(v)}});
    layers_[i].o_bias = add({{bias[at(o)], hidden}});
  }
  final_norm_ = add({{layout.final_norm, hidden}});
}

ModelTensors DeviceLayout::views(const Tensor& flat) const {
  const std::int64_t hidden = description_.hidden, inner = description_.intermediate;
  const std::int64_t query = description_.heads * description_.head_dim;
  const std::int64_t qkv = query + 2 * description_.kv_heads * description_.head_dim;
  const auto vector = [&](std::int64_t at, std::int64_t count) {
    return at < 0 ? Tensor() : flat.narrow(0, at, count);
  };
  const auto matrix = [&](std::int64_t at, std::int64_t out, std::int64_t in) {
    return at < 0 ? Tensor() : flat.narrow(0, at, out * in).view({out, in});
  };
  ModelTensors tensors;
  tensors.embedding = matrix(embedding_, description_.vocabulary, hidden);
  tensors.output = matrix(output_, description_.vocabulary, hidden);
  tensors.final_norm = vector(final_norm_, hidden);
  for (const Offsets& at : layers_) {
    tensors.layers.push_back({vector(at.input_norm, hidden), matrix(at.qkv, qkv, hidden), vector(at.qkv_bias, qkv),
                              matrix(at.o, hidden, query), vector(at.o_bias, hidden),
                              vector(at.post_attention_norm, hidden), matrix(at.gate_up, 2 * inner, hidden),
                              matrix(at.down, hidden, inner)});
  }
  return tensors;
}

std::vector<Tensor> DeviceLayout::linear_weights(const Tensor& flat) const {
  using enum Projection;
  std::vector<Tensor> weights;
  for (const LayerTensors& layer : views(flat).layers) {
    const std::int64_t query = out_of(description_, q), key = out_of(description_, k),
                       inner = description_.intermediate;
    weights.push_back(layer.qkv.narrow(0, 0, query));
    weights.push_back(layer.qkv.narrow(0, query, key));
    weights.push_back(layer.qkv.narrow(0, query + key, key));
    weights.push_back(layer.o);
    weights.push_back(layer.gate_up.narrow(0, 0, inner));
    weights.push_back(layer.gate_up.narrow(0, inner, inner));
    weights.push_back(layer.down);
  }
  return weights;
}

std::vector<GradientStretch> DeviceLayout::stretches(bool whole) const {
  using enum Projection;
  const auto count = static_cast<int>(layers_.size());
  const std::int64_t hidden = description_.hidden;
  std::vector<GradientStretch> stretches;
  if (output_ != embedding_) stretches.push_back({output_, linear_layers(), 0, false});
  for (int layer = count - 1; layer >= 0; --layer) {
    const Offsets& at = layers_[static_cast<std::size_t>(layer)];
    const std::int64_t end = layer + 1 < count ? layers_[static_cast<std::size_t>(layer) + 1].qkv : matrices_;
    GradientStretch& stretch = stretches.emplace_back(GradientStretch{at.qkv, end, count - layer});
    const auto add = [&](std::int64_t begin, std::initializer_list<Projection> projections, std::int64_t in) {
      for (const Projection projection : projections) {
        stretch.matrices.emplace_back(begin, begin + out_of(description_, projection) * in);
        begin = stretch.matrices.back().second;
      }
    };
    if (!whole) continue;
    add(at.qkv, {q, k, v}, hidden);
    add(at.o, {o}, description_.heads * description_.head_dim);
    add(at.gate_up, {gate, up}, hidden);
    add(at.down, {down}, description_.intermediate);
  }
  stretches.push_back({0, output_ != embedding_ ? output_ : linear_layers(), count + 1, false});
  stretches.push_back({matrices_, size_, count + 1, false});
  return stretches;
}

void DeviceLayout::upload(std::span<const float> from, Tensor& flat) const {
  flat.zero_();
  for (const Piece& piece : pieces_) {
    const Tensor host = at::from_blob(const_cast<float*>(from.data()) + piece.host, {piece.count}, at::kFloat);
    flat.narrow(0, piece.device, piece.count).copy_(host);
  }
}

void DeviceLayout::upload(const std::map<std::int64_t, std::vector<float>>& from, Tensor& flat) const {
  flat.zero_();
  for (const Piece& piece : pieces_) {
    const std::vector<float>& values = from.at(piece.host);
    flat.narrow(0, piece.device, piece.count)
        .copy_(at::from_blob(const_cast<float*>(values.data()), {piece.count}, at::kFloat));
  }
}

void DeviceLayout::download(const Tensor& flat, std::span<float> into) const {
  for (const Piece& piece : pieces_) {
    Tensor host = at::from_blob(into.data() + piece.host, {piece.count}, at::kFloat);
    host.copy_(flat.narrow(0, piece.device, piece.count));
  }
}

RotaryTensors rotary_tensors(const ModelDescription& description, std::int64_t positions, at::Device device) {
  const std::int64_t half = description.head_dim / 2;
  Tensor cosine = at::empty({positions, half}, at::kFloat), sine = at::empty({positions, half}, at::kFloat);
  float* c = cosine.data_ptr<float>();
  float* s = sine.data_ptr<float>();
  std::vector<float> frequency(static_cast<std::size_t>(half));
  for (std::int64_t i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(description.head_dim);
    frequency[static_cast<std::size_t>(i)] = 1.0f / std::pow(static_cast<float>(description.rope_base), exponent);
  }
  for (std::int64_t p = 0; p < positions; ++p) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(p) * frequency[static_cast<std::size_t>(i)];
      c[p * half + i] = std::cos(angle);
      s[p * half + i] = std::sin(angle);
    }
  }
  return {cosine.to(device), sine.to(device)};
}

}  // namespace kw
