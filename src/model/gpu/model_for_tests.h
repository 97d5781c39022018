#pragma once
// Small random models, adapters and batches for tests.

#include <vector>

#include "base/random.h"
#include "model/decoder/adapter.h"
#include "model/decoder/presets.h"
#include "model/decoder/training.h"

namespace kw {

inline ThreadTeam& team() {
  static ThreadTeam threads(1);
  return threads;
}

inline ModelDescription small_description(bool qwen) {
  ModelDescription model;
  model.architecture = qwen ? decltype(model.architecture)::qwen2 : decltype(model.architecture)::llama;
  model.layers = 3;
  model.hidden = 64;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 32;
  model.intermediate = 96;
  model.vocabulary = 200;
  model.context = 256;
  model.tied_embeddings = !qwen;
  model.attention_bias = qwen;
  return model;
}

// With size 4, weights are larger than a model starts with, so that tokens matter much to each other; biases and norms
// are random too. Rounding to bf16 is only bearable with size 1, as in a model that was trained.
inline Parameters random_parameters(const ModelDescription& model, float size = 4) {
  Parameters parameters = initial_parameters(team(), model, 7);
  Random random(11);
  for (float& value : parameters.values) value = value * size + size * static_cast<float>(0.005 * random.normal());
  return parameters;
}

inline std::vector<Adapter> random_adapters(const ModelDescription& model, float size = 4) {
  using enum Projection;
  std::vector<Adapter> adapters;
  adapters.push_back(make_adapter(model, "all", 8, 16, {q, k, v, o, gate, up, down}, 1));
  adapters.push_back(make_adapter(model, "some", 16, 8, {q, v, up}, 2));
  Random random(12);
  for (Adapter& adapter : adapters) {
    for (float& value : adapter.values) value += size * static_cast<float>(0.0125 * random.normal());
  }
  return adapters;
}

// Four sequences.
inline PackedBatch random_batch(const ModelDescription& model, bool with_adapters,
                                const std::vector<int>& lengths = {17, 1, 40, 9}) {
  Random random(3);
  PackedBatch batch;
  batch.starts = {0};
  for (const int length : lengths) {
    for (int i = 0; i < length; ++i) {
      batch.tokens.push_back(static_cast<std::int32_t>(random.integer(0, model.vocabulary - 20)));
      batch.scored.push_back(i > 0 && random.uniform() < 0.7);
    }
    batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
  }
  if (with_adapters) batch.adapter = {1, -1, 0, 1};
  batch.temperature = 0.8f;
  return batch;
}

}  // namespace kw
