#include "model/decoder/cpu_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/decoder/schedule.h"
#include "model/decoder/trainer_case.h"

namespace kw {
namespace {

PackedBatch sequence_of(const PackedBatch& batch, std::size_t s) {
  PackedBatch one;
  const auto begin = batch.starts[s], end = batch.starts[s + 1];
  one.tokens.assign(batch.tokens.begin() + begin, batch.tokens.begin() + end);
  one.scored.assign(batch.scored.begin() + begin, batch.scored.begin() + end);
  one.starts = {0, end - begin};
  if (!batch.adapter.empty()) one.adapter = {batch.adapter[s]};
  one.temperature = batch.temperature;
  return one;
}

std::size_t scored_count(const PackedBatch& batch) {
  return static_cast<std::size_t>(std::count(batch.scored.begin(), batch.scored.end(), 1));
}

void expect_near(const std::vector<float>& left, const std::vector<float>& right, float tolerance) {
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    ASSERT_NEAR(left[i], right[i], tolerance * (1 + std::fabs(right[i]))) << i;
  }
}

class CpuTrainerTest : public testing::Test {
 protected:
  ThreadTeam team_{2};
  ModelDescription description_ = small_description();
  Parameters parameters_ = lively_parameters(team_, description_, 1);
};

// Sequences in one batch, mixed adapters included, have the scores of each alone, to the last bit; their gradients add
// up.
TEST_F(CpuTrainerTest, PackedEqualsEachAlone) {
  const std::vector<Adapter> adapters{lively_adapter(description_, "a", 4, all_projections, 2),
                                      lively_adapter(description_, "b", 2, {Projection::k, Projection::gate}, 3)};
  PackedBatch batch = random_batch(description_, {17, 5, 33, 16, 2}, 4);
  batch.adapter = {1, -1, 0, 1, 0};
  auto packed = trainer_of(team_, parameters_, adapters);
  auto alone = trainer_of(team_, parameters_, adapters);
  const TokenScores together = packed->forward(batch).value();
  const ScoreGradients gradients = random_gradients(together.log_prob.size(), true, false, 5);
  ASSERT_TRUE(packed->backward(gradients).ok());
  std::vector<float> log_prob, entropy;
  for (std::size_t s = 0; s + 1 < batch.starts.size(); ++s) {
    const PackedBatch one = sequence_of(batch, s);
    const TokenScores scores = alone->forward(one).value();
    ScoreGradients part;
    for (std::size_t i = log_prob.size(); i < log_prob.size() + scores.log_prob.size(); ++i) {
      part.log_prob.push_back(gradients.log_prob[i]);
      part.entropy.push_back(gradients.entropy[i]);
    }
    ASSERT_TRUE(alone->backward(part).ok());
    log_prob.insert(log_prob.end(), scores.log_prob.begin(), scores.log_prob.end());
    entropy.insert(entropy.end(), scores.entropy.begin(), scores.entropy.end());
  }
  EXPECT_TRUE(same_bits(together.log_prob, log_prob));
  EXPECT_TRUE(same_bits(together.entropy, entropy));
  for (const char* name : {"base.gradient", "adapter.0.a.gradient", "adapter.1.b.gradient"}) {
    expect_near(saved_array(*packed, name), saved_array(*alone, name), 2e-5f);
  }
}

TEST_F(CpuTrainerTest, RecomputedEqualsStored) {
  const Adapter adapter = lively_adapter(description_, "a", 4, all_projections, 2);
  PackedBatch batch = random_batch(description_, {17, 5, 30}, 6);
  batch.adapter = {0, -1, 0};
  auto stored = trainer_of(team_, parameters_, {adapter});
  auto recomputed = trainer_of(team_, parameters_, {adapter}, {.recompute = true});
  const TokenScores scores = stored->forward(batch).value();
  EXPECT_TRUE(same_bits(scores.log_prob, recomputed->forward(batch).value().log_prob));
  EXPECT_TRUE(same_bits(scores.log_prob, stored->score(batch).value().log_prob));
  // Scoring another batch in between disturbs neither.
  const PackedBatch other = random_batch(description_, {40, 3}, 8);
  ASSERT_TRUE(stored->score(other).ok());
  ASSERT_TRUE(recomputed->score(other).ok());
  const ScoreGradients gradients = random_gradients(scores.log_prob.size(), true, false, 7);
  ASSERT_TRUE(stored->backward(gradients).ok());
  ASSERT_TRUE(recomputed->backward(gradients).ok());
  for (const char* name : {"base.gradient", "adapter.0.a.gradient"}) {
    const std::vector<float> gradient = saved_array(*stored, name);
    EXPECT_FALSE(gradient.empty());
    EXPECT_TRUE(same_bits(gradient, saved_array(*recomputed, name))) << name;
  }
}

TEST_F(CpuTrainerTest, NewAdapterChangesNothing) {
  const Adapter adapter = make_adapter(description_, "new", 4, 8, all_projections, 3);
  PackedBatch batch = random_batch(description_, {12, 20}, 9);
  auto bare = trainer_of(team_, parameters_);
  auto adapted = trainer_of(team_, parameters_, {adapter}, {.train_base = false});
  const std::vector<float> wanted = bare->score(batch).value().log_prob;
  batch.adapter = {0, 0};
  EXPECT_TRUE(same_bits(adapted->score(batch).value().log_prob, wanted));
}

TEST_F(CpuTrainerTest, FrozenBaseStaysAndUnusedAdapterToo) {
  const std::vector<Adapter> adapters{lively_adapter(description_, "a", 2, all_projections, 2),
                                      lively_adapter(description_, "b", 2, all_projections, 3)};
  auto trainer = trainer_of(team_, parameters_, adapters, {.train_base = false});
  PackedBatch batch = random_batch(description_, {12, 20}, 9);
  batch.adapter = {0, -1};
  const std::size_t count = trainer->forward(batch).value().log_prob.size();
  ASSERT_TRUE(trainer->backward(random_gradients(count, false, false, 1)).ok());
  const StepReport report = trainer->step(1e-2).value();
  EXPECT_GT(report.gradient_norm, 0);
  EXPECT_EQ(trainer->weights_version(), 1);
  Parameters after(description_);
  ASSERT_TRUE(trainer->read_parameters(after).ok());
  EXPECT_TRUE(same_bits(after.values, parameters_.values));
  EXPECT_FALSE(same_bits(trainer->read_adapter(0).value().values, adapters[0].values));
  EXPECT_TRUE(same_bits(trainer->read_adapter(1).value().values, adapters[1].values));
  EXPECT_FALSE(trainer->read_adapter(2).ok());
}

// The first step of AdamW moves each parameter by the learning rate against its gradient's sign.
TEST_F(CpuTrainerTest, FirstStepOfAdamW) {
  auto trainer = trainer_of(team_, parameters_, {}, {}, {.epsilon = 0, .weight_decay = 0.1});
  const PackedBatch batch = random_batch(description_, {12, 20}, 9);
  const std::size_t count = trainer->forward(batch).value().log_prob.size();
  ASSERT_TRUE(trainer->backward(random_gradients(count, false, false, 1)).ok());
  const std::vector<float> gradient = saved_array(*trainer, "base.gradient");
  ASSERT_TRUE(trainer->step(0.01).ok());
  Parameters after(description_);
  ASSERT_TRUE(trainer->read_parameters(after).ok());
  for (const auto& place : parameters_.layout.places) {
    const float decay = place.tensor.shape.size() == 2 ? 0.01f * 0.1f : 0;
    for (std::int64_t i = 0; i < element_count(place.tensor.shape).value(); ++i) {
      const auto at = static_cast<std::size_t>(place.offset + i);
      if (std::fabs(gradient[at]) < 1e-6f) continue;
      const float wanted = parameters_.values[at] * (1 - decay) - std::copysign(0.01f, gradient[at]);
      ASSERT_NEAR(after.values[at], wanted, 1e-4f) << place.tensor.name;
    }
  }
}

TEST_F(CpuTrainerTest, NotFiniteGradientIsSkipped) {
  auto trainer = trainer_of(team_, parameters_);
  const PackedBatch batch = random_batch(description_, {12}, 9);
  ScoreGradients gradients = random_gradients(trainer->forward(batch).value().log_prob.size(), false, false, 1);
  gradients.log_prob[2] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(trainer->backward(gradients).ok());
  EXPECT_TRUE(trainer->step(1e-2).value().skipped);
  EXPECT_EQ(trainer->weights_version(), 0);
  Parameters after(description_);
  ASSERT_TRUE(trainer->read_parameters(after).ok());
  EXPECT_TRUE(same_bits(after.values, parameters_.values));
  // The bad gradient is gone.
  gradients.log_prob[2] = 1;
  ASSERT_TRUE(trainer->forward(batch).ok());
  ASSERT_TRUE(trainer->backward(gradients).ok());
  EXPECT_FALSE(trainer->step(1e-2).value().skipped);
}

TEST_F(CpuTrainerTest, ThreadsDoNotMatter) {
  const Adapter adapter = lively_adapter(description_, "a", 4, all_projections, 2);
  PackedBatch batch = random_batch(description_, {17, 5, 33}, 4);
  batch.adapter = {0, -1, 0};
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    auto trainer = trainer_of(team, parameters_, {adapter}, {.value_head = true});
    for (int step = 0; step < 3; ++step) {
      const std::size_t count = trainer->forward(batch).value().log_prob.size();
      ASSERT_TRUE(trainer->backward(random_gradients(count, true, true, 1)).ok());
      ASSERT_TRUE(trainer->step(1e-3).ok());
    }
    results.push_back(saved_array(*trainer, "base.values"));
    results.back().push_back(trainer->score(batch).value().value[3]);
  }
  EXPECT_TRUE(same_bits(results[0], results[1]));
  EXPECT_TRUE(same_bits(results[0], results[2]));
}

