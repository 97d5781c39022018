#include "model/arithmetic/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/file.h"
#include "model/arithmetic/elementary.h"
#include "model/arithmetic/test_numbers.h"

namespace kw {
namespace {

// Distance in units in the last place of the float nearest to `exact`.
double ulps(float got, double exact) {
  const auto nearest = static_cast<float>(exact);
  const float next = std::nextafter(std::fabs(nearest), HUGE_VALF) - std::fabs(nearest);
  return std::fabs(static_cast<double>(got) - exact) / static_cast<double>(next);
}

TEST(Elementary, ExpIsWithinOneAndAHalfUnits) {
  double worst = 0;
  for (float x = -87; x < 88.5f; x += 0.00137f) {
    worst = std::max(worst, ulps(elementary::exp_of(x), std::exp(static_cast<double>(x))));
  }
  EXPECT_LT(worst, 1.5);
  EXPECT_EQ(elementary::exp_of(0), 1.0f);
  EXPECT_EQ(elementary::exp_of(-HUGE_VALF), 0.0f);
  EXPECT_EQ(elementary::exp_of(HUGE_VALF), HUGE_VALF);
  EXPECT_TRUE(std::isnan(elementary::exp_of(NAN)));
  EXPECT_LT(ulps(elementary::exp_of(-100), std::exp(-100.0)), 1.5);  // subnormal
}

TEST(Elementary, LogIsWithinOneUnit) {
  double worst = 0;
  for (float x = 1e-38f; x < 1e38f; x *= 1.00731f) {
    worst = std::max(worst, ulps(elementary::log_of(x), std::log(static_cast<double>(x))));
  }
  for (float x = 0.9f; x < 1.1f; x += 1e-5f) {
    worst = std::max(worst, ulps(elementary::log_of(x), std::log(static_cast<double>(x))));
  }
  EXPECT_LT(worst, 1);
  EXPECT_EQ(elementary::log_of(1), 0.0f);
  EXPECT_EQ(elementary::log_of(0), -HUGE_VALF);
  EXPECT_EQ(elementary::log_of(HUGE_VALF), HUGE_VALF);
  EXPECT_TRUE(std::isnan(elementary::log_of(-1)));
}

TEST(Rows, NormAndItsGradient) {
  ThreadTeam team(2);
  const std::int64_t rows = 3, width = 37;
  auto x = test_numbers(rows * width, 1);
  const auto weight = test_numbers(width, 2), dy = test_numbers(rows * width, 3),
             update = test_numbers(rows * width, 4);
  std::vector<float> y(rows * width), inverse(rows), dx(rows * width, 0.5f), dweight(width, 0.25f);
  rms_norm(team, rows, width, x.data(), weight.data(), 1e-5f, y.data(), inverse.data());
  rms_norm_gradient(team, rows, width, x.data(), weight.data(), inverse.data(), dy.data(), dx.data(), dweight.data());
  // The loss sum(dy * y) in double, as a function of x and weight.
  const auto loss = [&](const std::vector<float>& of, const std::vector<float>& times) {
    double sum = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (std::int64_t i = 0; i < width; ++i) squares += static_cast<double>(of[r * width + i]) * of[r * width + i];
      const double scale = 1 / std::sqrt(squares / width + 1e-5);
      for (std::int64_t i = 0; i < width; ++i) {
        const double value = of[r * width + i] * scale * times[i];
        if (&of == &x && &times == &weight) {
          EXPECT_NEAR(y[r * width + i], value, 1e-6);
        }
        sum += value * dy[r * width + i];
      }
    }
    return sum;
  };
  loss(x, weight);
  const float step = 0.0078125f;
  for (std::int64_t i = 0; i < rows * width; i += 5) {
    auto above = x, below = x;
    above[i] += step;
    below[i] -= step;
    EXPECT_NEAR(dx[i] - 0.5, (loss(above, weight) - loss(below, weight)) / (2 * step), 1e-3);
  }
  for (std::int64_t i = 0; i < width; i += 3) {
    auto above = weight, below = weight;
    above[i] += step;
    below[i] -= step;
    EXPECT_NEAR(dweight[i] - 0.25, (loss(x, above) - loss(x, below)) / (2 * step), 1e-3);
  }
  // residual += update, then the norm of that.
  std::vector<float> residual = x, sum = x, wanted(rows * width), got(rows * width);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += update[i];
  rms_norm(team, rows, width, sum.data(), weight.data(), 1e-5f, wanted.data(), nullptr);
  add_rms_norm(team, rows, width, residual.data(), update.data(), weight.data(), 1e-5f, got.data(), nullptr);
  EXPECT_EQ(first_difference(residual, sum), "");
  EXPECT_EQ(first_difference(got, wanted), "");
}

TEST(Rows, RotationTurnsPairsAndBack) {
  ThreadTeam team(2);
  const std::int64_t dim = 20, heads = 2, stride = heads * dim + 3;
  const RotaryTable table(dim, 10000, 50);
  const std::vector<std::int32_t> positions{0, 7, 49};
  const auto x = test_numbers(3 * stride, 5);
  auto turned = x;
  rotate(team, table, positions, turned.data(), stride, heads);
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t i = 0; i < heads * dim; ++i) {
      const std::int64_t pair = i % dim % (dim / 2), at = row * stride + i;
      const double angle = positions[row] * std::pow(10000.0, -2.0 * static_cast<double>(pair) / dim);
      const bool upper = i % dim >= dim / 2;
      const double other = upper ? x[at - dim / 2] : -x[at + dim / 2];
      EXPECT_NEAR(turned[at], x[at] * std::cos(angle) + other * std::sin(angle), 1e-5);
    }
    for (std::int64_t i = heads * dim; i < stride; ++i) EXPECT_EQ(turned[row * stride + i], x[row * stride + i]);
  }
  rotate(team, table, positions, turned.data(), stride, heads, true);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(turned[i], x[i], 1e-6);
}

