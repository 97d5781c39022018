// Advantages, losses and their gradients against what VERL computes (tests/train/verl.json, by scripts/verl_golden.py),
// on random answers and on the edges of the definitions.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/file.h"
#include "learn/losses/advantage.h"
#include "learn/losses/kl.h"
#include "learn/losses/policy_loss.h"

namespace kw {
namespace {

using nlohmann::json;

// VERL adds 1e-8 to a denominator here and there.
constexpr double nearly = 1e-6;

const json& golden() {
  static const json file = json::parse(read_file(std::string(KW_SOURCE_ROOT) + "/tests/train/verl.json").value());
  return file;
}

std::vector<double> doubles(const json& list) { return list.get<std::vector<double>>(); }
std::vector<float> floats(const json& list) { return list.get<std::vector<float>>(); }

// One step's answers. Micro-batches are parts of it with the step's counts.
struct Case {
  explicit Case(const json& from) : mask(from["mask"].get<std::vector<std::uint8_t>>()), starts{0} {
    for (const std::int64_t length : from["lengths"]) starts.push_back(starts.back() + length);
    tokens = std::accumulate(mask.begin(), mask.end(), std::int64_t{0});
    const auto counts = [](std::uint8_t one) { return one != 0; };
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
      answers += std::any_of(mask.begin() + starts[i], mask.begin() + starts[i + 1], counts);
    const std::string mode = from["mode"];
    mean = mode == "token-mean"            ? LossMean::tokens
           : mode == "seq-mean-token-mean" ? LossMean::answers_token_mean
                                           : LossMean::answers_token_sum;
    if (mode == "seq-mean-token-sum-norm") scale = from["scale"];
    weights = weights_of(mask, starts);
  }

  std::vector<double> weights_of(std::span<const std::uint8_t> part, Starts part_starts) const {
    std::vector<double> made = token_weights(part, part_starts, mean, tokens, answers);
    for (double& weight : made) weight /= scale;
    return made;
  }

