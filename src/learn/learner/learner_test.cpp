// The shipped tiny model as it learns: trainer and decoder see the same weights, and what is saved is what was learned.
#include "learn/learner/learner.h"

#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "model/rollout/rollout.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr AgentRole writes = AgentRole::generator, improves = AgentRole::optimizer;
const std::string tiny_folder = std::string(KW_SOURCE_ROOT) + "/weights/tiny";

LearnerOptions on_one_core() {
  LearnerOptions options;
  options.device = "cpu";
  options.threads = 1;
  return options;
}

LearnerOptions with_adapters() {
  LearnerOptions options = on_one_core();
  options.train_base = false;
  options.adapters = {improves, writes};
  options.rank = 4;
  options.alpha = 8;
  return options;
}

const ModelFiles& tiny_files() {
  static const ModelFiles files = ModelFiles::open(tiny_folder).value();
  return files;
}

std::unique_ptr<Learner> learner_of(const ModelFiles& files, const LearnerOptions& options) {
  auto learner = Learner::from_files(files, options);
  EXPECT_TRUE(learner.ok()) << to_string(learner.error());
  return std::move(learner).value();
}

std::string refusal(const LearnerOptions& options) {
  const auto learner = Learner::from_files(tiny_files(), options);
  return learner.ok() ? "" : to_string(learner.error());
}

const std::vector<std::int32_t> prompt{5, 6, 7, 8};

PackedBatch batch_of(const std::vector<std::int32_t>& answer, std::int32_t adapter) {
  PackedBatch batch;
  batch.tokens = prompt;
  batch.tokens.insert(batch.tokens.end(), answer.begin(), answer.end());
  batch.starts = {0, static_cast<std::int64_t>(batch.tokens.size())};
  batch.adapter = {adapter};
  batch.scored.assign(batch.tokens.size(), 1);
  std::fill_n(batch.scored.begin(), prompt.size(), std::uint8_t{0});
  return batch;
}

std::vector<float> scores(Learner& learner, std::int32_t adapter = -1) {
  return learner.trainer().score(batch_of({100, 101, 102}, adapter)).value().log_prob;
}

// One step towards an answer.
void teach(Learner& learner, std::int32_t adapter = -1) {
  ScoreGradients gradients;
  gradients.log_prob.assign(3, -1.0f / 3);
  ASSERT_TRUE(learner.trainer().forward(batch_of({100, 101, 102}, adapter)).ok());
  ASSERT_TRUE(learner.trainer().backward(gradients).ok());
  ASSERT_TRUE(learner.trainer().step(1e-2).ok());
}

// What the decoder says of the tokens that it samples is what the trainer says of them, to the last bit.
void expect_agreement(Learner& learner, std::int32_t adapter = -1) {
  const auto decoder = learner.decoder();
  ASSERT_TRUE(decoder.ok()) << to_string(decoder.error());
  Rollout rollout(**decoder);
  GenerationRequest request;
  request.prompt = prompt;
  request.adapter = adapter;
  request.max_tokens = 6;
  const auto results = rollout.generate({request}).value();
  const auto& sample = results[0].samples[0];
  EXPECT_EQ(learner.trainer().score(batch_of(sample.tokens, adapter)).value().log_prob, sample.log_probs);
}

std::vector<float> parameters_of(Learner& learner) {
  Parameters parameters(learner.description());
  EXPECT_TRUE(learner.trainer().read_parameters(parameters).ok());
  return parameters.values;
}

nlohmann::json agents_file(const fs::path& folder) {
  std::ifstream stream(folder / "agents.json");
  return nlohmann::json::parse(stream);
}

TEST(Learner, TheDecoderFollowsTheTrainer) {
  const auto learner = learner_of(tiny_files(), on_one_core());
  expect_agreement(*learner);
  Decoder* const first = learner->decoder().value();
  const std::vector<float> before = scores(*learner);
  teach(*learner);
  EXPECT_NE(scores(*learner), before);
  expect_agreement(*learner);
  EXPECT_EQ(learner->decoder().value(), first) << "rollouts hold on to it";
  EXPECT_EQ(first->weights_version(), learner->trainer().weights_version());
}

