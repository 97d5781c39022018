// The model against what transformers, PEFT and PyTorch's autograd computed from the same files (tests/model).

#include <gtest/gtest.h>

#include <cmath>

#include "model/decoder/cpu_trainer.h"
#include "model/decoder/gradient_file.h"
#include "model/decoder/sequence_logits.h"

namespace kw {
namespace {

const std::filesystem::path golden = std::filesystem::path(KW_SOURCE_ROOT) / "tests/model";
constexpr const char* models[] = {"qwen2_f32", "llama_bf16_sharded", "llama_bf16_tied"};

SafetensorsFile expected_of(const std::string& model) {
  return SafetensorsFile::open(golden / model / "expected.safetensors").value();
}

std::vector<float> floats(const SafetensorsFile& file, const std::string& name) {
  const TensorView* tensor = file.find(name);
  KW_CHECK(tensor != nullptr);
  return read_floats(*tensor).value();
}

// ||ours - theirs|| / ||theirs||
double relative_error(std::span<const float> ours, std::span<const float> theirs) {
  KW_CHECK(ours.size() == theirs.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    difference += std::pow(static_cast<double>(ours[i]) - theirs[i], 2);
    size += std::pow(static_cast<double>(theirs[i]), 2);
  }
  return std::sqrt(difference / size);
}

Parameters parameters_of(const std::string& model) {
  return load_parameters(ModelFiles::open(golden / model).value()).value();
}

Adapter golden_adapter(const ModelDescription& description) {
  return adapter_from(read_lora_adapter(golden / "qwen2_f32/adapter").value(), description, "golden").value();
}

// float32 against float32, in another order: a few units in the last place.
constexpr double logits_bound = 2e-6;
constexpr double score_bound = 5e-6;
constexpr double gradient_bound = 1e-5;

TEST(Golden, LogitsAreThoseOfTransformers) {
  ThreadTeam team(2);
  for (const char* model : models) {
    const SafetensorsFile expected = expected_of(model);
    const auto prompt = read_int32s(expected, "prompt").value();
    BaseWeights flat(parameters_of(model));
    const auto logits = sequence_logits(team, flat, {}, prompt).value();
    EXPECT_LT(relative_error(logits, floats(expected, "logits")), logits_bound) << model;
    // A base that stays as the file has it computes the same, to the last bit.
    BaseWeights frozen = BaseWeights::frozen(ModelFiles::open(golden / model).value()).value();
    EXPECT_EQ(sequence_logits(team, frozen, {}, prompt).value(), logits) << model;
  }
}

TEST(Golden, AdapterLogitsAreThoseOfPeft) {
  ThreadTeam team(2);
  const SafetensorsFile expected = expected_of("qwen2_f32");
  const auto prompt = read_int32s(expected, "prompt").value();
  BaseWeights base(parameters_of("qwen2_f32"));
  const std::vector<Adapter> adapters{golden_adapter(base.description())};
  const auto logits = sequence_logits(team, base, adapters, prompt, 0).value();
  EXPECT_LT(relative_error(logits, floats(expected, "lora.logits")), logits_bound);
  EXPECT_GT(relative_error(logits, floats(expected, "logits")), 0.1);  // the adapter matters
}

TEST(Golden, GreedyTokensAreThoseOfGenerate) {
  ThreadTeam team(2);
  for (const char* model : models) {
    const SafetensorsFile expected = expected_of(model);
    const auto prompts = read_int32s(expected, "greedy_prompts").value();
    const auto answers = read_int32s(expected, "greedy").value();
    const std::int64_t count = expected.find("greedy")->shape[0];
    BaseWeights base(parameters_of(model));
    for (std::int64_t i = 0; i < count; ++i) {
      // The whole answer at once: each token must be the likeliest after those before it.
      const auto prompt = std::span(prompts).subspan(static_cast<std::size_t>(i * 7), 7);
      const auto answer = std::span(answers).subspan(static_cast<std::size_t>(i * 64), 64);
      std::vector<std::int32_t> tokens(prompt.begin(), prompt.end());
      tokens.insert(tokens.end(), answer.begin(), answer.end());
      const auto logits = sequence_logits(team, base, {}, tokens).value();
      const auto width = base.description().vocabulary;
      for (std::size_t at = 0; at < 64; ++at) {
        const auto row = logits.begin() + static_cast<std::int64_t>(6 + at) * width;
        EXPECT_EQ(std::max_element(row, row + width) - row, answer[at]) << model << " " << i << " " << at;
      }
    }
  }
}

TEST(Golden, ScoresOfAPackedBatch) {
  ThreadTeam team(2);
  for (const char* model : models) {
    const SafetensorsFile expected = expected_of(model);
    BatchFile file = read_batch_file(expected).value();
    file.batch.adapter.clear();
    TrainingOptions options;
    options.logits_chunk = 5;  // not a divisor of anything
    const auto trainer = make_cpu_trainer(team, parameters_of(model), {}, options, {}).value();
    const TokenScores scores = trainer->score(file.batch).value();
    EXPECT_LT(relative_error(scores.log_prob, floats(expected, "log_prob")), score_bound) << model;
    EXPECT_LT(relative_error(scores.entropy, floats(expected, "entropy")), score_bound) << model;
  }
}

TEST(Golden, GradientsOfEveryParameterAreThoseOfAutograd) {
  ThreadTeam team(2);
  const SafetensorsFile expected = expected_of("qwen2_f32");
  BatchFile file = read_batch_file(expected).value();
  file.batch.adapter.clear();
  for (const bool recompute : {false, true}) {
    TrainingOptions options;
    options.recompute = recompute;
    const Parameters parameters = parameters_of("qwen2_f32");
    const auto trainer = make_cpu_trainer(team, parameters, {}, options, {}).value();
    ASSERT_TRUE(trainer->forward(file.batch).ok());
    ASSERT_TRUE(trainer->backward(file.gradients).ok());
    const NamedGradients gradients = read_gradients(*trainer, parameters.description, {}).value();
    ASSERT_EQ(gradients.size(), expected_tensors(parameters.description).size());
    for (const auto& [name, gradient] : gradients) {
      const auto theirs = floats(expected, "gradient." + name);
      EXPECT_LT(relative_error(gradient.values, theirs), gradient_bound) << name;
    }
  }
}

TEST(Golden, GradientsOfAnAdapterAreThoseOfPeft) {
  ThreadTeam team(2);
  const SafetensorsFile expected = expected_of("qwen2_f32");
  const BatchFile file = read_batch_file(expected).value();  // the second of its sequences uses the bare base
  const ModelFiles files = ModelFiles::open(golden / "qwen2_f32").value();
  const std::vector<Adapter> adapters{golden_adapter(files.description())};
  TrainingOptions options;
  options.train_base = false;
  const auto trainer = make_cpu_trainer(team, files, adapters, options, {}).value();
  const TokenScores scores = trainer->forward(file.batch).value();
  EXPECT_LT(relative_error(scores.log_prob, floats(expected, "lora.log_prob")), score_bound);
  EXPECT_LT(relative_error(scores.entropy, floats(expected, "lora.entropy")), score_bound);
  ASSERT_TRUE(trainer->backward(file.gradients).ok());
  const NamedGradients gradients = read_gradients(*trainer, files.description(), adapters).value();
  ASSERT_EQ(gradients.size(), 2u * 7u * 2u);
  for (const auto& [name, gradient] : gradients) {
    EXPECT_LT(relative_error(gradient.values, floats(expected, "lora.gradient." + name)), gradient_bound) << name;
  }
}

}  // namespace
}  // namespace kw