  std::vector<std::uint8_t> mask;
  std::vector<std::int64_t> starts;
  std::int64_t tokens = 0, answers = 0;
  LossMean mean = LossMean::tokens;
  double scale = 1;
  std::vector<double> weights;
};

void expect_near(double ours, const json& theirs, const std::string& what) {
  const auto value = theirs.get<double>();
  EXPECT_NEAR(ours, value, nearly * std::max(1.0, std::abs(value))) << what;
}

void expect_near(const std::vector<double>& ours, const json& theirs, const std::string& what,
                 const std::vector<std::uint8_t>* mask = nullptr) {
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (mask == nullptr || (*mask)[i] != 0) expect_near(ours[i], theirs[i], what + ", " + std::to_string(i));
}

template <class Check>
void for_every_case(const Check& check) {
  ASSERT_EQ(golden()["verl"], "0.9.1");
  ASSERT_GE(golden()["cases"].size(), 20u);
  for (const json& from : golden()["cases"]) {
    SCOPED_TRACE(from["name"].get<std::string>());
    check(from, Case(from));
  }
}

TEST(Verl, GeneralisedAdvantages) {
  for_every_case([](const json& from, const Case& one) {
    if (!from["has_gae"].get<bool>()) return;  // VERL whitens nothing that is a single token
    auto made = generalised_advantages(doubles(from["rewards"]), doubles(from["values"]), one.mask, one.starts,
                                       from["gamma"], from["lambda"]);
    expect_near(made.returns, from["returns"], "returns");
    whiten(made.advantages, one.mask);
    expect_near(made.advantages, from["gae_whitened"], "whitened", &one.mask);
  });
}

TEST(Verl, GroupAdvantages) {
  for_every_case([](const json& from, const Case&) {
    const auto scores = doubles(from["scores"]);
    const auto group = from["group"].get<std::vector<std::int64_t>>();
    expect_near(group_advantages(scores, group, GroupBaseline::grpo), from["grpo"], "GRPO");
    expect_near(group_advantages(scores, group, GroupBaseline::dr_grpo), from["dr_grpo"], "Dr.GRPO");
    expect_near(group_advantages(scores, group, GroupBaseline::leave_one_out), from["rloo"], "RLOO");
  });
}

TEST(Verl, PolicyLossAndItsGradient) {
  for_every_case([](const json& from, const Case& one) {
    const ClipOptions clip{from["low"], from["high"], from["dual"]};
    const auto made = policy_loss(floats(from["log_prob"]), floats(from["old"]), doubles(from["advantages"]), one.mask,
                                  one.weights, clip);
    expect_near(made.loss, from["loss"], "loss");
    expect_near(made.clipped, from["clipped"], "clipped");
    expect_near(made.clipped_dual, from["clipped_dual"], "clipped by the dual clip");
    expect_near(made.kl, from["kl"], "KL to the old weights");
    expect_near(made.d_log_prob, from["d_log_prob"], "slope");
  });
}

TEST(Verl, ImportanceOfTheSampler) {
  for_every_case([](const json& from, const Case& one) {
    const std::vector<double> importance = importance_weights(floats(from["old"]), floats(from["sampled"]));
    expect_near(importance, from["importance"], "importance", &one.mask);
    const ClipOptions clip{from["low"], from["high"], from["dual"]};
    const auto made = policy_loss(floats(from["log_prob"]), floats(from["old"]), doubles(from["advantages"]), one.mask,
                                  one.weights, clip, importance);
    expect_near(made.loss, from["corrected_loss"], "loss");
    expect_near(made.d_log_prob, from["d_corrected"], "slope");
  });
}

// Every answer a micro-batch of its own, as VERL sums them up: the denominators are those of the step.
TEST(Verl, MicroBatchesOfOneStep) {
  for_every_case([](const json& from, const Case& one) {
    const auto now = floats(from["log_prob"]), old = floats(from["old"]);
    const auto advantages = doubles(from["advantages"]);
    const ClipOptions clip{from["low"], from["high"], from["dual"]};
    double loss = 0;
    std::vector<double> slopes;
    for (std::size_t i = 0; i + 1 < one.starts.size(); ++i) {
      const auto first = static_cast<std::size_t>(one.starts[i]);
      const auto count = static_cast<std::size_t>(one.starts[i + 1]) - first;
      const auto mask = std::span(one.mask).subspan(first, count);
      const std::vector<std::int64_t> starts{0, static_cast<std::int64_t>(count)};
      const auto made =
          policy_loss(std::span(now).subspan(first, count), std::span(old).subspan(first, count),
                      std::span(advantages).subspan(first, count), mask, one.weights_of(mask, starts), clip);
      loss += made.loss;
      slopes.insert(slopes.end(), made.d_log_prob.begin(), made.d_log_prob.end());
    }
    expect_near(loss, from["loss_in_parts"], "loss");
    expect_near(slopes, from["d_in_parts"], "slope");
  });
}

TEST(Verl, ValueLossAndItsGradient) {
  for_every_case([](const json& from, const Case& one) {
    const auto made = value_loss(floats(from["predicted"]), floats(from["values"]), doubles(from["returns"]), one.mask,
                                 one.weights, from["clip_value"]);
    expect_near(made.loss, from["value_loss"], "loss");
    expect_near(made.clipped, from["value_clipped"], "clipped");
    expect_near(made.d_value, from["d_value"], "slope");
  });
}

TEST(Verl, KlEstimatorsAndTheirGradients) {
  for_every_case([](const json& from, const Case& one) {
    const auto log_prob = floats(from["log_prob"]), reference = floats(from["reference"]);
    for (const char* name : {"k1", "k2", "k3"}) {
      std::vector<double> values, slopes;
      double loss = 0;
      for (std::size_t i = 0; i < log_prob.size(); ++i) {
        const KlTerm term = kl_term(*kl_estimator_from(name), log_prob[i], reference[i]);
        values.push_back(term.value);
        slopes.push_back(one.weights[i] * term.d_log_prob);
        loss += one.weights[i] * term.value;
      }
      expect_near(values, from["kls"][name], name);
      expect_near(loss, from["kl_losses"][name], name);
      expect_near(slopes, from["kl_slopes"][name], std::string(name) + ", slope");
    }
  });
}

TEST(Verl, KlController) {
  for (const json& from : golden()["controllers"]) {
    AdaptiveKl controller;
    for (const json& coefficient : from["coefficients"]) {
      controller.update(from["kl"], from["answers"]);
      EXPECT_NEAR(controller.coefficient, coefficient.get<double>(), 1e-15);
    }
  }
}

TEST(Verl, OverlongAnswers) {
  for (const json& from : golden()["overlong"]) {
    std::int64_t tokens = 0;
    for (const json& penalty : from["penalties"])
      expect_near(overlong_penalty(++tokens, from["most"], from["buffer"], from["penalty"]), penalty, "penalty");
  }
}

// Entropy itself is src/model/arithmetic's, which compares its own with the same file; here, how it is summed up.
TEST(Verl, EntropyLoss) {
  for (const json& from : golden()["entropies"]) {
    const auto entropy = doubles(from["entropy"]);
    const auto count = static_cast<std::int64_t>(entropy.size());
    const auto weights = token_weights(std::vector<std::uint8_t>(entropy.size(), 1),
                                       std::vector<std::int64_t>{0, count}, LossMean::tokens, count, 1);
    expect_near(std::inner_product(weights.begin(), weights.end(), entropy.begin(), 0.0), from["loss"], "entropy");
  }
}

}  // namespace
}  // namespace kw
