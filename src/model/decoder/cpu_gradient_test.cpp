// Scores and gradients against the model in double precision.

#include <gtest/gtest.h>

#include <cmath>

#include "model/decoder/reference_model.h"
#include "model/decoder/trainer_case.h"

namespace kw {
namespace {

reference::Model reference_of(const Parameters& parameters, const std::vector<Adapter>& adapters = {}) {
  reference::Model model{
      parameters.description, parameters.layout, reference::doubles(parameters.values), adapters, {}, {}, 0};
  for (const Adapter& adapter : adapters) model.adapter_values.push_back(reference::doubles(adapter.values));
  return model;
}

void expect_close(const std::vector<float>& found, const reference::Vector& wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(found[i]), wanted[i], tolerance) << i;
  }
}

// Central differences of the loss in `values`, at `samples` places.
void expect_gradient(reference::Model& model, reference::Vector& values, const std::vector<float>& gradient,
                     const PackedBatch& batch, const ScoreGradients& weights, std::int64_t begin, std::int64_t end,
                     int samples, const std::string& what) {
  ASSERT_EQ(gradient.size(), values.size()) << what;
  Random random(static_cast<std::uint64_t>(begin) + 17);
  for (int i = 0; i < samples; ++i) {
    const auto at = static_cast<std::size_t>(random.integer(begin, end - 1));
    const double old = values[at];
    const double step = 1e-5;
    values[at] = old + step;
    const double above = reference::loss(model, batch, weights);
    values[at] = old - step;
    const double below = reference::loss(model, batch, weights);
    values[at] = old;
    const double wanted = (above - below) / (2 * step);
    EXPECT_NEAR(static_cast<double>(gradient[at]), wanted, 2e-4 * (1 + std::fabs(wanted))) << what << " " << at;
  }
}

void check_base(const ModelDescription& description, const TrainingOptions& options, std::uint64_t seed) {
  ThreadTeam team(2);
  const Parameters parameters = lively_parameters(team, description, seed);
  PackedBatch batch = random_batch(description, {9, 1, 20, 4}, seed);
  batch.temperature = 0.8f;
  auto trainer = trainer_of(team, parameters, {}, options);
  const TokenScores scores = trainer->forward(batch).value();
  reference::Model model = reference_of(parameters);
  if (options.value_head) model.value_head = reference::doubles(saved_array(*trainer, "value_head.values"));
  const reference::Scores wanted = reference::scores(model, batch);
  expect_close(scores.log_prob, wanted.log_prob, 2e-5);
  expect_close(scores.entropy, wanted.entropy, 2e-5);
  expect_close(scores.value, wanted.value, 2e-5);

  const ScoreGradients weights = random_gradients(scores.log_prob.size(), true, options.value_head, seed + 1);
  ASSERT_TRUE(trainer->backward(weights).ok());
  const std::vector<float> gradient = saved_array(*trainer, "base.gradient");
  for (const auto& place : parameters.layout.places) {
    expect_gradient(model, model.base, gradient, batch, weights, place.offset,
                    place.offset + element_count(place.tensor.shape).value(), 6, place.tensor.name);
  }
  if (options.value_head) {
    const std::vector<float> value_gradient = saved_array(*trainer, "value_head.gradient");
    expect_gradient(model, model.value_head, value_gradient, batch, weights, 0, description.hidden + 1, 8, "value");
    expect_gradient(model, model.value_head, value_gradient, batch, weights, description.hidden, description.hidden + 1,
                    1, "value bias");
  }
}

TEST(CpuGradient, TiedWithBiasAndValueHead) {
  check_base(small_description(), {.value_head = true, .logits_chunk = 5}, 1);
}

TEST(CpuGradient, UntiedLlamaWithAllBiases) {
  ModelDescription description = small_description();
  description.architecture = Architecture::llama;
  description.tied_embeddings = false;
  check_base(description, {}, 2);
}

TEST(CpuGradient, LogitsComputedAgain) {
  ModelDescription description = small_description();
  description.attention_bias = false;
  description.architecture = Architecture::llama;
  check_base(description, {.logits_chunk = 7, .kept_logits_bytes = 37 * 4 * 10}, 3);
}

TEST(CpuGradient, OneLayer) {
  ModelDescription description = small_description();
  description.layers = 1;
  check_base(description, {.recompute = true}, 4);
}

TEST(CpuGradient, Adapters) {
  ThreadTeam team(2);
  const ModelDescription description = small_description();
  const Parameters parameters = lively_parameters(team, description, 4);
  const std::vector<Adapter> adapters{
      lively_adapter(description, "writer", 3, all_projections, 11),
      lively_adapter(description, "critic", 2, {Projection::q, Projection::down}, 12),
  };
  PackedBatch batch = random_batch(description, {7, 12, 5, 9}, 4);
  batch.adapter = {1, 0, -1, 0};
  auto trainer = trainer_of(team, parameters, adapters, {.train_base = false});
  const TokenScores scores = trainer->forward(batch).value();
  reference::Model model = reference_of(parameters, adapters);
  const reference::Scores wanted = reference::scores(model, batch);
  expect_close(scores.log_prob, wanted.log_prob, 2e-5);
  const ScoreGradients weights = random_gradients(scores.log_prob.size(), true, false, 5);
  ASSERT_TRUE(trainer->backward(weights).ok());
  EXPECT_TRUE(saved_array(*trainer, "base.gradient").empty());
  const std::string names[] = {"adapter.0.writer.gradient", "adapter.1.critic.gradient"};
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const std::vector<float> gradient = saved_array(*trainer, names[i]);
    for (const auto& layer : adapters[i].layout.layers) {
      for (int p = 0; p < projection_count; ++p) {
        const auto place = layer[static_cast<std::size_t>(p)];
        if (place.a < 0) continue;
        const ProjectionShape shape = projection_shape(description, static_cast<Projection>(p));
        expect_gradient(model, model.adapter_values[i], gradient, batch, weights, place.a, place.b, 4, names[i]);
        expect_gradient(model, model.adapter_values[i], gradient, batch, weights, place.b,
                        place.b + adapters[i].layout.rank * shape.out, 4, names[i]);
      }
    }
  }
}

// Adapters that begin at the second layer, and in its feed-forward part only: the gradient stops early.
TEST(CpuGradient, AdaptersOfTheUpperLayer) {
  ThreadTeam team(1);
  const ModelDescription description = small_description();
  const Parameters parameters = lively_parameters(team, description, 6);
  for (const std::vector<Projection>& targets :
       {std::vector<Projection>{Projection::down}, {Projection::up}, {Projection::o}, {Projection::v}}) {
    Adapter adapter = lively_adapter(description, "upper", 2, targets, 13);
    adapter.layout.layers[0] = {};
    auto trainer = trainer_of(team, parameters, {adapter}, {.train_base = false});
    PackedBatch batch = random_batch(description, {6, 8}, 7);
    batch.adapter = {0, 0};
    const TokenScores scores = trainer->forward(batch).value();
    const ScoreGradients weights = random_gradients(scores.log_prob.size(), false, false, 8);
    ASSERT_TRUE(trainer->backward(weights).ok());
    reference::Model model = reference_of(parameters, {adapter});
    const auto place = adapter.layout.layers[1][static_cast<std::size_t>(targets[0])];
    expect_gradient(model, model.adapter_values[0], saved_array(*trainer, "adapter.0.upper.gradient"), batch, weights,
                    place.a, adapter.layout.size, 12, "upper");
  }
}

}  // namespace
}  // namespace kw
