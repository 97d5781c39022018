// What rollout says about its tokens is what training computes for them, and no way of scheduling changes an answer.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/file.h"
#include "base/random.h"
#include "model/arithmetic/attention.h"
#include "model/decoder/cpu_trainer.h"
#include "model/decoder/presets.h"
#include "model/rollout/cpu_decoder.h"
#include "model/rollout/quantised_model.h"
#include "model/rollout/rollout.h"

namespace kw {
namespace {

ModelDescription small_description(Architecture architecture) {
  ModelDescription model;
  model.architecture = architecture;
  model.layers = 3;
  model.hidden = 48;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 16;
  model.intermediate = 112;
  model.vocabulary = 333;
  model.context = 512;
  model.tied_embeddings = architecture == Architecture::llama;
  model.attention_bias = architecture == Architecture::qwen2;
  return model;
}

// Weights larger than a model starts with, so that tokens matter to each other; biases and norms are random too.
Parameters random_parameters(ThreadTeam& team, const ModelDescription& model) {
  Parameters parameters = initial_parameters(team, model, 7);
  Random random(11);
  for (float& value : parameters.values) value = value * 6 + static_cast<float>(0.05 * random.normal());
  return parameters;
}

std::vector<Adapter> random_adapters(const ModelDescription& model) {
  using enum Projection;
  std::vector<Adapter> adapters;
  adapters.push_back(make_adapter(model, "all", 5, 10, {q, k, v, o, gate, up, down}, 1));
  adapters.push_back(make_adapter(model, "some", 16, 8, {q, v, up}, 2));
  adapters.push_back(make_adapter(model, "one", 1, 3, {down}, 3));
  Random random(12);
  for (Adapter& adapter : adapters) {
    for (float& value : adapter.values) value += static_cast<float>(0.1 * random.normal());
  }
  return adapters;
}

std::vector<GenerationRequest> random_requests(const ModelDescription& model, std::int64_t count, std::int64_t longest,
                                               std::int64_t max_tokens, std::uint64_t seed) {
  Random random(seed);
  std::vector<GenerationRequest> requests;
  for (std::int64_t i = 0; i < count; ++i) {
    GenerationRequest request;
    // Lengths from 1 on, spread over the whole range.
    const std::int64_t length = count == 1 ? longest : 1 + i * (longest - 1) / (count - 1);
    for (std::int64_t n = 0; n < length; ++n) {
      request.prompt.push_back(static_cast<std::int32_t>(random.integer(0, model.vocabulary - 1)));
    }
    request.samples = 1 + i % 3;
    request.adapter = static_cast<std::int32_t>(i % 4) - 1;
    request.max_tokens = 1 + random.integer(max_tokens / 2, max_tokens);
    request.rule.seed = random.next();
    request.rule.temperature = i % 2 == 0 ? 1.0f : 0.7f;
    if (i % 5 == 3) request.rule.top_k = 20;
    if (i % 7 == 4) request.rule.top_p = 0.9f;
    requests.push_back(std::move(request));
  }
  return requests;
}

struct Compared {
  std::int64_t tokens = 0;
  std::int64_t equal = 0;  // to the last bit
  double largest = 0;      // difference
};

// Every log-probability against Trainer::score() of prompt and answer.
Compared compare(Trainer& trainer, const std::vector<GenerationRequest>& requests,
                 const std::vector<GenerationResult>& results) {
  Compared compared;
  for (const float temperature : {1.0f, 0.7f}) {
    PackedBatch batch;
    batch.temperature = temperature;
    batch.starts = {0};
    std::vector<float> sampled;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].rule.temperature != temperature) continue;
      for (const GeneratedSample& sample : results[i].samples) {
        batch.tokens.insert(batch.tokens.end(), requests[i].prompt.begin(), requests[i].prompt.end());
        batch.scored.resize(batch.tokens.size(), 0);
        batch.tokens.insert(batch.tokens.end(), sample.tokens.begin(), sample.tokens.end());
        batch.scored.resize(batch.tokens.size(), 1);
        batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
        batch.adapter.push_back(requests[i].adapter);
        sampled.insert(sampled.end(), sample.log_probs.begin(), sample.log_probs.end());
      }
    }
    if (sampled.empty()) continue;
    const auto scores = trainer.score(batch);
    EXPECT_TRUE(scores.ok()) << (scores.ok() ? "" : to_string(scores.error()));
    if (!scores.ok()) return compared;
    EXPECT_EQ(scores->log_prob.size(), sampled.size());
    for (std::size_t i = 0; i < sampled.size(); ++i) {
      ++compared.tokens;
      compared.equal += std::bit_cast<std::uint32_t>(sampled[i]) == std::bit_cast<std::uint32_t>(scores->log_prob[i]);
      compared.largest = std::max(compared.largest,
                                  std::abs(static_cast<double>(sampled[i]) - static_cast<double>(scores->log_prob[i])));
    }
  }
  return compared;
}

