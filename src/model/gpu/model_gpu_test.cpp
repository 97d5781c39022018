// Trainer and decoder against the CPU's, through the same interfaces. The code of the GPU runs here on CPU tensors; the
// tests named Gpu run it on the device, where there is one.

#include "model/gpu/model_gpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/random.h"
#include "model/decoder/cpu_trainer.h"
#include "model/gpu/decoder_pages.h"
#include "model/gpu/model_comparison_for_tests.h"
#include "model/gpu/model_for_tests.h"
#include "model/rollout/cpu_decoder.h"

namespace kw {
namespace {

// Torch's threads would only wait for each other on tensors of this size.
[[maybe_unused]] const int one_thread = ::setenv("OMP_NUM_THREADS", "1", 1);

struct TrainingCase {
  bool qwen, train_base, adapters, recompute, value_head;
  std::int64_t kept_logits_bytes;
};

void compare_with_cpu(const GpuOptions& device, double score_bound, double gradient_bound,
                      const std::vector<int>& lengths = {17, 1, 40, 9}) {
  const float size = device.precision == GpuPrecision::bf16 ? 1 : 4;
  for (const TrainingCase& c :
       {TrainingCase{false, true, false, false, false, 1 << 30}, TrainingCase{true, true, true, true, true, 0},
        TrainingCase{true, false, true, false, true, 1 << 30}}) {
    const ModelDescription model = small_description(c.qwen);
    const Parameters parameters = random_parameters(model, size);
    const auto adapters = c.adapters ? random_adapters(model, size) : std::vector<Adapter>{};
    const PackedBatch batch = random_batch(model, c.adapters, lengths);
    TrainingOptions training;
    training.train_base = c.train_base;
    training.recompute = c.recompute;
    training.value_head = c.value_head;
    training.logits_chunk = 16;
    training.usable_vocabulary = 190;
    GpuOptions options = device;
    options.kept_logits_bytes = c.kept_logits_bytes;
    auto wanted_trainer = make_cpu_trainer(team(), parameters, adapters, training, plain_steps(), 9);
    auto found_trainer = make_gpu_trainer(parameters, adapters, training, plain_steps(), options, 9);
    ASSERT_TRUE(wanted_trainer.ok());
    ASSERT_TRUE(found_trainer.ok()) << to_string(found_trainer.error());
    const Moved wanted = move_once(**wanted_trainer, parameters, adapters, batch, c.value_head);
    const Moved found = move_once(**found_trainer, parameters, adapters, batch, c.value_head);
    EXPECT_LT(worst(found.scores.log_prob, wanted.scores.log_prob), score_bound);
    EXPECT_LT(worst(found.scores.entropy, wanted.scores.entropy), score_bound);
    EXPECT_LT(worst(found.scores.value, wanted.scores.value), score_bound);
    EXPECT_NEAR(found.norm, wanted.norm, gradient_bound * wanted.norm);
    if (c.train_base) {
      EXPECT_LT(distance(found.base, wanted.base), gradient_bound);
    }
    for (std::size_t a = 0; a < adapters.size(); ++a) {
      EXPECT_LT(distance(found.adapters[a], wanted.adapters[a]), gradient_bound) << "adapter " << a;
    }
    EXPECT_EQ((*found_trainer)->weights_version(), 1);
  }
}

TEST(DecoderPages, NoMoreThanIsUsefulOrFits) {
  PageNeeds needs{.page_bytes = 1000, .page_tokens = 16, .rows = 4, .context = 160, .most_bytes = 1 << 30};
  EXPECT_EQ(decoder_pages(needs), 4 * 11) << "a small model leaves the rest of the device alone";
  needs.most_bytes = 20'000;
  EXPECT_EQ(decoder_pages(needs), 20);
  needs.free_bytes = 25'000;
  EXPECT_EQ(decoder_pages(needs), 10) << "training beside it needs room too";
  needs.free_bytes = 100;
  EXPECT_EQ(decoder_pages(needs), 1);
}

TEST(ModelGpuTrainer, OnCpuTensorsEqualsTheCpuTrainer) { compare_with_cpu(on_cpu(), 1e-4, 2e-5); }

TEST(ModelGpuTrainer, OnCpuTensorsInBf16IsNearTheCpuTrainer) {
  GpuOptions options = on_cpu();
  options.precision = GpuPrecision::bf16;
  compare_with_cpu(options, bf16_scores, bf16_gradients);
  compare_with_cpu(options, bf16_scores, bf16_gradients, {64, 64, 64, 64});
}

// Several steps: momentum, decay and AdamW beside it are in them.
void muon_like_cpu(const GpuOptions& device, double bound) {
  const ModelDescription model = small_description(true);
  const float size = device.precision == GpuPrecision::bf16 ? 1 : 4;
  const Parameters parameters = random_parameters(model, size);
  const auto adapters = random_adapters(model, size);
  const PackedBatch batch = random_batch(model, true, {17, 1, 40, 9});
  OptimizerOptions muon;
  muon.kind = OptimizerKind::muon;
  muon.weight_decay = 0.1;
  auto wanted = make_cpu_trainer(team(), parameters, adapters, {}, muon, 9).value();
  auto found = make_gpu_trainer(parameters, adapters, {}, muon, device, 9).value();
  std::vector<std::vector<float>> moved;
  for (Trainer* trainer : {wanted.get(), found.get()}) {
    Random random(5);
    for (int step = 0; step < 3; ++step) {
      const auto scores = trainer->forward(batch).value();
      ScoreGradients gradients;
      for (std::size_t i = 0; i < scores.log_prob.size(); ++i) {
        gradients.log_prob.push_back(static_cast<float>(random.normal() * 0.1));
      }
      ASSERT_TRUE(trainer->backward(gradients).ok());
      ASSERT_TRUE(trainer->step(1e-3).ok());
    }
    Parameters after(model);
    ASSERT_TRUE(trainer->read_parameters(after).ok());
    auto& move = moved.emplace_back();
    for (const auto& place : after.layout.places) {
      if (!place.tensor.name.ends_with("_proj.weight")) continue;
      for (const float& value : after.at(place.offset, element_count(place.tensor.shape).value())) {
        move.push_back(value - parameters.values[static_cast<std::size_t>(&value - after.values.data())]);
      }
    }
  }
  EXPECT_LT(distance(moved[1], moved[0]), bound);
  // Each continues from the other's state, and from none of AdamW's.
  const TemporaryFolder folder;
  ASSERT_TRUE(found->save_state(folder.path()).ok());
  ASSERT_TRUE(wanted->restore_state(folder.path()).ok());
  EXPECT_FALSE(make_gpu_trainer(parameters, adapters, {}, {}, device, 9).value()->restore_state(folder.path()).ok());
}

TEST(ModelGpuTrainer, MuonOnCpuTensorsEqualsTheCpuTrainer) { muon_like_cpu(on_cpu(), 5e-4); }

// On CPU tensors it is 0.06: small singular values are made large, and the rounding in them too.
constexpr double muon_in_bf16 = 0.15;

TEST(ModelGpuTrainer, MuonOnCpuTensorsInBf16IsNearTheCpuTrainer) {
  GpuOptions options = on_cpu();
  options.precision = GpuPrecision::bf16;
  muon_like_cpu(options, muon_in_bf16);
}

void continue_bit_for_bit(const GpuOptions& options, OptimizerKind kind = OptimizerKind::adamw) {
  const ModelDescription model = small_description(true);
  const Parameters parameters = random_parameters(model);
  const auto adapters = random_adapters(model);
  const PackedBatch batch = random_batch(model, true);
  OptimizerOptions optimizer;
  optimizer.weight_decay = 0.1;
  optimizer.kind = kind;
  TrainingOptions training;
  training.value_head = true;
  const auto make = [&] { return make_gpu_trainer(parameters, adapters, training, optimizer, options).value(); };
  const auto train = [&](Trainer& trainer) {
    const auto scores = trainer.forward(batch).value();
    ScoreGradients gradients;
    gradients.log_prob.assign(scores.log_prob.size(), -0.1f);
    gradients.value.assign(scores.log_prob.size(), 0.1f);
    EXPECT_TRUE(trainer.backward(gradients).ok());
    EXPECT_TRUE(trainer.step(1e-3).ok());
  };
  const TemporaryFolder folder;
  auto first = make(), second = make();
  train(*first);
  ASSERT_TRUE(first->save_state(folder.path()).ok());
  train(*first);
  ASSERT_TRUE(second->restore_state(folder.path()).ok());
  EXPECT_EQ(second->weights_version(), 1);
  train(*second);
  Parameters one(model), two(model);
  ASSERT_TRUE(first->read_parameters(one).ok());
  ASSERT_TRUE(second->read_parameters(two).ok());
  EXPECT_EQ(one.values, two.values);
  EXPECT_EQ(first->read_adapter(1)->values, second->read_adapter(1)->values);
  EXPECT_EQ(first->score(batch)->log_prob, second->score(batch)->log_prob);
}

TEST(ModelGpuTrainer, RestoredItContinuesBitForBit) {
  continue_bit_for_bit(on_cpu());
  continue_bit_for_bit(on_cpu(), OptimizerKind::muon);
}

TEST(ModelGpuTrainer, RefusesWhatItCannotDo) {
  const Parameters parameters = random_parameters(small_description(false));
  OptimizerOptions eight_bit;
  eight_bit.eight_bit = true;
  const auto refused = make_gpu_trainer(parameters, {}, {}, eight_bit, on_cpu());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(to_string(refused.error()).find("for adapters"), std::string::npos) << to_string(refused.error());
  auto trainer = make_gpu_trainer(parameters, {}, {}, {}, on_cpu()).value();
  EXPECT_FALSE(trainer->backward({}).ok());
  PackedBatch batch;
  batch.tokens = {1, 900};
  batch.starts = {0, 2};
  batch.scored = {0, 1};
  EXPECT_FALSE(trainer->forward(batch).ok());
}

void decode_like_cpu(const GpuDecoderOptions& place, double bound, bool same_tokens) {
  const float size = place.precision == GpuPrecision::bf16 ? 1 : 4;
  for (const bool qwen : {false, true}) {
    const ModelDescription model = small_description(qwen);
    const Parameters parameters = random_parameters(model, size);
    const auto adapters = random_adapters(model, size);
    GpuDecoderOptions options = place;
    options.page_count = 64;
    auto found = make_gpu_decoder(parameters, adapters, options);
    ASSERT_TRUE(found.ok()) << to_string(found.error());
    auto scorer = make_cpu_trainer(team(), parameters, adapters, {}, {}).value();
    for (const float temperature : {0.0f, 0.7f}) {
      SamplingRule rule;
      rule.temperature = temperature;
      const Decoded decoded = decode(**found, model, true, rule, 20);
      EXPECT_LT(worst_against(*scorer, decoded, true, temperature == 0 ? 1 : temperature), bound);
      if (temperature == 0 && same_tokens) {
        auto cpu = make_cpu_decoder(team(), parameters, adapters).value();
        EXPECT_EQ(decode(*cpu, model, true, rule, 20).tokens, decoded.tokens);
      }
    }
    // Rules that only the host can do.
    SamplingRule few;
    few.top_k = 3;
    EXPECT_LT(worst_against(*scorer, decode(**found, model, true, few, 3), true, 1), bound);
  }
}

TEST(ModelGpuDecoder, OnCpuTensorsEqualsTheCpuDecoder) { decode_like_cpu(decoder_on_cpu(), 2e-4, true); }

TEST(ModelGpuDecoder, OnCpuTensorsInBf16IsNearTheCpuDecoder) {
  GpuDecoderOptions options = decoder_on_cpu();
  options.precision = GpuPrecision::bf16;
  decode_like_cpu(options, bf16_scores, false);
}

TEST(ModelGpuDecoder, FollowsItsTrainer) {
  const ModelDescription model = small_description(false);
  const Parameters parameters = random_parameters(model);
  auto trainer = make_gpu_trainer(parameters, {}, {}, {}, on_cpu()).value();
  GpuDecoderOptions options = decoder_on_cpu();
  options.page_count = 64;
  auto decoder = make_gpu_decoder(*trainer, options).value();
  const PackedBatch batch = random_batch(model, false);
  const auto scores = trainer->forward(batch).value();
  ScoreGradients gradients;
  gradients.log_prob.assign(scores.log_prob.size(), -1.0f);
  ASSERT_TRUE(trainer->backward(gradients).ok());
  ASSERT_TRUE(trainer->step(1e-2).ok());
  EXPECT_EQ(decoder->weights_version(), 1);
  EXPECT_LT(worst_against(*trainer, decode(*decoder, model, false, {}, 5), false, 1), 1e-4);
}

// With other weights it samples what a decoder that was made from them samples, and a trainer's weights are its own.
void take_other_weights(GpuDecoderOptions options) {
  const ModelDescription model = small_description(true);
  const Parameters first = random_parameters(model, 1), other = random_parameters(model, 2);
  const auto adapters = random_adapters(model, 1), other_adapters = random_adapters(model, 2);
  options.page_count = 64;
  auto decoder = make_gpu_decoder(first, adapters, options).value();
  const auto sampled = [&](Decoder& by) { return decode(by, model, true, {}, 6).log_probs; };
  const auto before = sampled(*decoder);
  ASSERT_TRUE(update_gpu_decoder(*decoder, nullptr, other_adapters, 3).ok());
  EXPECT_EQ(decoder->weights_version(), 3);
  EXPECT_EQ(sampled(*decoder), sampled(*make_gpu_decoder(first, other_adapters, options).value()));
  ASSERT_TRUE(update_gpu_decoder(*decoder, &other, other_adapters, 4).ok());
  EXPECT_EQ(sampled(*decoder), sampled(*make_gpu_decoder(other, other_adapters, options).value()));
  ASSERT_TRUE(update_gpu_decoder(*decoder, &first, adapters, 5).ok());
  EXPECT_EQ(sampled(*decoder), before);
  EXPECT_FALSE(update_gpu_decoder(*decoder, &first, {}, 6).ok());
  const Parameters foreign = random_parameters(small_description(false), 1);
  EXPECT_FALSE(update_gpu_decoder(*decoder, &foreign, adapters, 6).ok());
}

TEST(ModelGpuDecoder, TakesOtherWeights) {
  take_other_weights(decoder_on_cpu());
  const Parameters parameters = random_parameters(small_description(false));
  const auto trainer = make_gpu_trainer(parameters, {}, {}, {}, on_cpu()).value();
  GpuDecoderOptions options = decoder_on_cpu();
  options.page_count = 64;
  const auto shared = make_gpu_decoder(*trainer, options).value();
  EXPECT_FALSE(update_gpu_decoder(*shared, &parameters, {}, 1).ok()) << "they are the trainer's";
}

TEST(ModelGpuDecoder, NoiseDependsOnSeedAndIndexAloneAndFollowsTheDistribution) {
  const ModelDescription model = small_description(false);
  const Parameters parameters = random_parameters(model);
  GpuDecoderOptions options = decoder_on_cpu();
  options.page_count = 60;
  auto decoder = make_gpu_decoder(parameters, {}, options).value();
  const std::vector<std::int32_t> prompt = {5, 6, 7};
  // The same prompt in 60 rows of different seeds, several times.
  std::vector<int> counts(static_cast<std::size_t>(model.vocabulary));
  std::vector<double> probabilities(counts.size());
  std::vector<std::vector<std::int32_t>> pages(60);
  for (std::int64_t round = 0; round < 10; ++round) {
    std::vector<DecoderRow> rows(60);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      pages[i] = {static_cast<std::int32_t>(i)};
      rows[i].tokens = prompt;
      rows[i].pages = pages[i];
      rows[i].sample = true;
      rows[i].rule.seed = i;
      rows[i].answer_index = round;
    }
    const auto sampled = decoder->step(rows).value();
    for (const SampledToken& token : sampled) {
      ++counts[static_cast<std::size_t>(token.token)];
      probabilities[static_cast<std::size_t>(token.token)] = std::exp(static_cast<double>(token.log_prob));
    }
    const auto alone = decoder->step(std::span(rows).subspan(47, 1)).value();
    EXPECT_EQ(alone[0].token, sampled[47].token);
  }
  for (std::size_t t = 0; t < counts.size(); ++t) {
    const double expected = 600 * probabilities[t];
    if (expected > 10) {
      EXPECT_NEAR(counts[t], expected, 5 * std::sqrt(expected)) << "token " << t;
    }
  }
}

TEST(ModelOnGpu, TrainerInFloat32EqualsTheCpu) {
  SKIP_WITHOUT_GPU();
  GpuOptions options;
  options.precision = GpuPrecision::float32;
  compare_with_cpu(options, 2e-4, 2e-4);
}

TEST(ModelOnGpu, TrainerInBf16IsNearTheCpu) {
  SKIP_WITHOUT_GPU();
  compare_with_cpu({}, bf16_scores, bf16_gradients);
  // Sequences of one length may take another attention: KERNELWRIGHT_ATTENTION=cudnn.
  compare_with_cpu({}, bf16_scores, bf16_gradients, {64, 64, 64, 64});
}

TEST(ModelOnGpu, MuonIsTheCpus) {
  SKIP_WITHOUT_GPU();
  GpuOptions options;
  options.precision = GpuPrecision::float32;
  muon_like_cpu(options, 1e-2);
  muon_like_cpu({}, muon_in_bf16);
}

TEST(ModelOnGpu, RestoredItContinuesBitForBit) {
  SKIP_WITHOUT_GPU();
  continue_bit_for_bit({});
  continue_bit_for_bit({}, OptimizerKind::muon);
}

TEST(ModelOnGpu, DecoderInFloat32EqualsTheCpu) {
  SKIP_WITHOUT_GPU();
  GpuDecoderOptions options;
  options.precision = GpuPrecision::float32;
  decode_like_cpu(options, 5e-4, true);
  options.graphs = false;
  decode_like_cpu(options, 5e-4, true);
}

TEST(ModelOnGpu, DecoderInBf16IsNearTheCpu) {
  SKIP_WITHOUT_GPU();
  decode_like_cpu({}, bf16_scores, false);
}

TEST(ModelOnGpu, DecoderTakesOtherWeights) {
  SKIP_WITHOUT_GPU();
  take_other_weights({});
}

}  // namespace
}  // namespace kw
