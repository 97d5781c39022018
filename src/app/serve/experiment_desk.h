#pragma once
// Experiments as the service runs them: who gets which agents, and how it went. Everything here takes the file's lock,
// so it belongs on a thread that may wait.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agents/episode/episode.h"
#include "app/experiment/live_experiment.h"
#include "app/serve/agent_sets.h"

namespace kw {

// Which agents answer a request, and what to report back. No experiment: nothing is reported.
struct AssignedAgents {
  std::string experiment;
  std::string agents;
  std::int64_t exposure = 0;
};

// How often an arm of the experiment that decides was chosen, for /metrics.
struct ArmCount {
  std::string experiment, arm;
  std::int64_t users = 0;
  std::int64_t requests = 0;  // whose outcome is known
  bool stopped = false;       // rolled back
};

class ExperimentDesk {
 public:
  static Result<std::unique_ptr<ExperimentDesk>> open(const std::filesystem::path& file, AgentSets& sets);

  // By the newest experiment that is active, or was promoted; none where there is no such one. The sets of its arms are
  // loaded when it is first seen and let go when it ends. An arm that cannot be loaded is an error of its arm, and the
  // user gets the default.
  std::optional<AssignedAgents> assign(const std::string& user, const std::string& request);
  void conclude(const AssignedAgents& assigned, const Outcome& outcome);

  Result<nlohmann::ordered_json> list();
  Result<nlohmann::ordered_json> show(const std::string& name);
  Result<nlohmann::ordered_json> create(const std::string& yaml, const std::string& actor);
  // "start", "promote" or "abort".
  Result<nlohmann::ordered_json> change(const std::string& name, const std::string& verb, const std::string& arm,
                                        const std::string& actor, const std::string& reason);
  // Exposures whose outcome never came; called now and then.
  void expire();
  // As they were after the last request, outcome or change. Does not wait for the file.
  std::vector<ArmCount> arms() const;

 private:
  explicit ExperimentDesk(ExperimentStore store, AgentSets& sets) : store_(std::move(store)), sets_(sets) {}
  Result<LiveExperiment*> live(const std::string& name);
  Result<LiveExperiment*> current();
  // Agents of arms that may still be given to users are loaded, others are let go.
  void keep_sets(const LiveExperiment* experiment);
  Result<void> load_arms(const std::string& name);
  void forget_start(const std::string& name);  // what load_arms() noted
  void note_arms(const LiveExperiment* experiment);

  std::mutex mutex_;
  ExperimentStore store_;
  AgentSets& sets_;
  std::map<std::string, std::unique_ptr<LiveExperiment>> live_;
  std::multiset<std::string> starting_;  // agents of experiments that are about to start
  mutable std::mutex arms_mutex_;
  std::vector<ArmCount> arms_;
  std::set<std::string> failed_;  // agents of the present experiment that could not be loaded: asked for once
};

// How a conversation counts.
Outcome outcome_of(const Episode& episode, double latency_ms);

}  // namespace kw
