#pragma once
// Experiments with made-up requests whose truth is known: how often the controller is wrong, and how soon it is right.
// Users are split by the real hash, outcomes go through the real counts, and the controller looks after every request.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "app/experiment/definition.h"

namespace kw {

struct ArmBehaviour {
  double correct = 0.9;  // probabilities for a request
  double error = 0.01;
  double latency_factor = 1;  // of a median of 8 s, log-normal with sigma 0.6
};

// What a simulated experiment is counted for.
enum class SimulationCount {
  any_decision,     // rolled back or promoted; between equal arms a mistake
  z_test,           // a z test of the correct rate at 5 %, looked at after every request, finds a difference
  rolled_back,      // within `within` requests of both arms together
  rolled_back_own,  // within `within` requests of the candidate
  promoted,         // within `within` requests of both arms together
  ratio_mismatch,   // found within `within` exposures
};

struct SimulationScenario {
  std::string_view name;
  SimulationCount count = SimulationCount::any_decision;
  int within = 0;
  double share_at_most = 1, share_at_least = 0;  // what is promised; 1 and 0: nothing
  ArmBehaviour control = {}, candidate = {};
  bool ramp = false;          // 1, 5, 25, 50, 100 % with 100 requests each; otherwise 100 % from the start
  int requests_per_user = 1;  // more: users differ, half of them never get a correct kernel
  AnalysisUnit unit = AnalysisUnit::user;
  double candidate_share = 0.5;  // of exposures that are logged: a planted mismatch
};

std::span<const SimulationScenario> simulation_scenarios();

struct SimulationResult {
  int experiments = 0;
  int counted = 0;
  double median_requests = 0, most_requests = 0;  // until it was counted: of half, of 95 % of those that were
  double share() const { return experiments == 0 ? 0 : static_cast<double>(counted) / experiments; }
};

bool keeps_promise(const SimulationScenario& scenario, const SimulationResult& result);

// Reproducible from the seed. `each` is called after each experiment; false stops.
SimulationResult simulate(const SimulationScenario& scenario, int experiments, std::uint64_t seed,
                          const std::function<bool()>& each = {});

}  // namespace kw
