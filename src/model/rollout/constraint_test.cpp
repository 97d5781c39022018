// Answers that are sampled among some tokens only: log-probabilities are those of a masked softmax that is computed
// apart and the trainer's to the last bit, certain tokens are not asked for, and scheduling changes nothing.

#include "model/rollout/constraint.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "base/random.h"
#include "model/decoder/cpu_trainer.h"
#include "model/decoder/presets.h"
#include "model/decoder/sequence_logits.h"
#include "model/rollout/cpu_decoder.h"
#include "model/rollout/hash_decoder.h"
#include "model/rollout/rollout.h"

namespace kw {
namespace {

constexpr std::int32_t vocabulary = 203;
constexpr std::int32_t trigger = 7;  // forces a run of certain tokens

// After token t: those with the same remainder modulo 4 as t + 1, and the trigger. After the trigger: 100, 101, ...
class EveryFourth : public Constraint {
 public:
  explicit EveryFourth(std::int32_t run = 6) : run_(run), masks_(4, TokenMask(vocabulary)) {
    for (std::int32_t token = 0; token < vocabulary; ++token) {
      masks_[static_cast<std::size_t>(token % 4)].allow(token);
      single_.emplace_back(vocabulary).allow(token);
    }
    for (TokenMask& mask : masks_) mask.allow(trigger);
  }

  class State : public ConstraintState {
   public:
    explicit State(const EveryFourth& owner) : owner_(owner) {}
    const TokenMask* allowed() override {
      if (forced() >= 0) return &owner_.single_[static_cast<std::size_t>(forced())];
      return last_ < 0 ? nullptr : &owner_.masks_[static_cast<std::size_t>((last_ + 1) % 4)];
    }
    std::int32_t forced() const override { return left_ > 0 ? 100 + owner_.run_ - left_ : -1; }
    void take(std::int32_t token) override {
      left_ = left_ > 0 ? left_ - 1 : token == trigger ? owner_.run_ : 0;
      last_ = token;
    }
    bool complete() const override { return last_ >= 0 && last_ % 4 == 2; }

   private:
    const EveryFourth& owner_;
    std::int32_t last_ = -1, left_ = 0;
  };
  std::unique_ptr<ConstraintState> begin() const override { return std::make_unique<State>(*this); }

 private:
  std::int32_t run_;
  std::vector<TokenMask> masks_, single_;
};

ModelDescription small_model() {
  ModelDescription model;
  model.layers = 2;
  model.hidden = 32;
  model.heads = 2;
  model.kv_heads = 1;
  model.head_dim = 16;
  model.intermediate = 48;
  model.vocabulary = vocabulary;
  model.context = 256;
  return model;
}

struct SmallModel {
  SmallModel() : model(small_model()), parameters(initial_parameters(team, model, 7)) {
    Random random(11);
    for (float& value : parameters.values) value = value * 6 + static_cast<float>(0.05 * random.normal());
  }

  std::unique_ptr<CpuDecoder> decoder(std::int64_t pages) {
    CpuDecoderOptions options;
    options.kv_bytes = pages * model.layers * 2 * model.kv_heads * model.head_dim * page_tokens * 4;
    options.most_tokens = 64;
    return make_cpu_decoder(team, parameters, {}, options).value();
  }
  std::unique_ptr<Trainer> trainer() {
    return make_cpu_trainer(team, parameters, {}, TrainingOptions{}, OptimizerOptions{}).value();
  }

