// Advantages, losses and their gradients against what VERL computes (tests/train/verl.json, by scripts/verl_golden.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/file.h"
#include "train/advantage.h"
#include "train/kl.h"
#include "train/policy_loss.h"

namespace kw {
namespace {

using nlohmann::json;

const json& golden() {
  static const json file = json::parse(read_file(std::string(KW_SOURCE_ROOT) + "/tests/train/verl.json").value());
  return file;
}

std::vector<double> doubles(const json& list) { return list.get<std::vector<double>>(); }
std::vector<float> floats(const json& list) { return list.get<std::vector<float>>(); }

struct Case {
  explicit Case(const json& from) : mask(from["mask"].get<std::vector<std::uint8_t>>()), starts{0} {
    for (const std::int64_t length : from["lengths"]) starts.push_back(starts.back() + length);
    tokens = std::accumulate(mask.begin(), mask.end(), std::int64_t{0});
    const std::string mode = from["mode"];
    const LossMean mean = mode == "token-mean"           ? LossMean::tokens
                          : mode == "seq-mean-token-sum" ? LossMean::answers_token_sum
                                                         : LossMean::answers_token_mean;
    weights = token_weights(mask, starts, mean, tokens, static_cast<std::int64_t>(starts.size()) - 1);
  }
  std::vector<std::uint8_t> mask;
  std::vector<std::int64_t> starts;
  std::int64_t tokens = 0;
  std::vector<double> weights;
};

void expect_near(const std::vector<double>& ours, const json& theirs, double bound,
                 const std::vector<std::uint8_t>* mask = nullptr) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (mask != nullptr && (*mask)[i] == 0) continue;
    EXPECT_NEAR(ours[i], theirs[i].get<double>(), bound) << i;
  }
}

TEST(Verl, GeneralisedAdvantages) {
  for (const json& from : golden()["cases"]) {
    const Case one(from);
    auto made = generalised_advantages(doubles(from["rewards"]), doubles(from["values"]), one.mask, one.starts,
                                       from["gamma"], from["lambda"]);
    expect_near(made.returns, from["returns"], 1e-12);
    whiten(made.advantages, one.mask);
    expect_near(made.advantages, from["gae_whitened"], 1e-7, &one.mask);
  }
}

TEST(Verl, GroupAdvantages) {
  for (const json& from : golden()["cases"]) {
    const auto scores = doubles(from["scores"]);
    const auto group = from["group"].get<std::vector<std::int64_t>>();
    // VERL computes them in float32.
    expect_near(group_advantages(scores, group, GroupBaseline::grpo), from["grpo"], 1e-6);
    expect_near(group_advantages(scores, group, GroupBaseline::dr_grpo), from["dr_grpo"], 1e-6);
    expect_near(group_advantages(scores, group, GroupBaseline::leave_one_out), from["rloo"], 1e-6);
  }
}

// VERL adds 1e-8 to a denominator in one of the means.
constexpr double nearly = 3e-8;

TEST(Verl, PolicyLossAndItsGradient) {
  for (const json& from : golden()["cases"]) {
    const Case one(from);
    const ClipOptions clip{from["low"], from["high"], from["dual"]};
    const auto made = policy_loss(floats(from["log_prob"]), floats(from["old"]), doubles(from["advantages"]), one.mask,
                                  one.weights, clip);
    EXPECT_NEAR(made.loss, from["loss"].get<double>(), nearly);
    EXPECT_NEAR(made.clipped, from["clipped"].get<double>(), 1e-7);
    EXPECT_NEAR(made.clipped_dual, from["clipped_dual"].get<double>(), 1e-7);
    EXPECT_NEAR(made.kl, from["kl"].get<double>(), nearly);
    expect_near(made.d_log_prob, from["d_log_prob"], nearly);
  }
}

TEST(Verl, ValueLossAndItsGradient) {
  for (const json& from : golden()["cases"]) {
    const Case one(from);
    const auto made = value_loss(floats(from["predicted"]), floats(from["values"]), doubles(from["returns"]), one.mask,
                                 one.weights, from["clip_value"]);
    EXPECT_NEAR(made.loss, from["value_loss"].get<double>(), nearly);
    EXPECT_NEAR(made.clipped, from["value_clipped"].get<double>(), 1e-7);
    expect_near(made.d_value, from["d_value"], nearly);
  }
}

TEST(Verl, KlEstimatorsAndController) {
  for (const json& from : golden()["cases"]) {
    const auto log_prob = floats(from["log_prob"]), reference = floats(from["reference"]);
    for (const char* name : {"k1", "k2", "k3"}) {
      std::vector<double> ours;
      for (std::size_t i = 0; i < log_prob.size(); ++i)
        ours.push_back(kl_term(*kl_estimator_from(name), log_prob[i], reference[i]).value);
      expect_near(ours, from["kls"][name], 1e-12);
    }
  }
  for (const json& from : golden()["controllers"]) {
    AdaptiveKl controller;
    controller.update(from["kl"], from["answers"]);
    EXPECT_NEAR(controller.coefficient, from["coefficient"].get<double>(), 1e-15);
  }
}

}  // namespace
}  // namespace kw
