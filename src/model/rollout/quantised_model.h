#pragma once
// Test code: a small llama as a GGUF file with random blocks of several formats.

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "model/weights/float_formats.h"
#include "model/weights/hostile_file.h"
#include "model/weights/model_description.h"

namespace kw {

// v of the odd layers and the output are Q4_1, the embedding F16, all other matrices Q8_0: q, k and v are of one format
// in some layers and not in others.
inline std::string quantised_gguf(const ModelDescription& model, std::uint64_t seed) {
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> sizes;  // fastest first
    std::uint32_t type = 0;            // 0: F32, 1: F16, 3: Q4_1, 8: Q8_0
    std::uint64_t elements() const { return sizes.size() == 1 ? sizes[0] : sizes[0] * sizes[1]; }
    std::uint64_t bytes() const {
      if (type == 0) return elements() * 4;
      if (type == 1) return elements() * 2;
      return elements() / 32 * (type == 3 ? 20 : 34);
    }
  };
  const auto h = static_cast<std::uint64_t>(model.hidden), m = static_cast<std::uint64_t>(model.intermediate);
  const auto q = static_cast<std::uint64_t>(model.heads * model.head_dim);
  const auto k = static_cast<std::uint64_t>(model.kv_heads * model.head_dim);
  const auto vocabulary = static_cast<std::uint64_t>(model.vocabulary);
  std::vector<Tensor> tensors{
      {"token_embd.weight", {h, vocabulary}, 1}, {"output.weight", {h, vocabulary}, 3}, {"output_norm.weight", {h}, 0}};
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    const std::vector<Tensor> layer{{"attn_norm", {h}, 0},
                                    {"ffn_norm", {h}, 0},
                                    {"attn_q", {h, q}, 8},
                                    {"attn_k", {h, k}, 8},
                                    {"attn_v", {h, k}, i % 2 == 1 ? 3u : 8u},
                                    {"attn_output", {q, h}, 8},
                                    {"ffn_gate", {h, m}, 8},
                                    {"ffn_up", {h, m}, 8},
                                    {"ffn_down", {m, h}, 8}};
    for (const Tensor& tensor : layer) tensors.push_back({prefix + tensor.name + ".weight", tensor.sizes, tensor.type});
  }
  GgufBytes bytes(tensors.size(), 9);
  const auto number = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  bytes.text("general.architecture", "llama").u32("llama.block_count", number(model.layers));
  bytes.u32("llama.embedding_length", number(model.hidden)).u32("llama.attention.head_count", number(model.heads));
  bytes.u32("llama.attention.head_count_kv", number(model.kv_heads));
  bytes.u32("llama.feed_forward_length", number(model.intermediate));
  bytes.u32("llama.context_length", number(model.context)).key("llama.rope.freq_base", 6).number(10000.0f);
  bytes.key("llama.attention.layer_norm_rms_epsilon", 6).number(1e-6f);
  std::uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    bytes.string(tensor.name).number(static_cast<std::uint32_t>(tensor.sizes.size()));
    for (const std::uint64_t size : tensor.sizes) bytes.number(size);
    bytes.number(tensor.type).number(offset);
    offset += (tensor.bytes() + 31) / 32 * 32;
  }
  bytes.data(0);
  Random random(seed);
  const auto half = [&](double low, double high) {
    bytes.number(f16_of_float(static_cast<float>(random.uniform(low, high))));
  };
  for (const Tensor& tensor : tensors) {
    if (tensor.type < 2) {
      for (std::uint64_t i = 0; i < tensor.elements(); ++i) {
        if (tensor.type == 0) bytes.number(static_cast<float>(random.uniform(0.8, 1.2)));
        if (tensor.type == 1) half(-1, 1);
      }
    } else {
      for (std::uint64_t block = 0; block < tensor.elements() / 32; ++block) {
        half(0.001, tensor.type == 3 ? 0.03 : 0.003);
        if (tensor.type == 3) half(-0.2, -0.05);  // Q4_1: least value
        for (int i = 0; i < (tensor.type == 3 ? 16 : 32); ++i) {
          bytes.number(static_cast<std::int8_t>(random.integer(-127, 127)));
        }
      }
    }
    bytes.data(0);
  }
  return bytes.bytes();
}

}  // namespace kw