TEST_F(CpuTrainerTest, WrongBatchesAreRefused) {
  auto trainer = trainer_of(team_, parameters_, {}, {.usable_vocabulary = 30});
  const auto refused = [&](auto&& spoil) {
    PackedBatch batch = random_batch(description_, {6, 4}, 9);
    for (std::int32_t& token : batch.tokens) token %= 30;
    spoil(batch);
    return !trainer->forward(batch).ok() && !trainer->backward({}).ok();
  };
  EXPECT_FALSE(refused([](PackedBatch&) {}));
  EXPECT_TRUE(refused([](PackedBatch& b) { b.tokens[3] = 37; }));
  EXPECT_TRUE(refused([](PackedBatch& b) { b.tokens[3] = -1; }));
  EXPECT_TRUE(refused([](PackedBatch& b) {
    b.tokens[3] = 31;
    b.scored[3] = 1;
  }));
  EXPECT_TRUE(refused([](PackedBatch& b) { b.scored[6] = 1; }));
  EXPECT_TRUE(refused([](PackedBatch& b) { b.scored.pop_back(); }));
  EXPECT_TRUE(refused([](PackedBatch& b) { b.starts = {0, 6, 6, 10}; }));
  EXPECT_TRUE(refused([](PackedBatch& b) { b.starts = {0, 6}; }));
  EXPECT_TRUE(refused([](PackedBatch& b) { b.starts = {0, 12, 10}; }));
  EXPECT_TRUE(refused([](PackedBatch& b) { b.adapter = {0, -1}; }));
  EXPECT_TRUE(refused([](PackedBatch& b) { b.adapter = {-1}; }));
  EXPECT_TRUE(refused([](PackedBatch& b) { b.temperature = 0; }));
  EXPECT_TRUE(refused([this](PackedBatch& b) { b = random_batch(description_, {65}, 9); }));
}