TEST(Learner, EveryRoleHasItsOwnAdapterInTheDecoderToo) {
  const auto learner = learner_of(tiny_files(), with_adapters());
  EXPECT_EQ(learner->adapter_of(improves), 0);
  EXPECT_EQ(learner->adapter_of(writes), 1);
  EXPECT_EQ(learner->adapter_of(AgentRole::tester), -1) << "the bare base";
  const std::vector<float> bare = scores(*learner);
  EXPECT_EQ(scores(*learner, learner->adapter_of(writes)), bare) << "a new adapter says what the base says";
  teach(*learner, learner->adapter_of(writes));
  EXPECT_NE(scores(*learner, learner->adapter_of(writes)), bare);
  EXPECT_EQ(scores(*learner, learner->adapter_of(improves)), bare) << "it was not taught";
  for (const std::int32_t adapter : {-1, 0, 1}) expect_agreement(*learner, adapter);
}

TEST(Learner, AFrozenBaseStaysAsItIs) {
  const auto learner = learner_of(tiny_files(), with_adapters());
  EXPECT_FALSE(learner->trains_base());
  const std::vector<float> before = scores(*learner);
  teach(*learner, learner->adapter_of(improves));
  EXPECT_EQ(scores(*learner), before);
}

TEST(Learner, SavedAgentsSayTheSameWhenTheyAreOpenedAgain) {
  const TemporaryFolder folder;
  const auto learner = learner_of(tiny_files(), on_one_core());
  teach(*learner);
  ASSERT_TRUE(learner->save_agents(folder.path(), "not used", ElementType::f32).ok());
  EXPECT_EQ(agents_file(folder.path()).at("base"), ".") << "the trained base lies beside it";
  const ModelFiles files = ModelFiles::open(folder.path()).value();
  EXPECT_EQ(scores(*learner_of(files, on_one_core())), scores(*learner));
}

TEST(Learner, SavedAdaptersNameTheirBaseAndGoOnFromTheirFolders) {
  const TemporaryFolder folder;
  const auto learner = learner_of(tiny_files(), with_adapters());
  for (const AgentRole role : {writes, improves}) teach(*learner, learner->adapter_of(role));
  ASSERT_TRUE(learner->save_agents(folder.path(), tiny_folder, ElementType::f32).ok());
  EXPECT_EQ(agents_file(folder.path()).at("base"), tiny_folder);
  EXPECT_EQ(agents_file(folder.path()).at("adapters").size(), 2u);
  EXPECT_FALSE(fs::exists(folder.path() / "model.safetensors")) << "the base is named, not written again";
  LearnerOptions again = with_adapters();
  again.adapters = {writes, improves};  // in another order
  for (const AgentRole role : again.adapters)
    again.adapter_folders[role] = folder.path() / std::string(to_string(role));
  const auto opened = learner_of(tiny_files(), again);
  for (const AgentRole role : again.adapters)
    EXPECT_EQ(scores(*opened, opened->adapter_of(role)), scores(*learner, learner->adapter_of(role)));
}

TEST(Learner, AModelFromNothingDependsOnTheSeedAlone) {
  const auto made = [](std::uint64_t seed, int threads) {
    LearnerOptions options = on_one_core();
    options.seed = seed;
    options.threads = threads;
    auto learner = Learner::from_preset("tiny-1m", tiny_files().tokenizer().value(), options);
    EXPECT_TRUE(learner.ok()) << to_string(learner.error());
    return std::move(learner).value();
  };
  const auto one = made(4, 1), same = made(4, 2), other = made(5, 1);
  EXPECT_EQ(parameters_of(*one), parameters_of(*same));
  EXPECT_NE(parameters_of(*one), parameters_of(*other));
  const auto stops = one->dialect().stop_tokens();
  EXPECT_EQ(std::vector<std::int64_t>(one->description().eos_ids.begin(), one->description().eos_ids.end()),
            std::vector<std::int64_t>(stops.begin(), stops.end()))
      << "answers end as they are taught to";
}

