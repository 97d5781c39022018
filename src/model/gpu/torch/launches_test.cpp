// Trainer and decoder as they run on a GPU, except that kernels are launched in the emulator, products are ATen's and
// attention over whole sequences is the plain path: shapes of launches and orders of parameters, against the twins.

#include <gtest/gtest.h>

#include "base/random.h"
#include "model/gpu/torch/decoder.h"
#include "model/gpu/torch/test_emulated_kernels.h"
#include "model/gpu/torch/trainer.h"

namespace kw {
namespace {

using at::Tensor;

ModelDescription small_description() {
  ModelDescription model;
  model.architecture = decltype(model.architecture)::qwen2;
  model.layers = 2;
  model.hidden = 64;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 32;
  model.intermediate = 96;
  model.vocabulary = 120;
  model.context = 64;
  model.tied_embeddings = true;
  model.attention_bias = true;
  return model;
}

Parameters random_parameters() {
  Parameters parameters(small_description());
  Random random(4);
  for (float& value : parameters.values) value = static_cast<float>(random.normal() * 0.1);
  return parameters;
}

double distance(const std::vector<float>& found, const std::vector<float>& wanted) {
  double difference = 0, size = 1e-20;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double d = static_cast<double>(found[i]) - static_cast<double>(wanted[i]);
    difference += d * d;
    size += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
  }
  return std::sqrt(difference / size);
}

struct Trained {
  TokenScores scores;
  std::vector<float> gradient, values;
};
Trained train(GpuPrecision precision, std::shared_ptr<const KernelLauncher> kernels) {
  const Parameters parameters = random_parameters();
  GpuOptions options;
  options.precision = precision;
  options.on_cpu = true;
  GpuTrainer trainer(parameters, {}, {}, {}, options, std::move(kernels));
  PackedBatch batch;
  batch.starts = {0, 5, 14};
  Random random(3);
  for (int i = 0; i < 14; ++i) {
    batch.tokens.push_back(static_cast<std::int32_t>(random.integer(0, 119)));
    batch.scored.push_back(i != 0 && i != 5);
  }
  BatchPlan plan;
  EXPECT_TRUE(plan_batch(batch, {120, 120, 64, 0}, plan).ok());
  Trained trained;
  trained.scores = trainer.run(plan, true);
  ScoreGradients gradients;
  gradients.log_prob.assign(trained.scores.log_prob.size(), -0.1f);
  gradients.entropy.assign(trained.scores.log_prob.size(), 0.01f);
  trainer.backward(plan, gradients);
  trained.gradient.resize(parameters.values.size());
  trained.values.resize(parameters.values.size());
  trainer.read_part(0, PartArray::gradient, trained.gradient);
  OptimizerOptions optimizer;
  optimizer.weight_decay = 0.1;
  optimizer.epsilon = 1e-3;
  trainer.move(optimizer, 1e-2, 0.5);
  trainer.read_part(0, PartArray::values, trained.values);
  return trained;
}

TEST(Launches, TrainerWithEmulatedKernelsEqualsItsTwin) {
  for (const GpuPrecision precision : {GpuPrecision::float32, GpuPrecision::bf16}) {
    const bool exact = precision == GpuPrecision::float32;
    const auto launcher = std::make_shared<EmulatedLauncher>();
    const Trained found = train(precision, launcher), wanted = train(precision, nullptr);
    EXPECT_LT(distance(found.scores.log_prob, wanted.scores.log_prob), exact ? 1e-5 : 0.01);
    EXPECT_LT(distance(found.scores.entropy, wanted.scores.entropy), exact ? 1e-5 : 0.01);
    EXPECT_LT(distance(found.gradient, wanted.gradient), exact ? 1e-5 : 0.05);
    EXPECT_LT(distance(found.values, wanted.values), exact ? 1e-5 : 0.01);
    const char* type = exact ? "_f32" : "_bf16";
    for (const char* kernel : {"embed", "embed_backward", "rms_norm", "rms_norm_backward", "rotate_qkv", "swiglu",
                               "swiglu_backward", "score_gradient"}) {
      EXPECT_TRUE(launcher->launched.contains(std::string(kernel) + type)) << kernel;
    }
    EXPECT_TRUE(launcher->launched.contains("adamw"));
    EXPECT_TRUE(launcher->launched.contains("score_tokens_f32"));
  }
}

SampledToken no_host_sampling(const float*, std::int64_t, const SamplingRule&, std::int64_t) { return {}; }

std::vector<SampledToken> decode(GpuPrecision precision, std::shared_ptr<const KernelLauncher> kernels, int sequences) {
  const Parameters parameters = random_parameters();
  auto model = std::make_shared<SharedModel>(SharedModel{parameters.description,
                                                         at::kCPU,
                                                         precision == GpuPrecision::bf16 ? at::kBFloat16 : at::kFloat,
                                                         std::move(kernels),
                                                         {},
                                                         {},
                                                         {},
                                                         0});
  const DeviceLayout layout(parameters.description, parameters.layout);
  Tensor flat = at::empty({layout.size()}, model->type);
  layout.upload(parameters.values, flat);
  model->weights = layout.views(flat);
  model->rotary = rotary_tensors(model->description, model->description.context, model->device);
  GpuDecoderOptions options;
  options.page_count = 20;
  options.most_rows = 4;
  options.most_tokens = 64;
  GpuDecoder decoder(model, {flat}, options, &no_host_sampling);
  std::vector<std::vector<std::int32_t>> tokens, pages;
  for (int s = 0; s < sequences; ++s) {
    tokens.push_back({s, 7, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    pages.push_back({2 * s + 1, 2 * s});
  }
  std::vector<SampledToken> all;
  std::int64_t done = 0;
  for (int step = 0; step < 3; ++step) {
    std::vector<DecoderRow> rows(tokens.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].tokens = std::span(tokens[i]).subspan(static_cast<std::size_t>(done));
      rows[i].first_position = done;
      rows[i].pages = pages[i];
      rows[i].sample = true;
      rows[i].rule.temperature = i == 0 ? 0.0f : 1.0f;
      rows[i].rule.seed = i;
    }
    done = static_cast<std::int64_t>(tokens[0].size());
    const auto sampled = decoder.step(rows);
    EXPECT_TRUE(sampled.ok()) << to_string(sampled.error());
    if (!sampled.ok()) return all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      all.push_back((*sampled)[i]);
      // The same continuation everywhere, whatever rounding may have sampled.
      tokens[i].push_back(static_cast<std::int32_t>(20 + step));
    }
  }
  return all;
}

TEST(Launches, DecoderWithEmulatedKernelsEqualsItsTwin) {
  for (const GpuPrecision precision : {GpuPrecision::float32, GpuPrecision::bf16}) {
    for (const int sequences : {1, 3}) {  // one: the products for a single row
      const bool exact = precision == GpuPrecision::float32;
      const auto launcher = std::make_shared<EmulatedLauncher>();
      const auto found = decode(precision, launcher, sequences), wanted = decode(precision, nullptr, sequences);
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (exact) {
          EXPECT_EQ(found[i].token, wanted[i].token);
        }
        // In bf16 a near tie may be decided otherwise; log-probabilities are comparable where it was not.
        if (found[i].token == wanted[i].token) {
          EXPECT_NEAR(found[i].log_prob, wanted[i].log_prob, exact ? 1e-4 : 0.05);
        }
      }
      const std::string type = exact ? "_f32" : "_bf16";
      EXPECT_TRUE(launcher->launched.contains("rotate_into_cache" + type));
      EXPECT_TRUE(launcher->launched.contains(exact ? "paged_attention_plain_f32" : "paged_attention_rotating_32"));
      EXPECT_TRUE(launcher->launched.contains("sample_parts"));
      EXPECT_EQ(launcher->launched.contains("single_row" + type), sequences == 1);
    }
  }
}

}  // namespace
}  // namespace kw