TEST_F(CpuTrainerTest, BackwardNeedsItsForward) {
  auto trainer = trainer_of(team_, parameters_);
  EXPECT_FALSE(trainer->backward({}).ok());
  const PackedBatch batch = random_batch(description_, {12}, 9);
  const std::size_t count = trainer->forward(batch).value().log_prob.size();
  EXPECT_FALSE(trainer->backward(random_gradients(count + 1, false, false, 1)).ok());
  EXPECT_FALSE(trainer->backward(random_gradients(count, false, true, 1)).ok());  // there is no value head
  EXPECT_TRUE(trainer->backward(random_gradients(count, false, false, 1)).ok());
  EXPECT_FALSE(trainer->backward(random_gradients(count, false, false, 1)).ok());
}

// Nothing scored: no scores, no gradient, no crash.
TEST_F(CpuTrainerTest, NothingScored) {
  auto trainer = trainer_of(team_, parameters_);
  const PackedBatch batch = random_batch(description_, {12}, 9, 0);
  EXPECT_EQ(scored_count(batch), 0u);
  EXPECT_TRUE(trainer->forward(batch).value().log_prob.empty());
  ASSERT_TRUE(trainer->backward({}).ok());
  EXPECT_EQ(trainer->step(1e-3).value().gradient_norm, 0);
}