TEST(Rows, SwigluAndItsGradient) {
  ThreadTeam team(2);
  const std::int64_t count = 45;
  auto gate = test_numbers(count, 6, 3), up = test_numbers(count, 7);
  const auto dy = test_numbers(count, 8);
  gate[0] = -200;
  gate[1] = 200;
  std::vector<float> y(count), dgate(count), dup(count);
  swiglu(team, 1, count, gate.data(), up.data(), y.data());
  swiglu_gradient(team, 1, count, gate.data(), up.data(), dy.data(), dgate.data(), dup.data());
  for (std::int64_t i = 0; i < count; ++i) {
    const double g = gate[i], s = 1 / (1 + std::exp(-g));
    EXPECT_NEAR(y[i], g * s * up[i], 1e-6 * (1 + std::fabs(g)));
    EXPECT_NEAR(dup[i], g * s * dy[i], 1e-6 * (1 + std::fabs(g)));
    EXPECT_NEAR(dgate[i], dy[i] * up[i] * (s + g * s * (1 - s)), 5e-6);
  }
  std::vector<float> in_place_gate = gate, in_place_up = up;
  swiglu_gradient(team, 1, count, in_place_gate.data(), in_place_up.data(), dy.data(), in_place_gate.data(),
                  in_place_up.data());
  EXPECT_EQ(first_difference(in_place_gate, dgate), "");
  EXPECT_EQ(first_difference(in_place_up, dup), "");
}

TEST(Rows, TokenScoresAndTheirGradient) {
  const std::int64_t width = 70, usable = 67;
  const float cold = 1.25f;
  auto logits = test_numbers(width, 9, 4);
  logits[68] = 1000;  // beyond what is usable
  const auto exact = [&](const std::vector<float>& z, double& entropy) {
    double sum = 0, moment = 0;
    for (std::int64_t i = 0; i < usable; ++i) sum += std::exp(static_cast<double>(z[i]) * cold);
    for (std::int64_t i = 0; i < usable; ++i) {
      const double p = std::exp(static_cast<double>(z[i]) * cold) / sum;
      moment -= p * std::log(p);
    }
    entropy = moment;
    return z[11] * static_cast<double>(cold) - std::log(sum);
  };
  double entropy = 0;
  const double log_prob = exact(logits, entropy);
  const TokenScore score = score_token(logits.data(), usable, cold, 11);
  EXPECT_NEAR(score.log_prob, log_prob, 1e-5);
  EXPECT_NEAR(score.entropy, entropy, 1e-5);
  EXPECT_NEAR(score.log_prob, logits[11] * cold - score.log_sum, 1e-5);
  auto gradient = logits;
  score_token_gradient(gradient.data(), usable, width, cold, 11, score, 0.7f, -0.3f);
  for (std::int64_t i = 0; i < usable; ++i) {
    auto above = logits, below = logits;
    above[i] += 0.0078125f;
    below[i] -= 0.0078125f;
    double high = 0, low = 0;
    const double slope = 0.7 * (exact(above, high) - exact(below, low)) - 0.3 * (high - low);
    EXPECT_NEAR(gradient[i], slope / 0.015625, 1e-4) << i;
  }
  for (std::int64_t i = usable; i < width; ++i) EXPECT_EQ(gradient[i], 0.0f);
  // A logit of minus infinity is a token that cannot come: no NaN from it.
  logits[3] = -HUGE_VALF;
  const TokenScore masked = score_token(logits.data(), usable, cold, 11);
  EXPECT_TRUE(std::isfinite(masked.log_prob) && std::isfinite(masked.entropy));
  score_token_gradient(logits.data(), usable, width, cold, 11, masked, 0.7f, -0.3f);
  EXPECT_EQ(logits[3], 0.0f);
}

