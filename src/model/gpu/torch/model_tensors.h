#pragma once
// A model's tensors on the device: one flat buffer, matrices first (weight decay is theirs alone), those that are used
// together side by side: q, k, v; gate, up.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "model/decoder/parameters.h"
#include "model/gpu/gradient_buckets.h"
#include "model/gpu/torch/torch_headers.h"

namespace kw {

struct LayerTensors {
  at::Tensor input_norm;           // (hidden)
  at::Tensor qkv, qkv_bias;        // (query + 2 key, hidden), (query + 2 key) or undefined
  at::Tensor o, o_bias;            // (hidden, query), (hidden) or undefined
  at::Tensor post_attention_norm;  // (hidden)
  at::Tensor gate_up;              // (2 intermediate, hidden)
  at::Tensor down;                 // (hidden, intermediate)
};

struct ModelTensors {
  at::Tensor embedding, output;  // (vocabulary, hidden); the same when tied
  at::Tensor final_norm;         // (hidden)
  std::vector<LayerTensors> layers;
};

// Where a tensor of the program's flat buffer lies in the device's. Tensors start at multiples of 64 elements.
class DeviceLayout {
 public:
  // Without linear layers: their matrices are elsewhere (nf4_matrices.h), and undefined in views().
  DeviceLayout(const ModelDescription& description, const ParameterLayout& layout, bool linear_layers = true);

  std::int64_t size() const { return size_; }          // elements, padding included
  std::int64_t matrices() const { return matrices_; }  // elements before this are of matrices
  // Of these, elements from here on are of linear layers, those before of embeddings.
  std::int64_t linear_layers() const { return layers_.empty() ? matrices_ : layers_.front().qkv; }

  // Views of a flat buffer of any type.
  ModelTensors views(const at::Tensor& flat) const;
  // Weights of the linear layers one by one: q, k, v, o, gate, up, down of each.
  std::vector<at::Tensor> linear_weights(const at::Tensor& flat) const;
  // As a backward pass comes by them: the output matrix, unless it is tied, at moment 0, the last layer's at 1 ... the
  // first one's at `layers`; embedding, norms and biases one later. `whole`: linear layers matrix by matrix.
  std::vector<GradientStretch> stretches(bool whole) const;
  // Host floats in the program's layout, from and to a flat buffer.
  void upload(std::span<const float> from, at::Tensor& flat) const;
  void download(const at::Tensor& flat, std::span<float> into) const;
  // From tensors by their offset in the program's layout.
  void upload(const std::map<std::int64_t, std::vector<float>>& from, at::Tensor& flat) const;

 private:
  struct Piece {
    std::int64_t host = 0, device = 0, count = 0;
  };
  // Pieces that follow each other on the device without padding; gives the place of the first, or -1 for none.
  std::int64_t add(const std::vector<std::pair<std::int64_t, std::int64_t>>& host_offsets_and_counts);

  struct Offsets {
    std::int64_t input_norm = 0, qkv = 0, qkv_bias = -1, o = 0, o_bias = -1, post_attention_norm = 0, gate_up = 0,
                 down = 0;
  };
  ModelDescription description_;
  std::vector<Piece> pieces_;
  std::vector<Offsets> layers_;
  std::int64_t embedding_ = 0, output_ = 0, final_norm_ = 0, size_ = 0, matrices_ = 0;
};

// cos and sin (positions, head_dim / 2), float32, frequencies in float32 as Hugging Face has them.
struct RotaryTensors {
  at::Tensor cosine, sine;
};
RotaryTensors rotary_tensors(const ModelDescription& description, std::int64_t positions, at::Device device);

}  // namespace kw
