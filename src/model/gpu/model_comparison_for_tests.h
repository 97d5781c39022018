#pragma once
// Trainers and decoders held against each other: one step of each, and what was sampled against what is scored.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "model/gpu/model_gpu.h"

namespace kw {

// Steps that move a weight by its gradient, nearly: AdamW without memory and with a large epsilon.
inline OptimizerOptions plain_steps() {
  OptimizerOptions options;
  options.beta1 = options.beta2 = 0;
  options.epsilon = 1e3;
  options.clip_norm = 0;
  return options;
}
inline constexpr double plain_rate = 1e3;

struct Moved {
  TokenScores scores;
  double norm = 0;
  std::vector<float> base;  // how far
  std::vector<std::vector<float>> adapters;
};

inline Moved move_once(Trainer& trainer, const Parameters& before, const std::vector<Adapter>& adapters,
                       const PackedBatch& batch, bool value_head) {
  Moved moved;
  moved.scores = trainer.forward(batch).value();
  ScoreGradients gradients;
  Random random(5);
  for (std::size_t i = 0; i < moved.scores.log_prob.size(); ++i) {
    gradients.log_prob.push_back(static_cast<float>(random.normal() * 0.1));
    gradients.entropy.push_back(static_cast<float>(random.normal() * 0.05));
    if (value_head) gradients.value.push_back(static_cast<float>(random.normal() * 0.1));
  }
  EXPECT_TRUE(trainer.backward(gradients).ok());
  moved.norm = trainer.step(plain_rate).value().gradient_norm;
  Parameters after(before.description);
  EXPECT_TRUE(trainer.read_parameters(after).ok());
  for (std::size_t i = 0; i < after.values.size(); ++i) moved.base.push_back(after.values[i] - before.values[i]);
  for (std::size_t a = 0; a < adapters.size(); ++a) {
    auto& into = moved.adapters.emplace_back(trainer.read_adapter(static_cast<std::int64_t>(a)).value().values);
    for (std::size_t i = 0; i < into.size(); ++i) into[i] -= adapters[a].values[i];
  }
  return moved;
}

inline double worst(const std::vector<float>& found, const std::vector<float>& wanted) {
  EXPECT_EQ(found.size(), wanted.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
    most = std::max(most, std::abs(static_cast<double>(found[i]) - static_cast<double>(wanted[i])));
  }
  return most;
}

// Relative distance of two vectors: bf16 rounds each element, the whole must point the same way.
inline double distance(const std::vector<float>& found, const std::vector<float>& wanted) {
  double difference = 0, size = 1e-20;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double d = static_cast<double>(found[i]) - static_cast<double>(wanted[i]);
    difference += d * d;
    size += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
  }
  return std::sqrt(difference / size);
}

// What rounding to 8 bits does to these models is a fifth of this at most, on CPU tensors. (With weights
// four times as large it would be 0.8 and 0.2.)
inline constexpr double bf16_scores = 0.05, bf16_gradients = 0.05;

inline GpuOptions on_cpu() {
  GpuOptions options;
  options.precision = GpuPrecision::float32;
  options.on_cpu = true;
  return options;
}

// Prompts in chunks of different sizes, then token by token; what was sampled is scored by the trainer.
struct Decoded {
  std::vector<std::vector<std::int32_t>> tokens;  // prompt and answer
  std::vector<std::vector<float>> log_probs;
};

inline Decoded decode(Decoder& decoder, const ModelDescription& model, bool with_adapters, const SamplingRule& rule,
                      int steps) {
  Random random(21);
  const int count = 5;
  Decoded decoded;
  std::vector<std::vector<std::int32_t>> pages(count);
  std::int32_t next_page = 0;
  std::vector<std::int64_t> done(count, 0);
  for (int s = 0; s < count; ++s) {
    auto& tokens = decoded.tokens.emplace_back();
    for (int i = 0; i < 3 + 11 * s; ++i) {
      tokens.push_back(static_cast<std::int32_t>(random.integer(0, model.vocabulary - 1)));
    }
    for (std::size_t p = 0; p < (tokens.size() + static_cast<std::size_t>(steps)) / 16 + 1; ++p) {
      pages[static_cast<std::size_t>(s)].push_back(static_cast<std::int32_t>(decoder.page_count() - 1 - next_page++));
    }
  }
  decoded.log_probs.resize(count);
  for (int step = 0; step < steps + 2; ++step) {
    std::vector<DecoderRow> rows;
    for (std::size_t s = 0; s < count; ++s) {
      const auto& tokens = decoded.tokens[s];
      const auto left = static_cast<std::int64_t>(tokens.size()) - done[s];
      // Every other sequence hands in its prompt in two pieces.
      const std::int64_t take = step == 0 && s % 2 == 1 ? left / 2 : left;
      DecoderRow& row = rows.emplace_back();
      row.tokens = std::span(tokens).subspan(static_cast<std::size_t>(done[s]), static_cast<std::size_t>(take));
      row.first_position = done[s];
      row.pages = pages[s];
      row.adapter = with_adapters ? static_cast<std::int32_t>(s % 3) - 1 : -1;
      row.sample = take == left;
      row.rule = rule;
      row.rule.seed = 100 + s;
      row.answer_index = static_cast<std::int64_t>(decoded.log_probs[s].size());
    }
    const auto sampled = decoder.step(rows);
    EXPECT_TRUE(sampled.ok()) << to_string(sampled.error());
    if (!sampled.ok()) return decoded;
    for (std::size_t s = 0; s < count; ++s) {
      done[s] += static_cast<std::int64_t>(rows[s].tokens.size());
      EXPECT_EQ((*sampled)[s].token >= 0, rows[s].sample);
      if (!rows[s].sample) continue;
      decoded.tokens[s].push_back((*sampled)[s].token);
      decoded.log_probs[s].push_back((*sampled)[s].log_prob);
    }
  }
  return decoded;
}

// The trainer's log-probabilities of what was sampled.
inline double worst_against(Trainer& trainer, const Decoded& decoded, bool with_adapters, float temperature) {
  double most = 0;
  for (std::size_t s = 0; s < decoded.tokens.size(); ++s) {
    PackedBatch batch;
    batch.tokens = decoded.tokens[s];
    batch.starts = {0, static_cast<std::int64_t>(batch.tokens.size())};
    batch.adapter = {with_adapters ? static_cast<std::int32_t>(s % 3) - 1 : -1};
    batch.scored.assign(batch.tokens.size(), 0);
    const std::size_t answer = decoded.log_probs[s].size();
    for (std::size_t i = 0; i < answer; ++i) batch.scored[batch.tokens.size() - 1 - i] = 1;
    batch.temperature = temperature;
    most = std::max(most, worst(trainer.score(batch).value().log_prob, decoded.log_probs[s]));
  }
  return most;
}

inline GpuDecoderOptions decoder_on_cpu() {
  GpuDecoderOptions options;
  options.precision = GpuPrecision::float32;
  options.on_cpu = true;
  return options;
}

#define SKIP_WITHOUT_GPU() \
  if (const auto name = model_gpu_name(); !name.ok()) GTEST_SKIP() << to_string(name.error())

}  // namespace kw
