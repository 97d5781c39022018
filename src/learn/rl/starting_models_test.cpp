// Reinforcement learning of agents that have adapters: what it starts from, what it moves, and what it never touches.
#include "learn/rl/starting_models.h"

#include <csignal>

#include "base/interrupt.h"
#include "learn/rl/reinforce_test_support.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr AgentRole writes = AgentRole::generator, improves = AgentRole::optimizer;

LearnerOptions adapted_options() {
  LearnerOptions options;
  options.device = "cpu";
  options.threads = 1;
  options.train_base = false;
  options.adapters = {writes, improves};
  options.rank = 4;
  options.alpha = 16;
  options.seed = 3;
  return options;
}

// A few steps towards some tokens, for both roles: what supervised training does to adapters.
void teach(Learner& learner) {
  PackedBatch batch;
  batch.tokens = {5, 6, 7, 8, 100, 101, 102, 5, 6, 9, 8, 110, 111, 112};
  batch.starts = {0, 7, 14};
  batch.scored = {0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1};
  batch.adapter = {learner.adapter_of(writes), learner.adapter_of(improves)};
  ScoreGradients gradients;
  gradients.log_prob.assign(6, -1.0f / 6);
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(learner.trainer().forward(batch).ok());
    ASSERT_TRUE(learner.trainer().backward(gradients).ok());
    ASSERT_TRUE(learner.trainer().step(2e-2).ok());
  }
}

// A base in a folder, and agents of it as `train sft --method lora` leaves them.
struct TaughtAgents {
  TaughtAgents() {
    const fs::path base = folder.path() / "base";
    EXPECT_TRUE(test_learner()->save_agents(base, "", ElementType::f32).ok());
    auto opened = ModelFiles::open(base);
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    files = std::make_unique<ModelFiles>(std::move(opened).value());
    const auto taught = Learner::from_files(*files, adapted_options()).value();
    teach(*taught);
    EXPECT_TRUE(taught->save_agents(folder.path() / "sft", base.string(), ElementType::f32).ok());
    options = adapted_options();
    for (const AgentRole role : options.adapters)
      options.adapter_folders[role] = folder.path() / "sft" / std::string(to_string(role));
  }

  StartingModels start(bool critic = false) const {
    auto models = open_starting_models(*files, options, {.reference = true, .critic = critic});
    EXPECT_TRUE(models.ok()) << to_string(models.error());
    return std::move(models).value();
  }

  TemporaryFolder folder;
  std::unique_ptr<ModelFiles> files;
  LearnerOptions options;
};

const TaughtAgents& agents() {
  static const TaughtAgents taught;
  return taught;
}

std::vector<float> adapter_values(Learner& learner, AgentRole role) {
  return learner.trainer().read_adapter(learner.adapter_of(role)).value().values;
}

// Answers that both roles sample now.
std::vector<ExperiencedAnswer> sampled_by(Learner& learner) {
  Rollout rollout(*learner.decoder().value());
  std::vector<ExperiencedAnswer> answers;
  for (int i = 0; i < 4; ++i) {
    ExperiencedAnswer& answer = answers.emplace_back();
    answer.role = i < 2 ? writes : improves;
    GenerationRequest request;
    request.prompt = answer.prompt = {5, 6, 7 + i, 8};
    request.adapter = learner.adapter_of(answer.role);
    request.rule.seed = static_cast<std::uint64_t>(i);
    request.max_tokens = 8;
    const auto results = rollout.generate({request}).value();
    answer.tokens = results[0].samples[0].tokens;
    answer.sampled_log_probs = results[0].samples[0].log_probs;
    answer.advantage = i % 2 == 0 ? -1 : 1;
  }
  return answers;
}

UpdateReport updated(const StartingModels& models, const std::vector<ExperiencedAnswer>& answers) {
  Learner& policy = *models.policy;
  UpdateInputs inputs{.policy = policy.trainer(),
                      .reference = &models.reference->trainer(),
                      .adapter_of = [&](AgentRole role) { return policy.adapter_of(role); },
                      .learning_rate = 1e-3,
                      .kl_coefficient = 0.1};
  auto report = update_policy(inputs, answers, {});
  EXPECT_TRUE(report.ok()) << to_string(report.error());
  return std::move(report).value();
}

