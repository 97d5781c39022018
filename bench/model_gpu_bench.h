#pragma once
// What the parts of model_gpu_bench share: arguments, random models and batches, sequences that a decoder goes on with.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/decoder/presets.h"
#include "model/gpu/model_gpu.h"

namespace kw {

inline constexpr double bytes_per_second = 4.8e12, flops_per_second = 790e12;
inline constexpr std::int64_t own_vocabulary = 4096;

struct Arguments {
  std::vector<std::string> sections;
  std::vector<std::string> models;
  std::vector<std::int64_t> batches = {1, 64, 256};
  std::int64_t sequences = 8, length = 2048;  // of a training step
  double gpu_memory_gib = 22;                 // for QLoRA
  bool profile = false, recompute = false, on_cpu = false;
  bool wants(const std::string& section) const {
    return sections.empty() || std::ranges::find(sections, section) != sections.end();
  }
  std::vector<std::string> models_or(std::vector<std::string> usual) const { return models.empty() ? usual : models; }
};

inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class T>
T require(Result<T> result) {
  if (!result.ok()) {
    std::printf("failed: %s\n", to_string(result.error()).c_str());
    std::exit(1);
  }
  return std::move(result).value();
}
inline void require(const Result<void>& result) {
  if (!result.ok()) {
    std::printf("failed: %s\n", to_string(result.error()).c_str());
    std::exit(1);
  }
}

inline Parameters random_model(ThreadTeam& team, const std::string& name) {
  return initial_parameters(team, require(preset_description(name, own_vocabulary)), 1);
}

inline PackedBatch random_batch(const ModelDescription& model, std::int64_t sequences, std::int64_t length,
                                int adapter) {
  Random random(2);
  PackedBatch batch;
  batch.starts = {0};
  for (std::int64_t s = 0; s < sequences; ++s) {
    for (std::int64_t i = 0; i < length; ++i) {
      batch.tokens.push_back(static_cast<std::int32_t>(random.integer(0, model.vocabulary - 1)));
      batch.scored.push_back(i > 0);
    }
    batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
  }
  if (adapter >= 0) batch.adapter.assign(static_cast<std::size_t>(sequences), adapter);
  return batch;
}

inline ScoreGradients mean_loss(const TokenScores& scores) {
  ScoreGradients gradients;
  gradients.log_prob.assign(scores.log_prob.size(), -1.0f / static_cast<float>(scores.log_prob.size()));
  return gradients;
}
inline double mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

struct Difference {
  double mean = 0, most = 0;
};
inline Difference difference(const std::vector<float>& a, const std::vector<float>& b) {
  Difference result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    result.mean += d / static_cast<double>(a.size());
    result.most = std::max(result.most, d);
  }
  return result;
}

// Sequences of `context` tokens that are there already (their keys are zeros: the time is the same).
class Sequences {
 public:
  Sequences(const Decoder& decoder, std::int64_t count, std::int64_t context, std::int64_t steps) {
    const std::int64_t pages = (context + steps) / 16 + 1;
    if (count * pages > decoder.page_count()) {
      std::printf("failed: too few pages\n");
      std::exit(1);
    }
    for (std::int64_t s = 0; s < count; ++s) {
      tokens.push_back({static_cast<std::int32_t>(s + 1)});
      auto& own = pages_.emplace_back();
      for (std::int64_t p = 0; p < pages; ++p) own.push_back(static_cast<std::int32_t>(s * pages + p));
    }
    position = context;
  }
  // One token further, for all.
  void step(Decoder& decoder, float temperature) {
    std::vector<DecoderRow> rows(tokens.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].tokens = std::span(tokens[i]).last(1);
      rows[i].first_position = position;
      rows[i].pages = pages_[i];
      rows[i].sample = true;
      rows[i].rule.temperature = temperature;
      rows[i].rule.seed = i;
      rows[i].answer_index = position;
    }
    const auto sampled = require(decoder.step(rows));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      tokens[i].push_back(sampled[i].token);
      log_probs.resize(tokens.size());
      log_probs[i].push_back(sampled[i].log_prob);
    }
    ++position;
  }
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<std::vector<float>> log_probs;
  std::int64_t position = 0;

 private:
  std::vector<std::vector<std::int32_t>> pages_;
};

inline std::int64_t weight_bytes(const ModelDescription& model) {
  std::int64_t count = parameter_count(model);
  if (!model.tied_embeddings) count -= model.vocabulary * model.hidden;  // of the input only the rows of the tokens
  return 2 * count;
}

// LoRA and QLoRA side by side (model_gpu_qlora.cpp).
void qlora(ThreadTeam& team, const Arguments& arguments);

}  // namespace kw
