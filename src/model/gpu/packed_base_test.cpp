// Training and decoding on a base in NF4 (QLoRA), through the program's interfaces, against the CPU on the same base
// expanded. The code of the GPU runs here on CPU tensors; the tests named Gpu run it on the device, where there is one.

#include <gtest/gtest.h>

#include "base/file.h"
#include "model/decoder/cpu_trainer.h"
#include "model/gpu/memory_plan.h"
#include "model/gpu/model_comparison_for_tests.h"
#include "model/gpu/model_for_tests.h"
#include "model/rollout/cpu_decoder.h"

namespace kw {
namespace {

Nf4Base packed(const Parameters& parameters) { return quantise_base(team(), parameters); }

TrainingOptions adapters_alone() {
  TrainingOptions training;
  training.train_base = false;
  training.value_head = true;
  training.usable_vocabulary = 190;
  return training;
}

void train_like_cpu(const GpuOptions& options, double score_bound, double gradient_bound) {
  const float size = options.precision == GpuPrecision::bf16 ? 1 : 4;
  for (const bool qwen : {false, true}) {
    for (const bool recompute : {false, true}) {
      const ModelDescription model = small_description(qwen);
      const Nf4Base base = packed(random_parameters(model, size));
      const Parameters expanded = expand_base(base);
      const auto adapters = random_adapters(model, size);
      const PackedBatch batch = random_batch(model, true);
      TrainingOptions training = adapters_alone();
      training.recompute = recompute;
      auto wanted_trainer = make_cpu_trainer(team(), expanded, adapters, training, plain_steps(), 9).value();
      auto found_trainer = make_gpu_trainer(base, adapters, training, plain_steps(), options, 9);
      ASSERT_TRUE(found_trainer.ok()) << to_string(found_trainer.error());
      const Moved wanted = move_once(*wanted_trainer, expanded, adapters, batch, true);
      const Moved found = move_once(**found_trainer, expanded, adapters, batch, true);
      EXPECT_LT(worst(found.scores.log_prob, wanted.scores.log_prob), score_bound);
      EXPECT_LT(worst(found.scores.value, wanted.scores.value), score_bound);
      EXPECT_NEAR(found.norm, wanted.norm, gradient_bound * wanted.norm);
      for (std::size_t a = 0; a < adapters.size(); ++a)
        EXPECT_LT(distance(found.adapters[a], wanted.adapters[a]), gradient_bound) << "adapter " << a;
      // It reads as what it is computed with, and nothing moved it.
      const bool exact = options.precision == GpuPrecision::float32;
      EXPECT_LE(worst(found.base, std::vector<float>(found.base.size())), exact ? 0 : 0.02);
    }
  }
}

TEST(PackedBaseTrainer, OnCpuTensorsEqualsTheCpuTrainer) { train_like_cpu(on_cpu(), 1e-4, 2e-5); }

TEST(PackedBaseTrainer, OnCpuTensorsInBf16IsNearTheCpuTrainer) {
  GpuOptions options = on_cpu();
  options.precision = GpuPrecision::bf16;
  train_like_cpu(options, bf16_scores, bf16_gradients);
}

TEST(PackedBaseTrainer, RefusesWhatItCannotDo) {
  const ModelDescription model = small_description(false);
  const Nf4Base base = packed(random_parameters(model));
  const auto refusal = [&](const TrainingOptions& training, const GpuOptions& options) {
    const auto made = make_gpu_trainer(base, random_adapters(model), training, {}, options);
    return made.ok() ? std::string() : to_string(made.error());
  };
  EXPECT_NE(refusal({}, on_cpu()).find("4 bits cannot be trained"), std::string::npos);
  GpuOptions little = on_cpu();
  little.memory_bytes = 1 << 20;
  EXPECT_NE(refusal(adapters_alone(), little).find("leaves nothing for a model"), std::string::npos);
  // Enough for the model, and not for the pass: the pass says so, and a shorter one works.
  TrainerShape shape;
  shape.model = model;
  shape.method = TrainingMethod::qlora;
  shape.element_bytes = 4;
  for (const Adapter& adapter : random_adapters(model)) shape.adapter_parameters += adapter.layout.size;
  little.memory_bytes = memory_outside_allocator + sum_of(fixed_memory(shape)) + (4 << 20);
  auto trainer = make_gpu_trainer(base, random_adapters(model), adapters_alone(), {}, little).value();
  const auto refused = trainer->forward(random_batch(model, true, {200, 200, 200, 200}));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(to_string(refused.error()).find("take fewer tokens at once"), std::string::npos)
      << to_string(refused.error());
  EXPECT_TRUE(trainer->forward(random_batch(model, true, {4, 4, 4, 4})).ok());
}

// A state holds the adapters alone: it goes on with the same base, wherever that is packed or not.
TEST(PackedBaseTrainer, RestoredItContinuesBitForBit) {
  const ModelDescription model = small_description(true);
  const Nf4Base base = packed(random_parameters(model));
  const auto adapters = random_adapters(model);
  const PackedBatch batch = random_batch(model, true);
  const auto train = [&](Trainer& trainer) {
    const auto scores = trainer.forward(batch).value();
    ScoreGradients gradients;
    gradients.log_prob.assign(scores.log_prob.size(), -0.1f);
    EXPECT_TRUE(trainer.backward(gradients).ok());
    EXPECT_TRUE(trainer.step(1e-3).ok());
  };
  const auto make = [&] { return make_gpu_trainer(base, adapters, adapters_alone(), {}, on_cpu()).value(); };
  const TemporaryFolder folder;
  auto first = make(), second = make();
  train(*first);
  ASSERT_TRUE(first->save_state(folder.path()).ok());
  train(*first);
  ASSERT_TRUE(second->restore_state(folder.path()).ok());
  train(*second);
  EXPECT_EQ(first->read_adapter(1)->values, second->read_adapter(1)->values);
  EXPECT_EQ(first->score(batch)->log_prob, second->score(batch)->log_prob);
}

// Several steps with moments of 8 bits; and each goes on from the other's state.
void eight_bit_like_cpu(const GpuOptions& options, double bound) {
  const float size = options.precision == GpuPrecision::bf16 ? 1 : 4;
  const ModelDescription model = small_description(true);
  const Nf4Base base = packed(random_parameters(model, size));
  const auto adapters = random_adapters(model, size);
  const PackedBatch batch = random_batch(model, true);
  OptimizerOptions optimizer;
  optimizer.eight_bit = true;
  optimizer.weight_decay = 0.1;
  const auto train = [&](Trainer& trainer, int steps) {
    for (int step = 0; step < steps; ++step) {
      const auto scores = trainer.forward(batch).value();
      ScoreGradients gradients;
      Random random(5);
      for (std::size_t i = 0; i < scores.log_prob.size(); ++i)
        gradients.log_prob.push_back(static_cast<float>(random.normal() * 0.1));
      ASSERT_TRUE(trainer.backward(gradients).ok());
      ASSERT_TRUE(trainer.step(1e-3).ok());
    }
  };
  const auto cpu = [&] {
    return make_cpu_trainer(team(), expand_base(base), adapters, adapters_alone(), optimizer, 9).value();
  };
  const auto gpu = [&] { return make_gpu_trainer(base, adapters, adapters_alone(), optimizer, options, 9).value(); };
  const auto moved = [&](Trainer& trainer) {
    std::vector<float> all;
    for (std::size_t a = 0; a < adapters.size(); ++a) {
      const Adapter now = trainer.read_adapter(static_cast<std::int64_t>(a)).value();
      for (std::size_t i = 0; i < now.values.size(); ++i) all.push_back(now.values[i] - adapters[a].values[i]);
    }
    return all;
  };
  const TemporaryFolder folder;
  auto wanted = cpu(), found = gpu(), third = gpu();
  train(*wanted, 3);
  train(*found, 3);
  EXPECT_LT(distance(moved(*found), moved(*wanted)), bound);
  ASSERT_TRUE(found->save_state(folder.path() / "gpu").ok());
  train(*found, 2);
  auto on_other = cpu();
  ASSERT_TRUE(on_other->restore_state(folder.path() / "gpu").ok());
  train(*on_other, 2);
  EXPECT_LT(distance(moved(*on_other), moved(*found)), bound);
  ASSERT_TRUE(on_other->save_state(folder.path() / "cpu").ok());
  ASSERT_TRUE(third->restore_state(folder.path() / "cpu").ok());
  EXPECT_EQ(moved(*third), moved(*on_other));
  // What it saved itself it continues bit for bit.
  ASSERT_TRUE(third->restore_state(folder.path() / "gpu").ok());
  train(*third, 2);
  EXPECT_EQ(moved(*third), moved(*found));
  EXPECT_FALSE(make_gpu_trainer(base, adapters, adapters_alone(), {}, options, 9)
                   .value()
                   ->restore_state(folder.path() / "gpu")
                   .ok())
      << "moments of 32 bits";
}

TEST(PackedBaseTrainer, EightBitMomentsAreTheCpus) { eight_bit_like_cpu(on_cpu(), 1e-2); }

TEST(PackedBaseOnGpu, EightBitMomentsAreTheCpus) {
  SKIP_WITHOUT_GPU();
  GpuOptions options;
  options.precision = GpuPrecision::float32;
  eight_bit_like_cpu(options, 1e-2);
}

void decode_like_cpu(const GpuDecoderOptions& place, double bound, bool same_tokens) {
  const float size = place.precision == GpuPrecision::bf16 ? 1 : 4;
  for (const bool qwen : {false, true}) {
    const ModelDescription model = small_description(qwen);
    const Nf4Base base = packed(random_parameters(model, size));
    const Parameters expanded = expand_base(base);
    const auto adapters = random_adapters(model, size);
    GpuDecoderOptions options = place;
    options.page_count = 64;
    auto found = make_gpu_decoder(base, adapters, options);
    ASSERT_TRUE(found.ok()) << to_string(found.error());
    auto scorer = make_cpu_trainer(team(), expanded, adapters, {}, {}).value();
    SamplingRule rule;
    rule.temperature = 0.7f;
    EXPECT_LT(worst_against(*scorer, decode(**found, model, true, rule, 20), true, 0.7f), bound);
    if (!same_tokens) continue;
    rule.temperature = 0;
    auto cpu = make_cpu_decoder(team(), expanded, adapters).value();
    EXPECT_EQ(decode(*cpu, model, true, rule, 20).tokens, decode(**found, model, true, rule, 20).tokens);
  }
}

TEST(PackedBaseDecoder, OnCpuTensorsEqualsTheCpuDecoder) { decode_like_cpu(decoder_on_cpu(), 2e-4, true); }

TEST(PackedBaseDecoder, FollowsItsTrainerAndKeepsItsBase) {
  const ModelDescription model = small_description(false);
  const Nf4Base base = packed(random_parameters(model));
  const auto adapters = random_adapters(model);
  auto trainer = make_gpu_trainer(base, adapters, adapters_alone(), {}, on_cpu()).value();
  GpuDecoderOptions options = decoder_on_cpu();
  options.page_count = 64;
  auto decoder = make_gpu_decoder(*trainer, options).value();
  const auto scores = trainer->forward(random_batch(model, true)).value();
  ScoreGradients gradients;
  gradients.log_prob.assign(scores.log_prob.size(), -1.0f);
  ASSERT_TRUE(trainer->backward(gradients).ok());
  ASSERT_TRUE(trainer->step(1e-2).ok());
  EXPECT_EQ(decoder->weights_version(), 1);
  // (The trainer's usable vocabulary is smaller: scores are compared without it.)
  auto alone = make_gpu_decoder(base, adapters, options).value();
  const Parameters other = random_parameters(model, 2);
  EXPECT_FALSE(update_gpu_decoder(*alone, &other, adapters, 3).ok()) << "a packed base stays as it is";
  EXPECT_TRUE(update_gpu_decoder(*alone, nullptr, random_adapters(model, 2), 3).ok());
}

TEST(PackedBaseOnGpu, TrainerInFloat32EqualsTheCpu) {
  SKIP_WITHOUT_GPU();
  GpuOptions options;
  options.precision = GpuPrecision::float32;
  train_like_cpu(options, 2e-4, 2e-4);
}

TEST(PackedBaseOnGpu, TrainerInBf16IsNearTheCpu) {
  SKIP_WITHOUT_GPU();
  train_like_cpu({}, bf16_scores, bf16_gradients);
}

TEST(PackedBaseOnGpu, DecoderInFloat32EqualsTheCpu) {
  SKIP_WITHOUT_GPU();
  GpuDecoderOptions options;
  options.precision = GpuPrecision::float32;
  decode_like_cpu(options, 5e-4, true);
}

TEST(PackedBaseOnGpu, DecoderInBf16IsNearTheCpu) {
  SKIP_WITHOUT_GPU();
  decode_like_cpu({}, bf16_scores, false);
}

// The limit holds, and the plan is no smaller than what a pass takes, nor twice as large.
TEST(PackedBaseOnGpu, PassesTakeWhatThePlanSays) {
  SKIP_WITHOUT_GPU();
  ModelDescription model = preset_description("qwen2.5-coder-0.5b", 0).value();
  model.layers = 8;
  const Nf4Base base = packed(initial_parameters(team(), model, 3));
  using enum Projection;
  const std::vector<Adapter> adapters{make_adapter(model, "one", 16, 32, {q, k, v, o, gate, up, down}, 1)};
  TrainingOptions training;
  training.train_base = false;
  GpuOptions options;
  options.memory_bytes = std::int64_t{6} << 30;
  auto trainer = make_gpu_trainer(base, adapters, training, {}, options).value();
  const std::int64_t before = gpu_memory()->allocated;
  PackedBatch batch = random_batch(model, false, {1024, 1024, 1024, 1024});
  batch.adapter = {0, 0, 0, 0};
  const auto scores = trainer->forward(batch);
  ASSERT_TRUE(scores.ok()) << to_string(scores.error());
  ScoreGradients gradients;
  gradients.log_prob.assign(scores->log_prob.size(), -0.1f);
  ASSERT_TRUE(trainer->backward(gradients).ok());
  const GpuMemory memory = gpu_memory().value();
  TrainerShape shape;
  shape.model = model;
  shape.method = TrainingMethod::qlora;
  shape.adapter_parameters = adapter_parameters(model, 16);
  shape.adapter_ranks = projection_count * 16;
  const PassNeeds needs{4096, static_cast<std::int64_t>(scores->log_prob.size()), 4};
  const PassPlan plan = plan_pass(shape, needs, options.memory_bytes - memory_outside_allocator - before).plan;
  EXPECT_LE(memory.most_allocated - before, plan.bytes);
  EXPECT_GE(2 * (memory.most_allocated - before), plan.bytes);
  EXPECT_LE(memory.most_reserved, options.memory_bytes - memory_outside_allocator);
}

}  // namespace
}  // namespace kw
