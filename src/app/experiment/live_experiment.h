#pragma once
// One experiment while it runs: gives users their arm, keeps exposures and outcomes, and lets the controller decide
// after every outcome. This is what a service calls; it belongs to one thread at a time.
//
// What is decided is written in the transaction of the outcome that decided it. So after kill -9 an experiment stands
// where it stood, and open() counts the same again.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/experiment/controller.h"
#include "app/experiment/experiment_store.h"
#include "app/experiment/trial_counts.h"
#include "base/result.h"

namespace kw {

struct ExperimentRequest {
  std::string user;
  std::string request;  // the service's name for it; may be empty
};

struct Assignment {
  std::size_t arm = 0;
  std::string agents;
  std::int64_t exposure = 0;  // 0: takes no part, and no outcome is expected
};

struct RequestOutcome {
  std::int64_t exposure = 0;
  Outcome outcome;
};

class LiveExperiment {
 public:
  // Counts everything that is in the store. The store must live longer.
  static Result<LiveExperiment> open(ExperimentStore& store, std::string_view name);

  // Before an answer is made: who answers. Exposures are in the store when this returns. Of at most max_batch_rows
  // requests; a user or request of more than 256 bytes is an error, and so is an empty user.
  Result<std::vector<Assignment>> expose(std::span<const ExperimentRequest> requests, double now_s);

  // Afterwards: how it went, in the order in which it counts. What the controller decided is returned and in the audit
  // trail. Nothing is kept of a batch with an outcome that does not belong to an open exposure.
  Result<std::vector<Transition>> conclude(std::span<const RequestOutcome> outcomes, double now_s);

  // Exposures whose outcome never came, because a request hung or the service died, count as errors of their arm.
  // Returns how many; call it now and then.
  Result<std::int64_t> expire(double now_s);

  // By a person. Reasons are kept in the trail.
  Result<void> start(const std::string& actor, double now_s);
  Result<void> promote(std::string_view arm, const std::string& actor, const std::string& reason, double now_s);
  Result<void> abort(const std::string& actor, const std::string& reason, double now_s);

  // Reads what other processes wrote; the calls above do so by themselves.
  Result<void> catch_up();

  const ExperimentDefinition& definition() const { return record_.definition; }
  const Standing& standing() const { return record_.standing; }
  const ExperimentRecord& record() const { return record_; }
  const TrialCounts& counts() const { return counts_; }
  const Controller& controller() const { return *controller_; }

 private:
  LiveExperiment(ExperimentStore& store, ExperimentRecord record);
  bool counts_for_comparison(const OutcomeRow& row) const;
  Result<void> by_hand(const std::string& actor, double now_s, const std::function<Result<Transition>()>& to);

  ExperimentStore* store_;
  ExperimentRecord record_;
  std::unique_ptr<const Controller> controller_;
  TrialCounts counts_;
  std::int64_t last_exposure_ = 0, last_outcome_ = 0;  // that were counted
};

}  // namespace kw
