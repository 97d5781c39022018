#pragma once
// What an experiment is, as a person writes it in YAML or JSON (docs/experiments.md has an example). It does not change
// once the experiment is made: the guarantees hold for what was written down before the first request.

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "app/experiment/metric.h"
#include "base/result.h"

namespace kw {

inline constexpr std::size_t max_definition_bytes = 64u << 10;
inline constexpr std::size_t max_arms = 8;
inline constexpr std::size_t max_ramp_stages = 16;
inline constexpr std::size_t max_experiment_text_bytes = 256;  // names, salts, agents, users, requests

struct ExperimentArm {
  std::string name;
  std::string agents;  // the set of agents that answers: whatever the service calls it, e.g. a folder of a run
  double weight = 0;   // its share of the users who take part

  friend bool operator==(const ExperimentArm&, const ExperimentArm&) = default;
};

// A metric on which a candidate must not be worse than the control. `tolerance` and `margin` are differences of a rate
// (0.01: one request of a hundred) or relative changes of a ratio (0.1: a tenth slower).
struct Guardrail {
  Metric metric = Metric::correct;
  double tolerance = 0;  // shown to be worse by more than this: rolled back
  double margin = 0;     // for everybody to get the candidate, it must be shown to be worse by less than this

  friend bool operator==(const Guardrail&, const Guardrail&) = default;
};

enum class PromoteWhen { better, not_worse, by_hand };
enum class AnalysisUnit { request, user };

struct ExperimentDefinition {
  std::string name;
  std::string salt;  // the name unless given; GrowthBook's seed
  int hash_version = 2;
  std::vector<ExperimentArm> arms;                         // the first is the control, the others are candidates
  std::vector<double> ramp_percent = {1, 5, 25, 50, 100};  // of users that take part, stage by stage
  int requests_per_stage = 100;                            // outcomes of each candidate in a stage, at least
  Metric goal = Metric::correct;
  PromoteWhen promote = PromoteWhen::better;
  AnalysisUnit unit = AnalysisUnit::user;  // only the first request of each user is compared
  double false_alarm = 0.05;               // probability of any wrong decision between arms that are equal
  std::vector<Guardrail> guardrails = default_guardrails();
  double outcome_deadline_s = 3600;  // an exposure that has no outcome by then is an error of its arm

  std::size_t candidates() const { return arms.size() - 1; }

  static std::vector<Guardrail> default_guardrails();
  friend bool operator==(const ExperimentDefinition&, const ExperimentDefinition&) = default;
};

// Any bytes: a definition that keeps all bounds, or an error with line and column. `file` is for messages.
Result<ExperimentDefinition> parse_experiment(std::string_view yaml, const std::string& file);
Result<ExperimentDefinition> load_experiment(const std::filesystem::path& file);

// Reads back equal, with every default written out.
nlohmann::ordered_json to_json(const ExperimentDefinition& definition);

std::string_view to_string(PromoteWhen promote);
std::string_view to_string(AnalysisUnit unit);

}  // namespace kw