struct TestModel {
  explicit TestModel(Architecture architecture)
      : model(small_description(architecture)),
        parameters(random_parameters(team, model)),
        adapters(random_adapters(model)) {}

  std::unique_ptr<CpuDecoder> decoder(std::int64_t pages, std::int64_t most_tokens = 512) {
    CpuDecoderOptions options;
    options.kv_bytes = pages * model.layers * 2 * model.kv_heads * model.head_dim * page_tokens * 4;
    options.most_tokens = most_tokens;
    auto made = make_cpu_decoder(team, parameters, adapters, options);
    EXPECT_TRUE(made.ok());
    EXPECT_EQ((*made)->page_count(), pages);
    return std::move(*made);
  }
  std::unique_ptr<Trainer> trainer() {
    TrainingOptions options;
    options.train_base = false;
    auto made = make_cpu_trainer(team, parameters, adapters, options, {});
    EXPECT_TRUE(made.ok());
    return std::move(*made);
  }

  ThreadTeam team;
  ModelDescription model;
  Parameters parameters;
  std::vector<Adapter> adapters;
};

void expect_log_probs_of_training(Architecture architecture, std::int64_t count, std::int64_t longest,
                                  std::int64_t max_tokens) {
  TestModel setup(architecture);
  const auto decoder = setup.decoder(4000);
  const auto trainer = setup.trainer();
  Rollout rollout(*decoder);
  const auto requests = random_requests(setup.model, count, longest, max_tokens, static_cast<std::uint64_t>(count));
  const auto results = rollout.generate(requests);
  ASSERT_TRUE(results.ok());
  const Compared compared = compare(*trainer, requests, *results);
  EXPECT_GT(compared.tokens, 0);
  EXPECT_EQ(compared.equal, compared.tokens) << "largest difference " << compared.largest;
  EXPECT_LE(compared.largest, 1e-4);
  EXPECT_EQ(rollout.used_pages(), 0);
}

TEST(Agreement, LogProbsAreThoseOfTraining) {
  expect_log_probs_of_training(Architecture::llama, 1, 40, 10);
  expect_log_probs_of_training(Architecture::qwen2, 3, 70, 10);
  expect_log_probs_of_training(Architecture::llama, 17, 60, 10);
}

TEST(AgreementSlow, EveryBatchSizeAndEveryPromptLength) {
  for (std::int64_t count = 1; count <= 64; ++count) expect_log_probs_of_training(Architecture::llama, count, 50, 8);
  expect_log_probs_of_training(Architecture::qwen2, 300, 300, 6);  // one request of each length
}

TEST(AgreementSlow, LogProbsAreThoseOfTraining) {
  for (const Architecture architecture : {Architecture::llama, Architecture::qwen2}) {
    for (const std::int64_t count : {1, 3, 17, 64}) expect_log_probs_of_training(architecture, count, 300, 30);
  }
}

void expect_same(const std::vector<GenerationResult>& a, const std::vector<GenerationResult>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].samples.size(), b[i].samples.size());
    for (std::size_t n = 0; n < a[i].samples.size(); ++n) {
      EXPECT_EQ(a[i].samples[n].tokens, b[i].samples[n].tokens) << i << ", sample " << n;
      EXPECT_EQ(a[i].samples[n].log_probs, b[i].samples[n].log_probs) << i << ", sample " << n;
    }
  }
}

