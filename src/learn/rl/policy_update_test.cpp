#include "learn/rl/policy_update.h"

#include "learn/rl/reinforce_test_support.h"
#include "model/decoder/noted_trainer_for_tests.h"

namespace kw {
namespace {

const auto base_alone = [](AgentRole) { return std::int32_t{-1}; };

// Answers that the learner samples now, with scores that differ.
std::vector<ExperiencedAnswer> sampled_answers(Learner& learner, int count, float temperature = 1) {
  Rollout rollout(*learner.decoder().value());
  std::vector<ExperiencedAnswer> answers;
  for (int i = 0; i < count; ++i) {
    GenerationRequest request;
    request.prompt = {5, 6, 7 + i, 8};
    request.rule.temperature = temperature;
    request.rule.seed = static_cast<std::uint64_t>(i);
    request.max_tokens = 3 + 4 * i;
    auto results = rollout.generate({request}).value();
    ExperiencedAnswer& answer = answers.emplace_back();
    answer.prompt = request.prompt;
    answer.tokens = results[0].samples[0].tokens;
    answer.sampled_log_probs = results[0].samples[0].log_probs;
    answer.score = i % 2;
    answer.advantage = i % 2 == 0 ? -1 : 1;
  }
  return answers;
}

UpdateInputs inputs_for(Learner& learner, double rate = 1e-3) {
  return {.policy = learner.trainer(), .adapter_of = base_alone, .learning_rate = rate};
}

UpdateReport updated(const UpdateInputs& inputs, const std::vector<ExperiencedAnswer>& answers,
                     const UpdateOptions& options) {
  auto report = update_policy(inputs, answers, options);
  EXPECT_TRUE(report.ok()) << to_string(report.error());
  return std::move(report).value();
}

// Sampling and training are one computation on the CPU, at any temperature.
TEST(PolicyUpdate, SamplerAndTrainerAgreeToTheLastBit) {
  for (const float temperature : {1.0f, 0.7f}) {
    const auto learner = test_learner();
    const auto answers = sampled_answers(*learner, 4, temperature);
    UpdateOptions options;
    options.temperature = temperature;
    const UpdateReport report = updated(inputs_for(*learner), answers, options);
    EXPECT_EQ(report.mismatch_kl, 0);
    EXPECT_EQ(report.mismatch_most, 0);
    EXPECT_EQ(report.importance, 1);
    EXPECT_EQ(report.kl_old, 0);
    EXPECT_EQ(report.clipped, 0);
  }
}

// Answers that were held to a launcher are scored among the tokens that were allowed: the ratio is exactly 1 in the
// first step, token by token; without the masks it is not.
TEST(PolicyUpdate, SamplerAndTrainerAgreeAboutHeldAnswers) {
  for (const float temperature : {1.0f, 0.7f}) {
    const auto learner = test_learner();
    const std::string parameters = expected_parameters(suite_task("softmax"));
    Rollout rollout(*learner->decoder().value(), &learner->dialect().tokenizer());
    std::vector<ExperiencedAnswer> answers;
    for (int i = 0; i < 4; ++i) {
      GenerationRequest request;
      request.prompt = {5, 6, 7 + i, 8};
      request.rule.temperature = temperature;
      request.rule.seed = static_cast<std::uint64_t>(i);
      request.max_tokens = 60;
      request.constraint = make_answer_constraint(learner->dialect().masks(), parameters);
      const GeneratedSample sample = rollout.generate({request}).value()[0].samples[0];
      EXPECT_TRUE(sample.constrained);
      ExperiencedAnswer& answer = answers.emplace_back();
      answer.prompt = request.prompt;
      answer.tokens = sample.tokens;
      answer.sampled_log_probs = sample.log_probs;
      answer.held_to = parameters;
      answer.advantage = i % 2 == 0 ? -1 : 1;
    }
    UpdateOptions options;
    options.temperature = temperature;
    auto unmasked = answers;
    ASSERT_TRUE(restore_constraints(answers, learner->dialect()).ok());
    for (const ExperiencedAnswer& answer : answers) {
      EXPECT_EQ(answer.allowed.size(), answer.tokens.size());
      EXPECT_TRUE(
          std::all_of(answer.allowed.begin(), answer.allowed.end(), [](const TokenMask* mask) { return mask; }));
    }
    UpdateInputs inputs = inputs_for(*learner, 1e-12);
    const UpdateReport report = updated(inputs, answers, options);
    EXPECT_EQ(report.mismatch_kl, 0);
    EXPECT_EQ(report.mismatch_most, 0);
    EXPECT_EQ(report.importance, 1);
    EXPECT_EQ(report.kl_old, 0);
    EXPECT_EQ(report.clipped, 0);
    EXPECT_GT(report.gradient_norm, 0);
    EXPECT_GT(updated(inputs, unmasked, options).mismatch_most, 0.01);
  }
}

// Answers that were held and answers that were not may be in one pass.
TEST(PolicyUpdate, FreeAnswersBesideHeldOnes) {
  const auto learner = test_learner();
  auto answers = sampled_answers(*learner, 3);
  const std::string parameters = expected_parameters(suite_task("softmax"));
  GenerationRequest request;
  request.prompt = {5, 6, 7};
  request.max_tokens = 30;
  request.constraint = make_answer_constraint(learner->dialect().masks(), parameters);
  Rollout rollout(*learner->decoder().value(), &learner->dialect().tokenizer());
  const GeneratedSample sample = rollout.generate({request}).value()[0].samples[0];
  ExperiencedAnswer held;
  held.prompt = request.prompt;
  held.tokens = sample.tokens;
  held.sampled_log_probs = sample.log_probs;
  held.held_to = parameters;
  held.advantage = 1;
  answers.insert(answers.begin() + 1, held);
  ASSERT_TRUE(restore_constraints(answers, learner->dialect()).ok());
  const UpdateReport report = updated(inputs_for(*learner), answers, {});
  EXPECT_EQ(report.mismatch_most, 0);
  EXPECT_EQ(report.importance, 1);
}

TEST(PolicyUpdate, AnotherTemperatureShowsAsMismatch) {
  const auto learner = test_learner();
  const auto answers = sampled_answers(*learner, 4, 0.7f);
  const UpdateReport report = updated(inputs_for(*learner), answers, {});
  EXPECT_GT(report.mismatch_kl, 1e-4);
  EXPECT_NE(report.importance, 1);
}

TEST(PolicyUpdate, PassesDoNotChangeTheDenominators) {
  for (const LossMean mean : {LossMean::tokens, LossMean::answers_token_sum, LossMean::answers_token_mean}) {
    std::vector<UpdateReport> reports;
    for (const std::int64_t pass : {20, 100'000}) {
      const auto learner = test_learner();
      const auto answers = sampled_answers(*learner, 6);
      UpdateOptions options;
      options.mean = mean;
      options.pass_tokens = pass;
      reports.push_back(updated(inputs_for(*learner), answers, options));
    }
    EXPECT_NEAR(reports[0].gradient_norm, reports[1].gradient_norm, 1e-4 * reports[1].gradient_norm);
    EXPECT_NEAR(reports[0].loss, reports[1].loss, 1e-6);
  }
}

TEST(PolicyUpdate, AnswersThatTeachNothingAreNoPartOfIt) {
  const auto one = test_learner(), other = test_learner();
  auto answers = sampled_answers(*one, 4);
  answers[2].teaches = answers[3].teaches = false;
  const UpdateReport with = updated(inputs_for(*one), answers, {});
  answers.resize(2);
  const UpdateReport without = updated(inputs_for(*other), answers, {});
  EXPECT_EQ(with.loss, without.loss);
  EXPECT_EQ(weights_of(*one), weights_of(*other));

  for (ExperiencedAnswer& answer : answers) answer.teaches = false;
  const auto before = weights_of(*one);
  EXPECT_EQ(updated(inputs_for(*one), answers, {}).optimizer_steps, 0);
  EXPECT_EQ(weights_of(*one), before);
}

TEST(PolicyUpdate, MiniBatchesAndEpochsMoveAwayFromTheSampler) {
  const auto learner = test_learner();
  const auto answers = sampled_answers(*learner, 4);
  UpdateOptions options;
  options.epochs = 3;
  options.mini_batches = 2;
  const UpdateReport report = updated(inputs_for(*learner), answers, options);
  EXPECT_EQ(report.optimizer_steps, 6);
  EXPECT_NE(report.kl_old, 0);
  EXPECT_EQ(report.mismatch_kl, 0) << "old log-probabilities are those before the first step";
}

// A trainer may send gradients while the last of a mini-batch's backward passes computes them; those of one model at a
// time.
TEST(PolicyUpdate, TheLastBackwardIsAnnouncedToOneModel) {
  for (const bool move_policy : {true, false}) {
    const auto learner = test_learner(), critic = test_learner(true);
    NotedTrainer policy(learner->trainer()), values(critic->trainer());
    UpdateInputs inputs = inputs_for(*learner);
    const UpdateInputs noted{.policy = policy,
                             .critic = &values,
                             .adapter_of = base_alone,
                             .learning_rate = inputs.learning_rate,
                             .critic_learning_rate = 1e-3,
                             .move_policy = move_policy,
                             .slots = 2};
    UpdateOptions options;
    options.epochs = 2;
    options.mini_batches = 2;
    options.pass_tokens = 20;
    updated(noted, sampled_answers(*learner, 6), options);
    EXPECT_EQ(policy.steps().size(), move_policy ? 4u : 0u);
    EXPECT_EQ(values.steps().size(), 4u);
    for (const std::string& step : policy.steps()) EXPECT_TRUE(last_is_announced(step)) << step;
    for (const std::string& step : values.steps())
      EXPECT_TRUE(move_policy ? step.find('l') == std::string::npos : last_is_announced(step)) << step;
  }
}

TEST(PolicyUpdate, KlIsMeasuredFromTheFrozenStart) {
  const auto learner = test_learner(), start = test_learner();
  const auto answers = sampled_answers(*learner, 4);
  UpdateInputs inputs = inputs_for(*learner, 3e-3);
  inputs.reference = &start->trainer();
  inputs.kl_coefficient = 0.1;
  EXPECT_EQ(updated(inputs, answers, {}).kl_reference, 0.0);
  const UpdateReport second = updated(inputs, sampled_answers(*learner, 4), {});
  EXPECT_GT(second.kl_reference.value(), 0);
  inputs.reference = nullptr;
  EXPECT_FALSE(update_policy(inputs, answers, {}).ok());
}

TEST(PolicyUpdate, KlAlonePullsBackToTheStart) {
  const auto learner = test_learner(), start = test_learner();
  for (int i = 0; i < 3; ++i) updated(inputs_for(*learner, 3e-3), sampled_answers(*learner, 4), {});
  UpdateInputs inputs = inputs_for(*learner, 1e-3);
  inputs.reference = &start->trainer();
  inputs.kl_coefficient = 1;
  double first = 0, last = 0;
  for (int i = 0; i < 8; ++i) {
    auto answers = sampled_answers(*learner, 4);
    for (ExperiencedAnswer& answer : answers) answer.advantage = 0;
    last = updated(inputs, answers, {}).kl_reference.value();
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.7 * first);
}

TEST(PolicyUpdate, TheCriticLearnsWhatAnswersAreWorthAndWarmsUpAlone) {
  const auto learner = test_learner(), critic = test_learner(true);
  const auto before = weights_of(*learner);
  auto answers = sampled_answers(*learner, 4);
  for (ExperiencedAnswer& answer : answers) answer.score = 1;
  UpdateInputs inputs = inputs_for(*learner);
  inputs.critic = &critic->trainer();
  inputs.critic_learning_rate = 1e-3;
  inputs.move_policy = false;
  UpdateReport report;
  std::vector<double> losses;
  for (int i = 0; i < 12; ++i) {
    report = updated(inputs, answers, {});
    losses.push_back(report.value_loss);
  }
  EXPECT_LT(losses.back(), 0.5 * losses.front());
  EXPECT_GT(report.values.mean, 0.3);
  EXPECT_EQ(report.mismatch_kl, 0);
  EXPECT_EQ(weights_of(*learner), before) << "the critic has weights of its own";
}

// With gamma and lambda 1 every token's return is the answer's score: it can only come from the last one.
TEST(PolicyUpdate, TheRewardSitsOnTheLastGeneratedToken) {
  const auto learner = test_learner(), critic = test_learner(true);
  auto answers = sampled_answers(*learner, 2);
  for (ExperiencedAnswer& answer : answers) answer.score = 0.25;
  UpdateInputs inputs = inputs_for(*learner);
  inputs.critic = &critic->trainer();
  inputs.critic_learning_rate = 1e-3;
  UpdateOptions options;
  options.lambda = 1;
  const UpdateReport whole = updated(inputs, answers, options);
  EXPECT_NEAR(whole.returns.least, 0.25, 1e-6);
  EXPECT_NEAR(whole.returns.most, 0.25, 1e-6);
  options.gamma = 0.5;
  const UpdateReport fading = updated(inputs, answers, options);
  EXPECT_NEAR(fading.returns.most, 0.25, 1e-6);
  EXPECT_LT(fading.returns.least, 0.25 * 0.5);
}

TEST(PolicyUpdate, PromptsAreReadNotLearned) {
  const auto learner = test_learner();
  const auto answers = sampled_answers(*learner, 2);
  UpdateOptions options;
  options.temperature = 0.5f;
  const std::vector<std::size_t> both{0, 1};
  const auto passes = pack_answers(answers, both, base_alone, options);
  ASSERT_EQ(passes.size(), 1u);
  const PackedBatch& batch = passes[0].batch;
  EXPECT_EQ(batch.temperature, 0.5f);
  ASSERT_EQ(batch.starts.size(), 3u);
  for (std::size_t i = 0; i < 2; ++i) {
    auto at = static_cast<std::size_t>(batch.starts[i]);
    for (const std::int32_t token : answers[i].prompt) {
      EXPECT_EQ(batch.tokens[at], token);
      EXPECT_EQ(batch.scored[at++], 0);
    }
    for (const std::int32_t token : answers[i].tokens) {
      EXPECT_EQ(batch.tokens[at], token);
      EXPECT_EQ(batch.scored[at++], 1);
    }
  }
}

}  // namespace
}  // namespace kw
