#pragma once
// Decides after every outcome: go on, ramp up, wait, roll back, promote. A pure function of the definition, where the
// experiment stands, and the counts; so a restart, or another process, decides the same.
//
// Guarantees, for any number of looks (docs/experiments.md has the formulas):
// - a candidate that is not worse than the tolerances is rolled back, or one that is not better is called better, with
//   probability `false_alarm` at most, over all guardrails and candidates together: four fifths of it are divided among
//   the guardrails of all candidates, one fifth among the candidates' goals;
// - more users, or everybody, get a candidate that is worse than the margin allows with probability `false_alarm` at
//   most, over all stages together.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/experiment/betting.h"
#include "app/experiment/definition.h"
#include "app/experiment/trial_counts.h"

namespace kw {

enum class ExperimentState {
  draft,     // nobody takes part yet
  running,   // at a stage of the ramp
  waiting,   // at a stage, which has its requests, but they do not decide: inconclusive. It goes on by itself once they
             // do
  promoted,  // everybody gets the winner
  rolled_back,  // by a guardrail; everybody gets the control
  aborted,      // by a person; everybody gets the control
};

std::string_view to_string(ExperimentState state);
std::optional<ExperimentState> experiment_state_named(std::string_view name);
// Users take part and outcomes count.
bool is_active(ExperimentState state);

struct Standing {
  ExperimentState state = ExperimentState::draft;
  std::size_t stage = 0;      // of the ramp
  std::vector<bool> stopped;  // by arm: rolled back alone, while other candidates go on
  std::size_t winner = 0;     // the arm that everybody gets when promoted

  friend bool operator==(const Standing&, const Standing&) = default;
};

struct Transition {
  Standing to;
  std::string action;  // one word or two: "ramp", "wait", "stop arm", "roll back", "promote"
  std::string reason;  // in words, with the figures
};

// Who gets what.
struct ArmChoice {
  std::size_t arm = 0;
  bool takes_part = false;  // otherwise the arm answers, but nothing is counted
};

ArmChoice choose_arm(const ExperimentDefinition& definition, const Standing& standing, std::string_view user);

class Controller {
 public:
  explicit Controller(const ExperimentDefinition& definition);

  // After each outcome; nothing: go on as before. A promotion may follow a ramp with the next outcome.
  std::optional<Transition> decide(const Standing& standing, const TrialCounts& counts) const;

  double guardrail_alpha() const { return guardrail_alpha_; }
  double goal_alpha() const { return goal_alpha_; }

 private:
  struct GuardrailBets {
    MeanBet worse;                  // by more than the tolerance
    std::vector<MeanBet> bearable;  // by stage: worse by less than what the next share of the users allows
    std::vector<double> bearable_change;
  };

  std::optional<Transition> stop_arms(const Standing& standing, const TrialCounts& counts) const;
  std::optional<std::string> ratio_problem(const Standing& standing, const TrialCounts& counts) const;
  // What keeps a candidate from going to more users; nothing: it may.
  std::optional<std::string> unsure_about(std::size_t arm, std::size_t stage, const TrialCounts& counts) const;
  Transition promote_or_wait(const Standing& standing, const TrialCounts& counts) const;
  std::string comparison_text(std::size_t arm, Metric metric, double alpha, const TrialCounts& counts) const;

  ExperimentDefinition definition_;
  double guardrail_alpha_;
  double goal_alpha_;
  std::vector<GuardrailBets> guardrails_;
  MeanBet better_;
};

}  // namespace kw
