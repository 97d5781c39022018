#include "model/decoder/trainable_part.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "model/weights/nf4.h"

namespace kw {
namespace {

std::vector<float> random_floats(std::size_t count, double deviation, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal() * deviation);
  return values;
}

template <class T>
std::span<T> array(TrainablePart& part, const std::string& name) {
  for (const auto& found : part.arrays()) {
    if (found.name == name) return {reinterpret_cast<T*>(found.bytes.data()), found.bytes.size() / sizeof(T)};
  }
  return {};
}

// One step from zero moments: an 8-bit moment is the value of the map nearest to what 32 bits hold.
TEST(TrainablePart, EightBitMomentsAreTheNearestOfTheMap) {
  ThreadTeam team(2);
  const std::size_t count = 1000;
  std::vector<float> narrow = random_floats(count, 1, 1), wide = narrow;
  const std::vector<float> gradient = random_floats(count, 0.1, 2);
  TrainablePart eight("p", narrow, {}, true), full("p", wide, {}, false);
  for (TrainablePart* part : {&eight, &full}) {
    std::ranges::copy(gradient, part->gradient().begin());
    part->move(team, {.learning_rate = 0.01f});
    EXPECT_EQ(part->steps, 1);
  }
  EXPECT_EQ(narrow, wide);  // the first step sees exact moments
  const auto codes = array<std::uint8_t>(eight, "p.first_moment.codes");
  const auto largest = array<float>(eight, "p.first_moment.largest");
  const auto first = array<float>(full, "p.first_moment");
  ASSERT_EQ(codes.size(), count);
  ASSERT_EQ(largest.size(), 4u);
  for (std::size_t i = 0; i < count; ++i) {
    const float relative = first[i] / largest[i / 256];
    float best = 2;
    for (const float value : dynamic_map()) best = std::min(best, std::fabs(relative - value));
    EXPECT_NEAR(std::fabs(relative - dynamic_map()[codes[i]]), best, 1e-6f) << i;
  }
  const auto roots = array<std::uint8_t>(eight, "p.second_moment.codes");
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(dynamic_map()[roots[i]] > 0, gradient[i] != 0) << i;
  }
}

// Many steps stay near those of 32 bits, and elements whose moment is far below their block's do not run away.
TEST(TrainablePart, EightBitStepsStayNear) {
  ThreadTeam team(2);
  const std::size_t count = 700;
  std::vector<float> narrow = random_floats(count, 1, 1), wide = narrow;
  const std::vector<float> before = narrow;
  TrainablePart eight("p", narrow, {{0, 300}}, true), full("p", wide, {{0, 300}}, false);
  for (int step = 0; step < 50; ++step) {
    std::vector<float> gradient = random_floats(count, 0.1, static_cast<std::uint64_t>(step) + 3);
    for (std::size_t i = 0; i < count; i += 7) gradient[i] *= 1e-6f;
    for (TrainablePart* part : {&eight, &full}) {
      std::ranges::copy(gradient, part->gradient().begin());
      part->move(team, {.learning_rate = 0.01f, .weight_decay = 0.1f});
    }
  }
  double moved = 0, apart = 0;
  for (std::size_t i = 0; i < count; ++i) {
    moved += std::fabs(static_cast<double>(wide[i] - before[i]));
    apart += std::fabs(static_cast<double>(wide[i] - narrow[i]));
    EXPECT_LT(std::fabs(narrow[i] - before[i]), 0.6f) << i;
  }
  EXPECT_LT(apart, 0.25 * moved);
}

TEST(TrainablePart, DecaysOnlyItsRanges) {
  ThreadTeam team(1);
  for (const bool eight_bit : {false, true}) {
    std::vector<float> values(600, 2.0f);
    TrainablePart part("p", values, {{10, 20}, {20, 30}, {500, 600}}, eight_bit);
    part.move(team, {.learning_rate = 0.5f, .weight_decay = 0.5f});
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool decays = (i >= 10 && i < 30) || i >= 500;
      EXPECT_FLOAT_EQ(values[i], decays ? 1.5f : 2.0f) << i;
    }
  }
}

// Muon moves its matrices and AdamW the rest, each as if it were alone; matrices decay, and the rest where it is said.
TEST(TrainablePart, MuonMovesItsMatricesOnly) {
  ThreadTeam team(2);
  const std::size_t count = 200;
  const std::vector<MuonMatrix> matrices{{10, 4, 6}, {34, 8, 5}, {100, 7, 7}};
  std::vector<float> together = random_floats(count, 1, 1), muon_alone = together, adamw_alone = together;
  TrainablePart part("p", together, {{0, 10}, {34, 90}, {95, 149}}, false, matrices);
  TrainablePart rest("p", adamw_alone, {{0, 10}, {74, 90}, {95, 100}}, false);
  std::vector<float> momentum(count);
  MuonScratch scratch;
  for (std::uint64_t step = 0; step < 3; ++step) {
    const std::vector<float> gradient = random_floats(count, 0.1, 2 + step);
    const AdamWStep adamw_step{.learning_rate = 0.01f, .weight_decay = 0.1f};
    const MuonStep muon_step{.learning_rate = 0.02f, .weight_decay = 0.1f};
    std::ranges::copy(gradient, part.gradient().begin());
    std::ranges::copy(gradient, rest.gradient().begin());
    part.move(team, adamw_step, muon_step);
    rest.move(team, adamw_step);
    muon(team, muon_step, matrices, muon_alone, gradient, momentum, scratch);
  }
  EXPECT_EQ(part.steps, 3);
  for (std::size_t i = 0; i < count; ++i) {
    const bool in_matrix = (i >= 10 && i < 74) || (i >= 100 && i < 149);
    EXPECT_EQ(together[i], in_matrix ? muon_alone[i] : adamw_alone[i]) << i;
  }
}

}  // namespace
}  // namespace kw
