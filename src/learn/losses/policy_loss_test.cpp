#include "learn/losses/policy_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "learn/losses/kl.h"

namespace kw {
namespace {

const std::vector<std::uint8_t> all{1, 1, 1, 1};

TEST(Advantages, OneAnswerAloneAndGroupsWithoutContrast) {
  const std::vector<double> scores{0.7, 1, 1, 0, 1};
  const std::vector<std::int64_t> group{9, 4, 4, 5, 5};
  EXPECT_EQ(group_advantages(scores, group, GroupBaseline::dr_grpo), (std::vector<double>{0.7, 0, 0, -0.5, 0.5}));
  EXPECT_EQ(group_advantages(scores, group, GroupBaseline::leave_one_out), (std::vector<double>{0.7, 0, 0, -1, 1}));
  const auto grpo = group_advantages(scores, group, GroupBaseline::grpo);
  EXPECT_EQ(grpo[1], 0);  // not 0 / 0
  EXPECT_EQ(groups_with_contrast(scores, group), (std::vector<std::uint8_t>{0, 0, 0, 1, 1}));
}

TEST(Advantages, TokensOfOthersAreSkipped) {
  // The same answer with and without two tokens of feedback in its middle.
  const auto plain = generalised_advantages(std::vector<double>{0, 0, 1}, std::vector<double>{0.1, 0.2, 0.3},
                                            std::vector<std::uint8_t>{1, 1, 1}, std::vector<std::int64_t>{0, 3});
  const auto mixed =
      generalised_advantages(std::vector<double>{0, 5, 5, 0, 1}, std::vector<double>{0.1, 9, 9, 0.2, 0.3},
                             std::vector<std::uint8_t>{1, 0, 0, 1, 1}, std::vector<std::int64_t>{0, 5});
  EXPECT_DOUBLE_EQ(plain.advantages[0], mixed.advantages[0]);
  EXPECT_DOUBLE_EQ(plain.advantages[1], mixed.advantages[3]);
  EXPECT_DOUBLE_EQ(plain.advantages[2], mixed.advantages[4]);
}

TEST(Advantages, OverlongAnswers) {
  EXPECT_EQ(overlong_penalty(80, 100, 20), 0);
  EXPECT_DOUBLE_EQ(overlong_penalty(90, 100, 20), -0.5);
  EXPECT_EQ(overlong_penalty(100, 100, 20), -1);
  EXPECT_EQ(overlong_penalty(500, 100, 20, 0.3), -0.3);
}

TEST(PolicyLoss, WeightsAddUpOverMicroBatches) {
  // Two micro-batches of one step: denominators are those of the step.
  const std::vector<std::uint8_t> mask{1, 1, 0, 1, 1, 1};
  const std::vector<std::int64_t> starts{0, 3, 6};
  const auto whole = token_weights(mask, starts, LossMean::tokens, 5, 2);
  const auto first = token_weights(std::span(mask).first(3), std::vector<std::int64_t>{0, 3}, LossMean::tokens, 5, 2);
  EXPECT_EQ(whole[0], first[0]);
  EXPECT_EQ(whole[2], 0);
  EXPECT_DOUBLE_EQ(whole[0] * 5, 1);
  const auto means = token_weights(mask, starts, LossMean::answers_token_mean, 5, 2);
  EXPECT_DOUBLE_EQ(means[0], 0.25);
  EXPECT_DOUBLE_EQ(means[3], 1.0 / 6);
}

TEST(PolicyLoss, GradientIsTheSlope) {
  const std::vector<float> old{-1, -2, -0.5f, -3};
  const std::vector<double> advantages{1.5, -0.7, 0.4, -2}, weights{0.25, 0.25, 0.5, 0.1}, importance{1, 0.5, 2, 1};
  const ClipOptions clip{0.2, 0.28, 3};
  for (const float shift : {-0.5f, -0.1f, 0.05f, 0.2f, 0.6f, 2.0f}) {
    std::vector<float> now(old);
    for (float& value : now) value += shift;
    const auto made = policy_loss(now, old, advantages, all, weights, clip, importance);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const float step = 1.0f / 1024;
      std::vector<float> more(now), less(now);
      more[i] += step;
      less[i] -= step;
      const double slope = (policy_loss(more, old, advantages, all, weights, clip, importance).loss -
                            policy_loss(less, old, advantages, all, weights, clip, importance).loss) /
                           (2 * static_cast<double>(step));
      EXPECT_NEAR(made.d_log_prob[i], slope, 1e-4 * std::max(1.0, std::abs(slope))) << shift << " " << i;
    }
  }
}

TEST(PolicyLoss, HugeRatiosStayFinite) {
  const auto made = policy_loss(std::vector<float>{0}, std::vector<float>{-500}, std::vector<double>{-1},
                                std::vector<std::uint8_t>{1}, std::vector<double>{1}, {});
  EXPECT_DOUBLE_EQ(made.loss, 3);
  EXPECT_EQ(made.d_log_prob[0], 0);
  EXPECT_EQ(importance_weights(std::vector<float>{0, -700}, std::vector<float>{-700, 0}),
            (std::vector<double>{2, std::exp(-20)}));
}

TEST(Kl, GradientIsTheSlope) {
  for (const KlEstimator estimator : {KlEstimator::k1, KlEstimator::k2, KlEstimator::k3})
    for (const double log_prob : {-5.0, -2.0, -1.9, -0.1}) {
      const double step = 1e-5;
      const double slope =
          (kl_term(estimator, log_prob + step, -2).value - kl_term(estimator, log_prob - step, -2).value) / (2 * step);
      EXPECT_NEAR(kl_term(estimator, log_prob, -2).d_log_prob, slope, 1e-6) << to_string(estimator) << log_prob;
    }
  EXPECT_EQ(kl_term(KlEstimator::k3, -50, 0).d_log_prob, 0);
  EXPECT_FALSE(kl_estimator_from("k4").ok());
}

}  // namespace
}  // namespace kw