// The same requests alone, together, with hardly any memory, and with prompts in chunks of every kind.
void expect_same_however_scheduled(std::int64_t count, std::int64_t longest, std::int64_t max_tokens) {
  TestModel setup(Architecture::llama);
  const auto requests = random_requests(setup.model, count, longest, max_tokens, 5);
  const auto ample = setup.decoder(4000);
  Rollout together(*ample, nullptr, {512, 256});
  const auto expected = together.generate(requests);
  ASSERT_TRUE(expected.ok());
  {
    Rollout rollout(*ample);
    std::vector<GenerationResult> alone;
    for (const GenerationRequest& request : requests) {
      auto results = rollout.generate({request});
      ASSERT_TRUE(results.ok());
      alone.push_back(std::move((*results)[0]));
    }
    expect_same(alone, *expected);
  }
  {
    // Two or three of the longest sequences, and all of them want to run.
    const auto scarce = setup.decoder(3 * (longest + 2 * max_tokens) / page_tokens + 2);
    Rollout rollout(*scarce, nullptr, {512, 256});
    const auto results = rollout.generate(requests);
    ASSERT_TRUE(results.ok());
    EXPECT_GT(rollout.statistics().preemptions, 0);
    EXPECT_GT(rollout.statistics().recomputed_tokens, 0);
    expect_same(*results, *expected);
  }
  for (const std::int64_t step_tokens : {7, 33, 100}) {
    Rollout rollout(*ample, nullptr, {step_tokens, 256});
    const auto results = rollout.generate(requests);
    ASSERT_TRUE(results.ok());
    expect_same(*results, *expected);
  }
}

TEST(Agreement, AnswersDoNotDependOnScheduling) { expect_same_however_scheduled(10, 50, 20); }
TEST(AgreementSlow, AnswersDoNotDependOnScheduling) { expect_same_however_scheduled(64, 300, 40); }

// Quantised blocks, expanded on the way: the same as the trainer on the file, and as floats that were expanded before.
TEST(Agreement, QuantisedWeights) {
  ThreadTeam team;
  ModelDescription model = small_description(Architecture::llama);
  model.hidden = 64;
  model.intermediate = 96;
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  ASSERT_TRUE(write_file_atomic(path, quantised_gguf(model, 3)).ok());
  const auto files = ModelFiles::open(path);
  ASSERT_TRUE(files.ok()) << to_string(files.error());
  const auto adapters = random_adapters(files->description());
  const auto requests = random_requests(files->description(), 9, 60, 12, 8);
  const auto decoder = make_cpu_decoder(team, *files, adapters);
  ASSERT_TRUE(decoder.ok());
  Rollout rollout(**decoder);
  const auto results = rollout.generate(requests);
  ASSERT_TRUE(results.ok());

  TrainingOptions frozen;
  frozen.train_base = false;
  const auto trainer = make_cpu_trainer(team, *files, adapters, frozen, {});
  ASSERT_TRUE(trainer.ok());
  const Compared compared = compare(**trainer, requests, *results);
  EXPECT_GT(compared.tokens, 50);
  EXPECT_EQ(compared.equal, compared.tokens) << "largest difference " << compared.largest;

  const auto parameters = load_parameters(*files);
  ASSERT_TRUE(parameters.ok());
  const auto expanded = make_cpu_decoder(team, *parameters, adapters);
  ASSERT_TRUE(expanded.ok());
  EXPECT_GT((*expanded)->weight_bytes(), 2 * (*decoder)->weight_bytes());
  Rollout other(**expanded);
  const auto same = other.generate(requests);
  ASSERT_TRUE(same.ok());
  expect_same(*same, *results);

  // An adapter is added to what the blocks give, never written into them: a changed one and back again is as before,
  // where rounding into 4 bits would have left its mark.
  std::vector<Adapter> moved = adapters;
  for (Adapter& adapter : moved)
    for (float& value : adapter.values) value = 2 * value + 0.05f;
  for (std::size_t i = 0; i < moved.size(); ++i)
    ASSERT_TRUE((*decoder)->update_adapter(static_cast<std::int64_t>(i), moved[i]).ok());
  const auto others = rollout.generate(requests);
  ASSERT_TRUE(others.ok());
  const auto moved_trainer = make_cpu_trainer(team, *files, moved, frozen, {});
  ASSERT_TRUE(moved_trainer.ok());
  const Compared of_moved = compare(**moved_trainer, requests, *others);
  EXPECT_EQ(of_moved.equal, of_moved.tokens) << "largest difference " << of_moved.largest;
  for (std::size_t i = 0; i < adapters.size(); ++i)
    ASSERT_TRUE((*decoder)->update_adapter(static_cast<std::int64_t>(i), adapters[i]).ok());
  const auto back = rollout.generate(requests);
  ASSERT_TRUE(back.ok());
  for (std::size_t i = 0; i < requests.size(); ++i)
    for (std::size_t n = 0; n < (*results)[i].samples.size(); ++n) {
      EXPECT_EQ((*back)[i].samples[n].tokens, (*results)[i].samples[n].tokens);
      EXPECT_EQ((*back)[i].samples[n].log_probs, (*results)[i].samples[n].log_probs);
    }
}