TEST_F(CpuTrainerTest, OptimizersThatCannotBeAreRefused) {
  const auto refused = [&](const OptimizerOptions& options) {
    return !make_cpu_trainer(team_, parameters_, {}, {}, options).ok();
  };
  constexpr auto muon = OptimizerKind::muon;
  EXPECT_FALSE(refused({.kind = muon}));
  EXPECT_TRUE(refused({.eight_bit = true, .kind = muon}));
  EXPECT_TRUE(refused({.kind = muon, .muon = {.momentum = 1}}));
  EXPECT_TRUE(refused({.kind = muon, .muon = {.momentum = std::nan("")}}));
  EXPECT_TRUE(refused({.kind = muon, .muon = {.rate_scale = 0}}));
  EXPECT_TRUE(refused({.kind = muon, .muon = {.iterations = 0}}));
  EXPECT_TRUE(refused({.beta1 = 1}));
  EXPECT_EQ(optimizer_kind("muon").value(), muon);
  EXPECT_EQ(optimizer_kind("adamw").value(), OptimizerKind::adamw);
  EXPECT_FALSE(optimizer_kind("Muon").ok());
}

// Embeddings, norms, biases and adapters are AdamW's; only the weights of linear layers move otherwise.
TEST_F(CpuTrainerTest, MuonIsForLinearLayersOnly) {
  const std::vector<Adapter> adapters{lively_adapter(description_, "a", 4, all_projections, 2)};
  PackedBatch batch = random_batch(description_, {17, 20}, 4);
  batch.adapter = {0, -1};
  const auto moved_by = [&](OptimizerKind kind, int threads) {
    ThreadTeam team(threads);
    auto trainer = trainer_of(team, parameters_, adapters, {}, {.weight_decay = 0.1, .kind = kind});
    const std::size_t count = trainer->forward(batch).value().log_prob.size();
    KW_CHECK(trainer->backward(random_gradients(count, false, false, 5)).ok());
    KW_CHECK(trainer->step(1e-2).ok());
    auto values = saved_array(*trainer, "base.values");
    const auto adapted = saved_array(*trainer, "adapter.0.a.values");
    values.insert(values.end(), adapted.begin(), adapted.end());
    return values;
  };
  const auto adamw = moved_by(OptimizerKind::adamw, 2), muon = moved_by(OptimizerKind::muon, 2);
  EXPECT_TRUE(same_bits(muon, moved_by(OptimizerKind::muon, 1)));
  EXPECT_TRUE(same_bits(muon, moved_by(OptimizerKind::muon, 3)));
  std::vector<bool> is_linear(adamw.size());
  for (const auto& place : parameters_.layout.places) {
    if (!place.tensor.name.ends_with("_proj.weight")) continue;
    std::fill_n(is_linear.begin() + place.offset, element_count(place.tensor.shape).value(), true);
  }
  std::size_t others = 0;
  for (std::size_t i = 0; i < adamw.size(); ++i) {
    if (!is_linear[i]) {
      ASSERT_EQ(adamw[i], muon[i]) << i;
    } else if (adamw[i] != muon[i]) {
      ++others;
    }
  }
  EXPECT_GT(others, static_cast<std::size_t>(std::count(is_linear.begin(), is_linear.end(), true)) * 9 / 10);
}