// How far the policy's answers are from what `reference` says of them, with the adapters or on the bare base.
double distance(Learner& policy, Learner& reference, bool bare) {
  const auto answers = sampled_by(policy);
  std::vector<std::size_t> all(answers.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto adapter_of = [&](AgentRole role) { return bare ? -1 : reference.adapter_of(role); };
  const auto passes = pack_answers(answers, all, adapter_of, {});
  const TokenScores scores = reference.trainer().score(passes.at(0).batch).value();
  std::vector<float> sampled;
  for (const ExperiencedAnswer& answer : answers)
    sampled.insert(sampled.end(), answer.sampled_log_probs.begin(), answer.sampled_log_probs.end());
  return mean_kl(KlEstimator::k3, sampled, scores.log_prob, std::vector<std::uint8_t>(sampled.size(), 1));
}

TEST(StartingModels, TheReferenceIsTheSupervisedAdapterNotTheBareBase) {
  const StartingModels models = agents().start();
  // The adapters say something else than the base, so the two cannot be mistaken for each other.
  EXPECT_GT(distance(*models.policy, *models.reference, true), 0.01);
  EXPECT_EQ(distance(*models.policy, *models.reference, false), 0);
  for (const AgentRole role : {writes, improves})
    EXPECT_EQ(adapter_values(*models.reference, role), adapter_values(*models.policy, role));
}

TEST(StartingModels, KlIsZeroAtTheStartAndTheReferenceStaysFrozen) {
  const StartingModels models = agents().start();
  const auto frozen = adapter_values(*models.reference, writes);
  const UpdateReport first = updated(models, sampled_by(*models.policy));
  EXPECT_EQ(first.kl_reference, 0.0);
  EXPECT_EQ(first.mismatch_kl, 0);
  const UpdateReport second = updated(models, sampled_by(*models.policy));
  EXPECT_GT(second.kl_reference.value(), 0);
  EXPECT_EQ(second.mismatch_kl, 0) << "the decoder must have the adapters as they are now";
  EXPECT_EQ(adapter_values(*models.reference, writes), frozen);
  EXPECT_NE(adapter_values(*models.policy, writes), frozen);
}

TEST(StartingModels, TheCriticStartsWithTheAdaptersToo) {
  const StartingModels models = agents().start(true);
  EXPECT_EQ(adapter_values(*models.critic, improves), adapter_values(*models.policy, improves));
}

struct Ran {
  std::vector<float> writes, improves, base;
  LogInMemory log;
  bool interrupted = false;
};

Ran ran(const fs::path& folder, std::int64_t stop_after = -1) {
  const StartingModels models = agents().start();
  ReinforceOptions options = short_run();
  options.kl.coefficient = 0.05;
  options.adaptive_kl = true;
  options.conversations = folder / "conversations";
  ReinforceHooks hooks;
  hooks.pay = pay_for_low_tokens;
  hooks.progress = [&](const ReinforceProgress& now) {
    if (now.step == stop_after) raise(SIGINT);
  };
  Ran result;
  Checkpoints checkpoints = Checkpoints::open(folder / "checkpoints").value();
  const auto summary = reinforce({.policy = *models.policy, .reference = &models.reference->trainer()}, test_judge(),
                                 test_pool(), test_curriculum(), options, checkpoints, result.log, hooks);
  EXPECT_TRUE(summary.ok()) << to_string(summary.error());
  result.interrupted = summary.ok() && summary->interrupted;
  result.writes = adapter_values(*models.policy, writes);
  result.improves = adapter_values(*models.policy, improves);
  result.base = weights_of(*models.policy);
  return result;
}

TEST(StartingModels, AdaptersLearnWhatIsPaidForAndTheBaseStays) {
  TemporaryFolder folder;
  const StartingModels before = agents().start();
  const Ran result = ran(folder.path());
  EXPECT_NE(result.writes, adapter_values(*before.policy, writes));
  EXPECT_EQ(result.improves, adapter_values(*before.policy, improves)) << "it said nothing, so it learned nothing";
  EXPECT_EQ(result.base, weights_of(*before.policy));
  EXPECT_EQ(result.log.latest.at("mismatch_kl"), 0);
  std::vector<double> kl;
  for (const auto& [step, name, value] : result.log.lines)
    if (name == "actor/kl_loss") kl.push_back(value);
  ASSERT_EQ(kl.size(), 4u);
  EXPECT_EQ(kl.front(), 0) << "measured from where it started";
  EXPECT_GT(kl.back(), 0);
}

TEST(StartingModels, ResumedIsBitForBitUndisturbed) {
  TemporaryFolder whole, parts;
  const Ran undisturbed = ran(whole.path());
  install_interrupt_handling();
  const Ran first = ran(parts.path(), 3);
  clear_interrupt();
  EXPECT_TRUE(first.interrupted);
  const Ran last = ran(parts.path());
  EXPECT_EQ(last.writes, undisturbed.writes);
  auto lines = first.log.lines;
  lines.insert(lines.end(), last.log.lines.begin(), last.log.lines.end());
  EXPECT_EQ(lines, undisturbed.log.lines) << "also KL: the reference is the start, not what a checkpoint holds";
}

// What is kept of a run are the adapters; whatever the base is stored as, it is named and not rewritten.
TEST(StartingModels, AgentsAreSavedAsAdaptersOfTheirBase) {
  TemporaryFolder folder;
  const StartingModels models = agents().start();
  updated(models, sampled_by(*models.policy));
  const std::string base = (agents().folder.path() / "base").string();
  ASSERT_TRUE(models.policy->save_agents(folder.path(), base, ElementType::f32).ok());
  for (const auto& file : fs::recursive_directory_iterator(folder.path()))
    if (file.path().extension() == ".safetensors") {
      EXPECT_EQ(file.path().filename(), "adapter_model.safetensors");
    }
  LearnerOptions again = agents().options;
  for (const AgentRole role : again.adapters)
    again.adapter_folders[role] = folder.path() / std::string(to_string(role));
  const auto read = Learner::from_files(*agents().files, again).value();
  EXPECT_EQ(adapter_values(*read, writes), adapter_values(*models.policy, writes));
}

}  // namespace
}  // namespace kw