// What the sampler says of an answer that it samples by these weights.
GeneratedSample sampled_by(Learner& learner, const WeightsCopy& weights, std::int32_t adapter = -1) {
  const auto decoder = learner.sampler()->by(weights);
  EXPECT_TRUE(decoder.ok()) << to_string(decoder.error());
  EXPECT_EQ((*decoder)->weights_version(), weights.version);
  Rollout rollout(**decoder);
  GenerationRequest request;
  request.prompt = prompt;
  request.adapter = adapter;
  request.max_tokens = 6;
  return rollout.generate({request}).value()[0].samples[0];
}

TEST(Learner, TheSamplerKeepsTheWeightsThatItWasGiven) {
  for (const bool adapted : {false, true}) {
    LearnerOptions options = adapted ? with_adapters() : on_one_core();
    options.sampler = true;
    const auto learner = learner_of(tiny_files(), options);
    const std::int32_t adapter = adapted ? learner->adapter_of(writes) : -1;
    teach(*learner, adapter);
    const WeightsCopy before = learner->copy_weights().value();
    const auto scored = [&](const GeneratedSample& sample) {
      return learner->trainer().score(batch_of(sample.tokens, adapter)).value().log_prob;
    };
    const GeneratedSample first = sampled_by(*learner, before, adapter);
    EXPECT_EQ(scored(first), first.log_probs) << "the trainer's, to the last bit";
    teach(*learner, adapter);
    const GeneratedSample again = sampled_by(*learner, before, adapter);
    EXPECT_EQ(again.log_probs, first.log_probs) << "a step of the trainer does not show";
    EXPECT_NE(scored(again), again.log_probs);
    const GeneratedSample after = sampled_by(*learner, learner->copy_weights().value(), adapter);
    EXPECT_EQ(scored(after), after.log_probs);
    expect_agreement(*learner, adapter);
  }
}

TEST(Learner, CopiesOfWeightsAreReadAsTheyWereWritten) {
  const TemporaryFolder folder;
  LearnerOptions options = with_adapters();
  options.train_base = true;
  const auto learner = learner_of(tiny_files(), options);
  const WeightsCopy start = learner->copy_weights().value();
  teach(*learner, learner->adapter_of(writes));
  const WeightsCopy taught = learner->copy_weights().value();
  ASSERT_NE(taught.adapters.at(1).values, start.adapters.at(1).values);
  const fs::path file = folder.path() / "weights.safetensors";
  ASSERT_TRUE(save_weights(file, taught).ok());
  const WeightsCopy read = load_weights(file, start, taught.version).value();
  EXPECT_EQ(read.version, taught.version);
  EXPECT_EQ(read.base->values, taught.base->values);
  for (std::size_t i = 0; i < taught.adapters.size(); ++i)
    EXPECT_EQ(read.adapters.at(i).values, taught.adapters.at(i).values);
  WeightsCopy other = start;
  other.adapters.at(0).values.push_back(0);
  EXPECT_FALSE(load_weights(file, other, 0).ok());
}

TEST(Learner, RefusesWhatCannotLearn) {
  LearnerOptions frozen = on_one_core();
  frozen.train_base = false;
  EXPECT_NE(refusal(frozen).find("nothing would learn"), std::string::npos);
  LearnerOptions twice = with_adapters();
  twice.adapters = {writes, writes, improves};
  EXPECT_NE(refusal(twice).find("two adapters"), std::string::npos) << "the Optimizer would get the Generator's second";
  LearnerOptions elsewhere = with_adapters();
  elsewhere.adapter_folders[writes] = "/nowhere";
  EXPECT_NE(refusal(elsewhere).find("/nowhere"), std::string::npos);
  EXPECT_FALSE(Learner::from_preset("moon", tiny_files().tokenizer().value(), on_one_core()).ok());
}

TEST(Learner, AFolderThatCannotBeMadeIsAnError) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "in the way";
  const auto learner = learner_of(tiny_files(), with_adapters());
  const auto saved = learner->save_agents(folder.path() / "file" / "agents", tiny_folder, ElementType::f32);
  ASSERT_FALSE(saved.ok());
  EXPECT_NE(saved.error().where.file.find("agents"), std::string::npos);
}

}  // namespace
}  // namespace kw