double overfit(Trainer& trainer, const PackedBatch& batch, int steps, double peak) {
  const Schedule schedule{ScheduleShape::cosine, peak, 10, steps, 0.05};
  double loss = 0;
  for (int step = 0; step < steps; ++step) {
    const TokenScores scores = trainer.forward(batch).value();
    loss = 0;
    for (const float log_prob : scores.log_prob) loss -= static_cast<double>(log_prob);
    const auto count = static_cast<float>(scores.log_prob.size());
    loss /= static_cast<double>(count);
    ScoreGradients gradients;
    gradients.log_prob.assign(scores.log_prob.size(), -1 / count);
    KW_CHECK(trainer.backward(gradients).ok());
    KW_CHECK(trainer.step(learning_rate_at(schedule, step)).ok());
  }
  return loss;
}

PackedBatch toy_text() {
  const std::string text =
      "out[i] = a[i] + b[i]; out[j] = a[j] * b[j]; if (i < n) out[i] = max(a[i], 0.0f); __syncthreads(); return;";
  PackedBatch batch;
  batch.starts = {0};
  for (int copy = 0; copy < 2; ++copy) {
    for (std::size_t i = 0; i < text.size() / 2; ++i) {
      batch.tokens.push_back(text[i + static_cast<std::size_t>(copy) * text.size() / 2] % 64);
      batch.scored.push_back(i > 0 ? 1 : 0);
    }
    batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
  }
  return batch;
}

ModelDescription toy_description() {
  ModelDescription description = small_description();
  description.hidden = 64;
  description.heads = 4;
  description.head_dim = 16;
  description.intermediate = 128;
  description.vocabulary = 64;
  return description;
}

TEST(CpuTrainerSlow, TwoHundredStepsLearnAToyText) {
  ThreadTeam team(2);
  const Parameters parameters = initial_parameters(team, toy_description(), 1);
  auto trainer = trainer_of(team, parameters);
  const double loss = overfit(*trainer, toy_text(), 200, 5e-3);
  EXPECT_LT(loss, 0.05);  // at first: log 64 = 4.16
}

TEST(CpuTrainerSlow, EightBitMomentsLearnAsWell) {
  ThreadTeam team(2);
  const Parameters parameters = initial_parameters(team, toy_description(), 1);
  auto trainer = trainer_of(team, parameters, {}, {}, {.eight_bit = true});
  EXPECT_LT(overfit(*trainer, toy_text(), 200, 5e-3), 0.1);
}

TEST(CpuTrainerSlow, MuonLearnsAsWell) {
  ThreadTeam team(2);
  const Parameters parameters = initial_parameters(team, toy_description(), 1);
  auto trainer = trainer_of(team, parameters, {}, {}, {.kind = OptimizerKind::muon});
  EXPECT_LT(overfit(*trainer, toy_text(), 200, 5e-3), 0.05);
}

TEST(CpuTrainerSlow, AdaptersLearnOnAFrozenBase) {
  ThreadTeam team(2);
  const ModelDescription description = toy_description();
  const Parameters parameters = lively_parameters(team, description, 1);
  auto trainer =
      trainer_of(team, parameters, {make_adapter(description, "a", 8, 16, all_projections, 1)}, {.train_base = false});
  PackedBatch batch = toy_text();
  batch.adapter = {0, 0};
  EXPECT_LT(overfit(*trainer, batch, 200, 5e-3), 0.5);
}

}  // namespace
}  // namespace kw
