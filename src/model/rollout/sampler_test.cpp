#include "model/rollout/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/random.h"

namespace kw {
namespace {

std::vector<float> random_logits(std::int64_t count, std::uint64_t seed, double spread) {
  Random random(seed);
  std::vector<float> logits(static_cast<std::size_t>(count));
  for (float& value : logits) value = static_cast<float>(spread * random.normal());
  return logits;
}

// By the definition, in double: sort everything, cut, normalise.
std::map<std::int32_t, double> reference(const std::vector<float>& logits, const SamplingRule& rule) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  auto logit = [&](std::int32_t i) { return static_cast<double>(logits[static_cast<std::size_t>(i)]); };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return logit(a) > logit(b); });
  if (rule.top_k > 0 && static_cast<std::size_t>(rule.top_k) < order.size()) {
    order.resize(static_cast<std::size_t>(rule.top_k));
  }
  std::vector<double> weight;
  for (const auto i : order) weight.push_back(std::exp((logit(i) - logit(order[0])) / rule.temperature));
  const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  double mass = 0;
  std::size_t kept = 0;
  while (kept < order.size() && mass < static_cast<double>(rule.top_p) * total) mass += weight[kept++];
  std::map<std::int32_t, double> probability;
  for (std::size_t i = 0; i < kept; ++i) probability[order[i]] = weight[i] / mass;
  return probability;
}

double log_prob_of(const std::vector<float>& logits, std::int32_t token, double temperature) {
  double sum = 0;
  for (const float value : logits) sum += std::exp(static_cast<double>(value) / temperature);
  return static_cast<double>(logits[static_cast<std::size_t>(token)]) / temperature - std::log(sum);
}

TEST(Sampler, FrequenciesAreThoseOfTheDefinition) {
  SamplerScratch scratch;
  const std::vector<SamplingRule> rules{{1.0f, 0, 1.0f, 1}, {0.7f, 0, 1.0f, 2},  {1.0f, 5, 1.0f, 3},
                                        {1.3f, 0, 0.8f, 4}, {1.0f, 40, 0.9f, 5}, {1.0f, 0, 0.01f, 6},
                                        {2.0f, 1, 1.0f, 7}, {1.0f, 999, 0.5f, 8}};
  for (const std::int64_t count : {3, 17, 300, 700}) {
    const std::vector<float> logits = random_logits(count, static_cast<std::uint64_t>(count), 2);
    for (const SamplingRule& rule : rules) {
      const auto expected = reference(logits, rule);
      std::map<std::int32_t, int> seen;
      constexpr int draws = 4000;
      for (int n = 0; n < draws; ++n) ++seen[sample_token(logits.data(), count, rule, n, scratch).token];
      // Chi squared over tokens that are expected at least five times; the rest is one cell.
      double statistic = 0, rest_expected = 0;
      int cells = 0, rest_seen = 0;
      for (const auto& [token, times] : seen) EXPECT_TRUE(expected.contains(token)) << token;
      for (const auto& [token, probability] : expected) {
        if (probability * draws < 5) {
          rest_expected += probability * draws;
          rest_seen += seen[token];
          continue;
        }
        ++cells;
        statistic += std::pow(seen[token] - probability * draws, 2) / (probability * draws);
      }
      if (rest_expected >= 5) {
        ++cells;
        statistic += std::pow(rest_seen - rest_expected, 2) / rest_expected;
      }
      // Mean cells - 1, standard deviation sqrt(2 (cells - 1)): five of them.
      EXPECT_LT(statistic, cells + 5 * std::sqrt(2.0 * cells) + 5)
          << count << " logits, top_k " << rule.top_k << ", top_p " << rule.top_p;
    }
  }
}

TEST(Sampler, LogProbIsOfTheWholeVocabulary) {
  SamplerScratch scratch;
  const auto logits = random_logits(1000, 9, 3);
  for (const SamplingRule rule : {SamplingRule{0.6f, 10, 0.9f, 1}, SamplingRule{1.5f, 0, 1, 2}}) {
    const SampledToken sampled = sample_token(logits.data(), 1000, rule, 3, scratch);
    EXPECT_NEAR(sampled.log_prob, log_prob_of(logits, sampled.token, static_cast<double>(rule.temperature)), 2e-5);
  }
  const SampledToken greedy = sample_token(logits.data(), 1000, {0, 0, 1, 0}, 3, scratch);
  EXPECT_EQ(greedy.token, std::max_element(logits.begin(), logits.end()) - logits.begin());
  EXPECT_NEAR(greedy.log_prob, log_prob_of(logits, greedy.token, 1), 2e-5);
}

TEST(Sampler, GreedyTakesTheFirstOfEqualOnes) {
  SamplerScratch scratch;
  std::vector<float> logits(3000, 0.5f);
  logits[700] = logits[701] = logits[2999] = 2;
  EXPECT_EQ(sample_token(logits.data(), 3000, {0, 0, 1, 0}, 0, scratch).token, 700);
  // Beyond what is usable nothing counts.
  EXPECT_EQ(sample_token(logits.data(), 600, {0, 0, 1, 0}, 0, scratch).token, 0);
  // top_k counts equal ones from the front.
  std::set<std::int32_t> seen;
  for (int n = 0; n < 200; ++n) seen.insert(sample_token(logits.data(), 3000, {1, 2, 1, 0}, n, scratch).token);
  EXPECT_EQ(seen, (std::set<std::int32_t>{700, 701}));
}

TEST(Sampler, DependsOnSeedAndIndexAlone) {
  SamplerScratch used, fresh;
  const auto logits = random_logits(5000, 4, 1);
  const auto other = random_logits(900, 5, 1);
  std::set<std::int32_t> seen;
  for (int n = 0; n < 50; ++n) {
    sample_token(other.data(), 900, {1, 0, 0.9f, 77}, n, used);
    const SamplingRule rule{1, 0, 1, 123};
    const auto a = sample_token(logits.data(), 5000, rule, n, used);
    fresh = {};
    const auto b = sample_token(logits.data(), 5000, rule, n, fresh);
    EXPECT_EQ(a.token, b.token);
    EXPECT_EQ(a.log_prob, b.log_prob);
    seen.insert(a.token);
  }
  EXPECT_GT(seen.size(), 40u);
}

TEST(Sampler, ExtremeLogits) {
  SamplerScratch scratch;
  std::vector<float> logits(1000, -1e30f);
  logits[999] = 1e30f;
  for (const SamplingRule rule : {SamplingRule{1, 0, 1, 1}, SamplingRule{1e-6f, 3, 0.5f, 2}, SamplingRule{0, 0, 1, 0},
                                  SamplingRule{100, 0, 0.999f, 4}}) {
    EXPECT_EQ(sample_token(logits.data(), 1000, rule, 0, scratch).token, 999);
  }
  std::fill(logits.begin(), logits.end(), std::nanf(""));
  EXPECT_EQ(sample_token(logits.data(), 1000, {}, 0, scratch).token, -1);
}

}  // namespace
}  // namespace kw
