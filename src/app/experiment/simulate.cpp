#include "app/experiment/simulate.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "app/experiment/bucketing.h"
#include "app/experiment/controller.h"
#include "app/experiment/sample_ratio.h"
#include "app/experiment/trial_counts.h"
#include "base/random.h"
#include "base/statistics.h"

namespace kw {
namespace {

constexpr ArmBehaviour usual = {};
constexpr ArmBehaviour less_correct = {.correct = 0.7};
constexpr ArmBehaviour failing = {.correct = 0.82, .error = 0.1};
constexpr ArmBehaviour slower = {.latency_factor = 1.5};

// {name, count, within, at most, at least, control, candidate, ramp, requests per user, unit, candidate's share}
constexpr auto scenarios = std::to_array<SimulationScenario>({
    {"equal arms, 50:50", SimulationCount::any_decision, 2000, 0.05, 0, usual, usual},
    {"equal arms, with the ramp", SimulationCount::any_decision, 2000, 0.05, 0, usual, usual, true},
    {"equal arms, correct 50 %", SimulationCount::any_decision, 2000, 0.05, 0, {.correct = 0.5}, {.correct = 0.5}},
    {"equal arms, z test instead", SimulationCount::z_test, 2000, 1, 0, usual, usual},
    {"equal arms, users of 10 requests, unit request", SimulationCount::any_decision, 2000, 1, 0, usual, usual, false,
     10, AnalysisUnit::request},
    {"equal arms, users of 10 requests, unit user", SimulationCount::any_decision, 2000, 0.05, 0, usual, usual, false,
     10, AnalysisUnit::user},
    {"correct 90 -> 70 %, 50:50", SimulationCount::rolled_back, 400, 1, 0.95, usual, less_correct},
    {"correct 90 -> 70 %, with the ramp", SimulationCount::rolled_back_own, 250, 1, 0.95, usual, less_correct, true},
    {"errors 1 -> 10 %, 50:50", SimulationCount::rolled_back, 800, 1, 0, usual, failing},
    {"latency x 1.5, 50:50", SimulationCount::rolled_back, 800, 1, 0, usual, slower},
    {"correct 70 -> 90 %, with the ramp", SimulationCount::promoted, 4000, 1, 0, less_correct, usual, true},
    {"users 52:48 instead of 50:50", SimulationCount::ratio_mismatch, 20'000, 1, 0.95, usual, usual, false, 1,
     AnalysisUnit::request, 0.48},
    {"users 50:50", SimulationCount::ratio_mismatch, 20'000, sample_ratio_alpha, 0, usual, usual},
});

ExperimentDefinition definition_of(const SimulationScenario& scenario, std::uint64_t seed, int experiment) {
  ExperimentDefinition definition;
  definition.name = "simulated";
  definition.salt = fmt::format("{}/{}", seed, experiment);
  definition.arms = {{"control", "old", 0.5}, {"candidate", "new", 0.5}};
  if (!scenario.ramp) definition.ramp_percent = {100};
  definition.unit = scenario.unit;
  return definition;
}

Outcome draw_outcome(const ArmBehaviour& arm, bool hard_user, Random& random) {
  Outcome outcome;
  outcome.error = random.uniform() < arm.error;
  // `correct` is of all requests, so of those without an error it is a little more.
  outcome.correct = !outcome.error && !hard_user && random.uniform() < arm.correct / (1 - arm.error);
  outcome.compiled = outcome.correct || (!outcome.error && random.uniform() < 0.7);
  if (outcome.correct) outcome.speedup = std::exp(0.7 + 0.5 * random.normal());
  outcome.turns = static_cast<double>(random.integer(1, 6));
  outcome.latency_ms = 8000 * arm.latency_factor * std::exp(0.6 * random.normal());
  outcome.tokens = std::exp(7 + 0.5 * random.normal());
  return outcome;
}

// When an experiment was counted, in the unit of its scenario's `within`.
using CountedAt = std::optional<int>;

CountedAt run_controller(const SimulationScenario& scenario, const ExperimentDefinition& definition, Random random) {
  const Controller controller(definition);
  TrialCounts counts(definition.arms.size(), definition.ramp_percent.size());
  Standing standing{ExperimentState::running, 0, {false, false}, 0};
  int requests = 0, candidate_requests = 0, visitor = 0;
  const bool own = scenario.count == SimulationCount::rolled_back_own;
  while ((own ? candidate_requests : requests) < scenario.within) {
    const std::string user = fmt::format("user-{}", visitor++);
    const ArmChoice choice = choose_arm(definition, standing, user);
    if (!choice.takes_part) continue;
    counts.add_user(choice.arm);
    const bool hard_user = scenario.requests_per_user > 1 && random.uniform() < 0.5;
    for (int i = 0; i < scenario.requests_per_user; ++i) {
      ++requests;
      candidate_requests += choice.arm == 1;
      const Outcome outcome = draw_outcome(choice.arm == 1 ? scenario.candidate : scenario.control, hard_user, random);
      if (i > 0 && definition.unit == AnalysisUnit::user) continue;
      counts.add_outcome(choice.arm, standing.stage, outcome);
      while (const auto transition = controller.decide(standing, counts)) standing = transition->to;
    }
    const bool back = standing.state == ExperimentState::rolled_back,
               forward = standing.state == ExperimentState::promoted;
    if (!back && !forward) continue;
    const bool wanted =
        scenario.count == SimulationCount::any_decision || forward == (scenario.count == SimulationCount::promoted);
    return wanted ? CountedAt(own ? candidate_requests : requests) : CountedAt();
  }
  return {};
}

CountedAt run_z_test(const SimulationScenario& scenario, const ExperimentDefinition& definition, Random random) {
  constexpr double critical = 1.959964;
  double tried[2] = {}, correct[2] = {};
  for (int request = 1; request <= scenario.within; ++request) {
    const ArmChoice choice =
        choose_arm(definition, {ExperimentState::running, 0, {false, false}, 0}, fmt::format("user-{}", request));
    tried[choice.arm] += 1;
    correct[choice.arm] += random.uniform() < (choice.arm == 1 ? scenario.candidate : scenario.control).correct;
    if (tried[0] < 20 || tried[1] < 20) continue;
    const double pooled = (correct[0] + correct[1]) / (tried[0] + tried[1]);
    const double error = std::sqrt(pooled * (1 - pooled) * (1 / tried[0] + 1 / tried[1]));
    if (error > 0 && std::abs(correct[1] / tried[1] - correct[0] / tried[0]) > critical * error) return request;
  }
  return {};
}

CountedAt run_ratio_check(const SimulationScenario& scenario, const ExperimentDefinition& definition, Random random) {
  // Exposures of the candidate are lost now and then, as by a crash before the log is written.
  const double kept = scenario.candidate_share / (1 - scenario.candidate_share);
  std::vector<std::int64_t> users(2);
  int exposures = 0;
  for (int visitor = 0; exposures < scenario.within; ++visitor) {
    const double bucket = bucket_of(definition.salt, fmt::format("user-{}", visitor), definition.hash_version).value();
    const std::size_t arm = bucket < 0.5 ? 0 : 1;
    if (arm == 1 && kept < 1 && random.uniform() >= kept) continue;
    ++exposures;
    ++users[arm];
    if (sample_ratio_is_off(users, {0.5, 0.5})) return exposures;
  }
  return {};
}

CountedAt run_one(const SimulationScenario& scenario, const ExperimentDefinition& definition, Random random) {
  switch (scenario.count) {
    case SimulationCount::z_test:
      return run_z_test(scenario, definition, random);
    case SimulationCount::ratio_mismatch:
      return run_ratio_check(scenario, definition, random);
    default:
      return run_controller(scenario, definition, random);
  }
}

}  // namespace

std::span<const SimulationScenario> simulation_scenarios() { return scenarios; }

bool keeps_promise(const SimulationScenario& scenario, const SimulationResult& result) {
  return result.share() <= scenario.share_at_most && result.share() >= scenario.share_at_least;
}

SimulationResult simulate(const SimulationScenario& scenario, int experiments, std::uint64_t seed,
                          const std::function<bool()>& each) {
  SimulationResult result;
  std::vector<double> requests;
  for (int experiment = 0; experiment < experiments; ++experiment) {
    const Random random(seed, static_cast<std::uint64_t>(experiment));
    const CountedAt counted = run_one(scenario, definition_of(scenario, seed, experiment), random);
    ++result.experiments;
    if (counted) requests.push_back(*counted);
    if (each && !each()) break;
  }
  result.counted = static_cast<int>(requests.size());
  if (requests.empty()) return result;
  result.median_requests = median(requests);
  result.most_requests = quantile(requests, 0.95);
  return result;
}

}  // namespace kw
