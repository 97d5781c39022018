#pragma once
// Test code: small models, batches, and a look at a trainer's gradients.

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "model/decoder/cpu_trainer.h"
#include "model/decoder/presets.h"
#include "model/weights/safetensors.h"

namespace kw {

inline ModelDescription small_description() {
  ModelDescription model;
  model.architecture = Architecture::qwen2;
  model.layers = 2;
  model.hidden = 24;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 8;  // heads * head_dim is not hidden
  model.intermediate = 40;
  model.vocabulary = 37;
  model.context = 64;
  model.attention_bias = true;
  model.tied_embeddings = true;
  return model;
}

// Far from the start of training: every part of the gradient counts.
inline Parameters lively_parameters(ThreadTeam& team, const ModelDescription& model, std::uint64_t seed) {
  Parameters parameters = initial_parameters(team, model, seed);
  Random random(seed, 99);
  for (const auto& place : parameters.layout.places) {
    const auto count = element_count(place.tensor.shape).value();
    const bool matrix = place.tensor.shape.size() == 2;
    for (float& value : parameters.at(place.offset, count)) {
      value = matrix ? static_cast<float>(random.normal() * 0.25) : value + static_cast<float>(random.normal() * 0.2);
    }
  }
  return parameters;
}

inline Adapter lively_adapter(const ModelDescription& model, const std::string& name, std::int64_t rank,
                              const std::vector<Projection>& targets, std::uint64_t seed) {
  Adapter adapter = make_adapter(model, name, rank, 2.0f * static_cast<float>(rank), targets, seed);
  Random random(seed, 7);
  for (float& value : adapter.values) value = static_cast<float>(random.normal() * 0.15);
  return adapter;
}

inline const std::vector<Projection> all_projections{Projection::q,    Projection::k,  Projection::v,   Projection::o,
                                                     Projection::gate, Projection::up, Projection::down};

inline PackedBatch random_batch(const ModelDescription& model, const std::vector<std::int64_t>& lengths,
                                std::uint64_t seed, double scored_share = 0.7) {
  Random random(seed);
  PackedBatch batch;
  batch.starts.push_back(0);
  for (const std::int64_t length : lengths) {
    for (std::int64_t i = 0; i < length; ++i) {
      batch.tokens.push_back(static_cast<std::int32_t>(random.integer(0, model.vocabulary - 1)));
      batch.scored.push_back(i > 0 && random.uniform() < scored_share ? 1 : 0);
    }
    batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
  }
  return batch;
}

inline ScoreGradients random_gradients(std::size_t count, bool entropy, bool value, std::uint64_t seed) {
  Random random(seed);
  ScoreGradients gradients;
  for (std::size_t i = 0; i < count; ++i) {
    gradients.log_prob.push_back(static_cast<float>(random.normal()));
    if (entropy) gradients.entropy.push_back(static_cast<float>(random.normal()));
    if (value) gradients.value.push_back(static_cast<float>(random.normal()));
  }
  return gradients;
}

inline std::unique_ptr<Trainer> trainer_of(ThreadTeam& team, const Parameters& parameters,
                                           std::vector<Adapter> adapters = {}, const TrainingOptions& training = {},
                                           const OptimizerOptions& optimizer = {}) {
  return make_cpu_trainer(team, parameters, std::move(adapters), training, optimizer, 5).value();
}

// One array of what a trainer would save: "base.gradient", "base.values", "value_head.values".
inline std::vector<float> saved_array(Trainer& trainer, const std::string& name) {
  TemporaryFolder folder;
  KW_CHECK(trainer.save_state(folder.path().string()).ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() != ".safetensors") continue;
    const SafetensorsFile file = SafetensorsFile::open(entry.path()).value();
    const TensorView* tensor = file.find(name);
    if (tensor != nullptr) return read_floats(*tensor).value();
  }
  return {};
}

inline bool same_bits(const std::vector<float>& left, const std::vector<float>& right) {
  return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

}  // namespace kw
