// The promises of docs/experiments.md at a reduced size; bench/results/experiments.md has them at full size.

#include "app/experiment/simulate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kw {
namespace {

// Few experiments leave room for chance: three standard errors.
void expect_promises(int experiments, std::uint64_t seed) {
  int promises = 0;
  for (const auto& scenario : simulation_scenarios()) {
    const bool promised = scenario.share_at_most < 1 || scenario.share_at_least > 0;
    if (!promised) continue;
    ++promises;
    const SimulationResult result = simulate(scenario, experiments, seed);
    EXPECT_EQ(result.experiments, experiments);
    const double slack = 3 * 0.22 / std::sqrt(experiments);
    EXPECT_LE(result.share(), scenario.share_at_most + slack) << scenario.name;
    EXPECT_GE(result.share(), scenario.share_at_least - slack) << scenario.name;
  }
  EXPECT_EQ(promises, 8);
}

TEST(Simulate, KeepsThePromisesAtASmallSize) { expect_promises(25, 11); }

TEST(SimulateSlow, KeepsThePromises) { expect_promises(200, 12); }

TEST(Simulate, IsReproducibleAndStopsWhenAsked) {
  const auto& scenario = simulation_scenarios()[6];
  const SimulationResult first = simulate(scenario, 10, 3), again = simulate(scenario, 10, 3);
  EXPECT_EQ(first.counted, again.counted);
  EXPECT_EQ(first.median_requests, again.median_requests);
  int calls = 0;
  EXPECT_EQ(simulate(scenario, 10, 3, [&] { return ++calls < 4; }).experiments, 4);
}

// What the machinery is for: a test that is not made for looking often is wrong a third of the time.
TEST(Simulate, ThePlainTestIsWrongMuchMoreOften) {
  for (const auto& scenario : simulation_scenarios())
    if (scenario.count == SimulationCount::z_test) {
      EXPECT_GT(simulate(scenario, 100, 4).share(), 0.15);
    }
}

}  // namespace
}  // namespace kw