  ThreadTeam team;
  ModelDescription model;
  Parameters parameters;
};

std::vector<GenerationRequest> requests_of(int count, float temperature, std::shared_ptr<const Constraint> constraint) {
  std::vector<GenerationRequest> requests;
  Random random(3);
  for (int i = 0; i < count; ++i) {
    GenerationRequest request;
    for (int n = 0; n < 3 + 5 * i; ++n)
      request.prompt.push_back(static_cast<std::int32_t>(random.integer(0, vocabulary - 1)));
    request.samples = 1 + i % 3;
    request.max_tokens = 40;
    request.rule.temperature = temperature;
    request.rule.seed = random.next();
    request.constraint = constraint;
    requests.push_back(std::move(request));
  }
  return requests;
}

PackedBatch batch_of(const GenerationRequest& request, const GeneratedSample& sample) {
  PackedBatch batch;
  batch.temperature = request.rule.temperature;
  batch.tokens = request.prompt;
  batch.tokens.insert(batch.tokens.end(), sample.tokens.begin(), sample.tokens.end());
  batch.scored.assign(request.prompt.size(), 0);
  batch.scored.resize(batch.tokens.size(), 1);
  batch.starts = {0, static_cast<std::int64_t>(batch.tokens.size())};
  batch.allowed.assign(request.prompt.size(), nullptr);
  const auto masks = masks_of(*request.constraint, sample.tokens);
  batch.allowed.insert(batch.allowed.end(), masks.begin(), masks.end());
  return batch;
}

// In double, straight from the definition.
double masked_log_softmax(const float* logits, double temperature, const TokenMask* mask, std::int32_t token) {
  double largest = -INFINITY, sum = 0;
  const auto counts = [&](std::int32_t i) { return mask == nullptr || mask->allows(i); };
  for (std::int32_t i = 0; i < vocabulary; ++i)
    if (counts(i)) largest = std::max(largest, logits[i] / temperature);
  for (std::int32_t i = 0; i < vocabulary; ++i)
    if (counts(i)) sum += std::exp(logits[i] / temperature - largest);
  return logits[token] / temperature - largest - std::log(sum);
}

TEST(TokenMask, BansWhatItDoesNotAllow) {
  TokenMask mask(130);
  mask.allow(0);
  mask.allow(64);
  mask.allow(129);
  mask.ban(64);
  EXPECT_EQ(mask.count(), 2);
  EXPECT_FALSE(mask.allows(-1));
  EXPECT_FALSE(mask.allows(64));
  EXPECT_FALSE(mask.allows(1000));
  std::vector<float> logits(200, 1);
  mask.apply(logits.data(), 200);
  for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_EQ(logits[i] == 1, i == 0 || i == 129) << i;
}

TEST(Constraint, LogProbabilitiesAreThoseOfAMaskedSoftmaxAndOfTraining) {
  SmallModel setup;
  const auto constraint = std::make_shared<EveryFourth>();
  BaseWeights base(setup.parameters);
  for (const float temperature : {1.0f, 0.7f}) {
    const auto decoder = setup.decoder(400);
    const auto trainer = setup.trainer();
    Rollout rollout(*decoder);
    const auto requests = requests_of(6, temperature, constraint);
    const auto results = rollout.generate(requests).value();
    std::int64_t forced = 0;
    for (std::size_t i = 0; i < requests.size(); ++i)
      for (const GeneratedSample& sample : results[i].samples) {
        EXPECT_TRUE(sample.constrained);
        forced += sample.forced_tokens;
        const PackedBatch batch = batch_of(requests[i], sample);
        const auto scores = trainer->score(batch).value();
        const auto logits = sequence_logits(setup.team, base, {}, batch.tokens).value();
        for (std::size_t n = 0; n < sample.tokens.size(); ++n) {
          const std::size_t at = requests[i].prompt.size() + n;
          const TokenMask* mask = batch.allowed[at];
          EXPECT_EQ(mask == nullptr, n == 0);
          EXPECT_EQ(std::bit_cast<std::uint32_t>(scores.log_prob[n]), std::bit_cast<std::uint32_t>(sample.log_probs[n]))
              << scores.log_prob[n] << " " << sample.log_probs[n];
          const float* row = logits.data() + (at - 1) * vocabulary;
          EXPECT_NEAR(sample.log_probs[n], masked_log_softmax(row, temperature, mask, sample.tokens[n]), 2e-5);
          if (mask != nullptr && mask->count() == 1) {
            EXPECT_EQ(sample.log_probs[n], 0);
            EXPECT_EQ(scores.entropy[n], 0);
          }
        }
      }
    EXPECT_GT(forced, 0);
    EXPECT_EQ(rollout.statistics().forced_tokens, forced);
  }
}

TEST(Constraint, SamplingRulesChooseAmongWhatIsAllowed) {
  SmallModel setup;
  const auto decoder = setup.decoder(400);
  Rollout rollout(*decoder);
  const auto constraint = std::make_shared<EveryFourth>();
  for (const SamplingRule rule : {SamplingRule{0, 0, 1, 5}, SamplingRule{1, 3, 1, 5}, SamplingRule{1, 0, 0.5f, 5},
                                  SamplingRule{1, 100, 0.9f, 5}, SamplingRule{2, 0, 1, 5}}) {
    auto requests = requests_of(6, 1, constraint);
    for (auto& request : requests) request.rule = rule;
    const auto results = rollout.generate(requests).value();
    for (const auto& result : results)
      for (const GeneratedSample& sample : result.samples) {
        const auto state = constraint->begin();
        for (const std::int32_t token : sample.tokens) {
          const TokenMask* mask = state->allowed();
          EXPECT_TRUE(mask == nullptr || mask->allows(token));
          state->take(token);
        }
      }
  }
}

// Few pages: sequences are sent back in the middle of forced runs, which take several pages at once.
TEST(Constraint, AnswersDoNotDependOnScheduling) {
  SmallModel setup;
  for (const std::int32_t run : {6, 45}) {
    const auto constraint = std::make_shared<EveryFourth>(run);
    auto requests = requests_of(9, 1, constraint);
    for (auto& request : requests) request.max_tokens = 90;
    std::vector<GenerationResult> apart;
    for (const auto& request : requests) {
      const auto decoder = setup.decoder(400);
      Rollout rollout(*decoder);
      apart.push_back(rollout.generate({request}).value()[0]);
    }
    const auto decoder = setup.decoder(12);
    Rollout rollout(*decoder, nullptr, {.step_tokens = 20, .most_running = 16});
    const auto together = rollout.generate(requests).value();
    EXPECT_GT(rollout.statistics().preemptions, 0);
    EXPECT_EQ(rollout.used_pages(), 0);
    for (std::size_t i = 0; i < requests.size(); ++i)
      for (std::size_t s = 0; s < apart[i].samples.size(); ++s) {
        EXPECT_EQ(together[i].samples[s].tokens, apart[i].samples[s].tokens);
        EXPECT_EQ(together[i].samples[s].log_probs, apart[i].samples[s].log_probs);
        EXPECT_LE(together[i].samples[s].tokens.size(), 90u);
      }
  }
}

TEST(Constraint, CertainTokensHaveNoGradient) {
  SmallModel setup;
  const auto constraint = std::make_shared<EveryFourth>(20);
  GeneratedSample sample;
  sample.tokens = {trigger};
  for (std::int32_t i = 0; i < 20; ++i) sample.tokens.push_back(100 + i);
  GenerationRequest request;
  request.prompt = {1, 2, 3};
  request.constraint = constraint;
  for (const bool certain : {true, false}) {
    const auto trainer = setup.trainer();
    PackedBatch batch = batch_of(request, sample);
    batch.scored[3] = 0;  // the trigger was chosen freely
    if (!certain) batch.allowed.clear();
    const TokenScores scores = trainer->forward(batch).value();
    ScoreGradients gradients;
    gradients.log_prob.assign(scores.log_prob.size(), 1);
    gradients.entropy.assign(scores.log_prob.size(), 0.5f);
    ASSERT_TRUE(trainer->backward(gradients).ok());
    const double norm = trainer->step(1e-3).value().gradient_norm;
    EXPECT_EQ(norm == 0, certain) << norm;
  }
}

TEST(Constraint, ATrainerRefusesATokenThatWasNotAllowed) {
  SmallModel setup;
  GenerationRequest request;
  request.prompt = {1, 2, 3};
  request.constraint = std::make_shared<EveryFourth>();
  GeneratedSample sample;
  sample.tokens = {4, 5, 6};
  PackedBatch batch = batch_of(request, sample);
  EXPECT_TRUE(setup.trainer()->score(batch).ok());
  batch.tokens[4] = 8;
  EXPECT_FALSE(setup.trainer()->score(batch).ok());
  batch.allowed.pop_back();
  EXPECT_FALSE(setup.trainer()->score(batch).ok());
}

TEST(Constraint, ADecoderThatKnowsNothingOfThemAnswersFreely) {
  HashDecoder decoder({});
  Rollout rollout(decoder);
  GenerationRequest request;
  request.prompt = {1, 2};
  request.max_tokens = 20;
  const auto free = rollout.generate({request}).value();
  request.constraint = std::make_shared<EveryFourth>();
  const auto asked = rollout.generate({request}).value();
  EXPECT_FALSE(asked[0].samples[0].constrained);
  EXPECT_EQ(asked[0].samples[0].tokens, free[0].samples[0].tokens);
}

TEST(Constraint, AnswersThatAreCutOffAreSampledAgain) {
  SmallModel setup;
  const auto decoder = setup.decoder(400);
  Rollout rollout(*decoder);
  const auto constraint = std::make_shared<EveryFourth>();
  auto requests = requests_of(12, 1, constraint);
  std::int64_t restarts = 0;
  for (auto& request : requests) {
    request.max_tokens = 5;
    request.most_resamples = 3;
    request.on_token = [&](const TokenEvent& event) {
      restarts += event.restarted;
      EXPECT_TRUE(!event.restarted || (event.token.token < 0 && !event.finished));
    };
  }
  std::int64_t resampled = 0;
  const auto results = rollout.generate(requests).value();
  for (std::size_t i = 0; i < results.size(); ++i)
    for (std::size_t s = 0; s < results[i].samples.size(); ++s) {
      const GeneratedSample& sample = results[i].samples[s];
      EXPECT_EQ(sample.tokens.size(), 5u);
      const bool complete = sample.tokens.back() % 4 == 2;
      EXPECT_TRUE(complete || sample.resampled == 3);
      EXPECT_LE(sample.resampled, 3);
      resampled += sample.resampled;
      // It is the answer that its seed gives, whatever came before.
      GenerationRequest again = requests[i];
      again.on_token = nullptr;
      again.samples = 1;
      again.most_resamples = 0;
      again.rule.seed = sample_seed(again.rule.seed, static_cast<std::int64_t>(s));
      if (sample.resampled > 0) again.rule.seed = resample_seed(again.rule.seed, sample.resampled);
      EXPECT_EQ(rollout.generate({again}).value()[0].samples[0].tokens, sample.tokens);
    }
  EXPECT_GT(resampled, 0);
  EXPECT_EQ(restarts, resampled);
  EXPECT_EQ(rollout.statistics().resamples, resampled);
  // The likeliest answer would be the same again.
  requests = requests_of(12, 0, constraint);
  for (auto& request : requests) request.max_tokens = request.most_resamples = 5;
  const auto likeliest = rollout.generate(requests).value();
  for (const auto& result : likeliest)
    for (const GeneratedSample& sample : result.samples) EXPECT_EQ(sample.resampled, 0);
}

}  // namespace
}  // namespace kw
