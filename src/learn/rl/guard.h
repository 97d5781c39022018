#pragma once
// Notices when learning goes wrong: the policy runs away from its start, stops exploring (or babbles), forgets what it
// could, or has no gradient any more. First the learning rate is lowered, then the run is stopped, each with a sentence
// that says why. Judges by what it was shown; state is kept in checkpoints.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/result.h"

namespace kw {

struct GuardOptions {
  double most_kl = 0.5;        // nats a token from the start
  double least_entropy = 0.1;  // share of what it was at first
  double most_entropy = 5;     // the same
  double most_fall = 0.5;      // share of the best pass rate that may be lost
  int first_steps = 5;         // that say what is normal
  int patience = 3;            // bad steps in a row before anything is done
  double cut = 0.5;            // of the learning rate, each time
  int most_cuts = 3;           // then the run is stopped
};

struct StepSigns {
  std::optional<double> kl;  // from the start; none: not measured
  double entropy = 0;
  double pass_rate = 0;
  int tier = 0;          // pass rates of different tiers are not compared
  bool skipped = false;  // the gradient was not finite
};

enum class GuardAction : std::uint8_t { none, lower_rate, stop };

struct GuardAdvice {
  GuardAction action = GuardAction::none;
  std::string message;
};

class CollapseGuard {
 public:
  explicit CollapseGuard(const GuardOptions& options) : options_(options) {}

  GuardAdvice look(const StepSigns& signs);
  double rate_share() const { return rate_share_; }  // of the learning rate

  nlohmann::ordered_json state() const;
  Result<void> restore(const nlohmann::ordered_json& state);

 private:
  std::string problem_of(const StepSigns& signs) const;

  GuardOptions options_;
  int steps_ = 0;
  double first_entropy_ = 0;  // sum, then mean over the first steps
  double pass_rate_ = 0;      // smoothed
  double best_pass_rate_ = 0;
  int tier_ = 0;
  int tier_steps_ = 0;
  int bad_ = 0;
  int cuts_ = 0;
  double rate_share_ = 1;
};

}  // namespace kw