// tests/train/verl.json, by scripts/verl_golden.py: entropies and log-probabilities as VERL takes them, at the
// temperature of the sampler.
TEST(Rows, TokenScoresAreThoseOfVerl) {
  const auto golden = nlohmann::json::parse(read_file(std::string(KW_SOURCE_ROOT) + "/tests/train/verl.json").value());
  for (const auto& from : golden["entropies"]) {
    const auto temperature = from["temperature"].get<float>();
    const auto rows = static_cast<double>(from["tokens"].size());
    for (std::size_t i = 0; i < from["tokens"].size(); ++i) {
      const auto logits = from["logits"][i].get<std::vector<float>>();
      const auto width = static_cast<std::int64_t>(logits.size());
      const auto token = from["tokens"][i].get<std::int32_t>();
      const TokenScore score = score_token(logits.data(), width, 1 / temperature, token);
      const auto log_prob = from["log_prob"][i].get<double>();
      // The exponential of a logit of 60 is known to 60 units of its last place.
      const double largest = *std::ranges::max_element(logits, {}, [](float logit) { return std::abs(logit); });
      const double bound = std::max(1e-6, 0x1p-24 * std::abs(largest) / static_cast<double>(temperature));
      EXPECT_NEAR(score.entropy, from["entropy"][i].get<double>(), bound);
      EXPECT_NEAR(score.log_prob, log_prob, 1e-6 * std::max(1.0, std::abs(log_prob)));
      auto by_entropy = logits, by_log_prob = logits;
      score_token_gradient(by_entropy.data(), width, width, 1 / temperature, token, score, 0,
                           static_cast<float>(1 / rows));
      score_token_gradient(by_log_prob.data(), width, width, 1 / temperature, token, score, 1, 0);
      for (std::size_t n = 0; n < logits.size(); ++n) {
        EXPECT_NEAR(by_entropy[n], from["d_logits"][i][n].get<double>(), bound);
        EXPECT_NEAR(by_log_prob[n], from["d_log_prob"][i][n].get<double>(), bound);
      }
    }
  }
}

TEST(Rows, SumOfSquares) {
  ThreadTeam team(2);
  const auto values = test_numbers(100003, 10);
  double wanted = 0;
  for (const float value : values) wanted += static_cast<double>(value) * value;
  EXPECT_NEAR(sum_of_squares(team, values), wanted, 1e-9 * wanted);
  ThreadTeam one(1);
  EXPECT_EQ(sum_of_squares(one, values), sum_of_squares(team, values));
}

TEST(Rows, UnitsAgree) {
  ThreadTeam team(2);
  for (const std::int64_t width : {1, 15, 16, 17, 31, 33, 64, 130}) {
    for (const std::int64_t rows : {1, 5, 400}) {
      const std::int64_t size = rows * width;
      const auto x = test_numbers(size, 11), other = test_numbers(size, 12, 8), weight = test_numbers(width, 13);
      expect_equal_on_all_units(
          [&] {
            std::vector<float> y(size), residual = x, inverse(rows), dx = other, dweight(width), a(size), b(size);
            rms_norm(team, rows, width, x.data(), weight.data(), 1e-6f, y.data(), inverse.data());
            rms_norm_gradient(team, rows, width, x.data(), weight.data(), inverse.data(), other.data(), dx.data(),
                              dweight.data());
            add_rms_norm(team, rows, width, residual.data(), other.data(), weight.data(), 1e-6f, a.data(),
                         inverse.data());
            std::vector<float> all;
            const auto append = [&](const std::vector<float>& more) {
              all.insert(all.end(), more.begin(), more.end());
            };
            for (const auto* each : {&y, &residual, &inverse, &dx, &dweight, &a}) append(*each);
            swiglu(team, rows, width, other.data(), x.data(), y.data());
            swiglu_gradient(team, rows, width, other.data(), x.data(), x.data(), a.data(), b.data());
            for (const auto* each : {&y, &a, &b}) append(*each);
            const TokenScore score = score_token(other.data(), width, 0.9f, 0);
            append({score.log_prob, score.entropy, score.log_sum});
            std::vector<float> logits = other;
            score_token_gradient(logits.data(), width, size, 0.9f, 0, score, 0.5f, 0.25f);
            append(logits);
            append({static_cast<float>(sum_of_squares(team, x))});
            return all;
          },
          std::to_string(rows) + " x " + std::to_string(width));
    }
  }
  auto special = test_numbers(50, 15, 30);  // exponentials that underflow, tokens that cannot come
  special[7] = special[49] = -HUGE_VALF;
  special[8] = 90;
  expect_equal_on_all_units(
      [&] {
        const TokenScore score = score_token(special.data(), 50, 3, 8);
        std::vector<float> logits = special;
        score_token_gradient(logits.data(), 50, 50, 3, 8, score, 1, 1);
        logits.insert(logits.end(), {score.log_prob, score.entropy, score.log_sum});
        return logits;
      },
      "special values");
  for (const std::int64_t half : {1, 5, 16, 24, 32}) {
    const RotaryTable table(2 * half, 10000, 9);
    std::vector<std::int32_t> positions(9);
    std::iota(positions.begin(), positions.end(), 0);
    expect_equal_on_all_units(
        [&] {
          auto x = test_numbers(9 * 3 * 2 * half, 14);
          rotate(team, table, positions, x.data(), 6 * half, 3);
          rotate(team, table, std::span(positions).subspan(3, 2), x.data(), 6 * half, 3, true);
          return x;
        },
        "rotation of " + std::to_string(2 * half));
  }
}

}  // namespace
}  // namespace kw