TEST(Agreement, NewWeightsAreUsedAndCounted) {
  TestModel setup(Architecture::llama);
  const auto decoder = setup.decoder(100);
  Rollout rollout(*decoder);
  const auto requests = random_requests(setup.model, 4, 30, 8, 6);
  const auto before = rollout.generate(requests);
  ASSERT_TRUE(before.ok());
  EXPECT_EQ((*before)[0].samples[0].weights_version, 0);
  for (float& value : setup.parameters.values) value *= 1.1f;
  setup.adapters[0].values[3] += 1;
  ASSERT_TRUE(decoder->update(setup.parameters).ok());
  ASSERT_TRUE(decoder->update_adapter(0, setup.adapters[0]).ok());
  const auto after = rollout.generate(requests);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ((*after)[0].samples[0].weights_version, 2);
  const auto trainer = setup.trainer();
  const Compared compared = compare(*trainer, requests, *after);
  EXPECT_EQ(compared.equal, compared.tokens);
  EXPECT_LT(compare(*trainer, requests, *before).equal, compared.tokens / 2);
  EXPECT_FALSE(decoder->set_weights_version(1).ok());
  EXPECT_TRUE(decoder->set_weights_version(9).ok());
  EXPECT_EQ(decoder->weights_version(), 9);
  // Two adapters are one step of a trainer; but never the number of weights that were used.
  ASSERT_TRUE(rollout.generate(requests).ok());
  for (const std::int64_t index : {0, 1})
    ASSERT_TRUE(decoder->update_adapter(index, setup.adapters[static_cast<std::size_t>(index)]).ok());
  EXPECT_EQ(decoder->weights_version(), 11);
  EXPECT_FALSE(decoder->set_weights_version(9).ok());
  EXPECT_TRUE(decoder->set_weights_version(10).ok());
  EXPECT_EQ((*rollout.generate(requests))[0].samples[0].weights_version, 10);
}

TEST(Agreement, RefusesWhatTheModelLacks) {
  TestModel setup(Architecture::llama);
  const auto decoder = setup.decoder(100);
  Rollout rollout(*decoder);
  GenerationRequest request;
  request.prompt = {1, 333};
  EXPECT_FALSE(rollout.submit(request).ok());
  request.prompt = {1, 332};
  request.adapter = 3;
  EXPECT_FALSE(rollout.submit(request).ok());
  request.adapter = 2;
  EXPECT_TRUE(rollout.submit(request).ok());
  Parameters damaged = setup.parameters;
  damaged.values[static_cast<std::size_t>(damaged.layout.final_norm)] = std::nanf("");
  ASSERT_TRUE(decoder->update(damaged).ok());
  EXPECT_FALSE(rollout.advance().ok());
}

}  // namespace
}  // namespace kw
