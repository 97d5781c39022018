#include "app/experiment/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/experiment/bucketing.h"
#include "app/experiment/sample_ratio.h"
#include "base/check.h"

namespace kw {
namespace {

constexpr double goal_part_of_false_alarm = 0.2;

constexpr std::array<std::pair<ExperimentState, std::string_view>, 6> state_names = {{
    {ExperimentState::draft, "draft"},
    {ExperimentState::running, "running"},
    {ExperimentState::waiting, "waiting"},
    {ExperimentState::promoted, "promoted"},
    {ExperimentState::rolled_back, "rolled back"},
    {ExperimentState::aborted, "aborted"},
}};

// All looks count as one: the evidence against a claim's opposite, once there, stays valid.
bool shown(const MeanBet& claim, const GainCounts& counts, double alpha) {
  return claim.log_evidence(counts) >= std::log(1 / alpha);
}

std::string average_text(Metric metric, const ArmTotals& totals) {
  const auto index = static_cast<std::size_t>(metric);
  if (describe(metric).kind == MetricKind::rate)
    return fmt::format("{:.0f} of {}", totals.sums[index], totals.measured[index]);
  return fmt::format("{:.4g} over {}", totals.average(metric), totals.measured[index]);
}

}  // namespace

std::string_view to_string(ExperimentState state) {
  for (const auto& [value, name] : state_names)
    if (value == state) return name;
  KW_CHECK(false);
  return {};
}

std::optional<ExperimentState> experiment_state_named(std::string_view name) {
  for (const auto& [value, known] : state_names)
    if (known == name) return value;
  return {};
}

bool is_active(ExperimentState state) { return state == ExperimentState::running || state == ExperimentState::waiting; }

ArmChoice choose_arm(const ExperimentDefinition& definition, const Standing& standing, std::string_view user) {
  if (standing.state == ExperimentState::promoted) return {standing.winner, false};
  if (!is_active(standing.state)) return {};
  std::vector<double> weights;
  for (const auto& arm : definition.arms) weights.push_back(arm.weight);
  const auto ranges =
      bucket_ranges(static_cast<int>(weights.size()), definition.ramp_percent[standing.stage] / 100, weights);
  const auto bucket = bucket_of(definition.salt, user, definition.hash_version);
  KW_CHECK(bucket.has_value());
  const auto arm = arm_of_bucket(*bucket, ranges);
  if (!arm || standing.stopped[*arm]) return {};
  return {*arm, true};
}

Controller::Controller(const ExperimentDefinition& definition)
    : definition_(definition),
      guardrail_alpha_((1 - goal_part_of_false_alarm) * definition.false_alarm /
                       static_cast<double>(definition.guardrails.size() * definition.candidates())),
      goal_alpha_(goal_part_of_false_alarm * definition.false_alarm / static_cast<double>(definition.candidates())),
      better_(Claim::above, 0) {
  double largest_weight = 0;
  for (std::size_t arm = 1; arm < definition.arms.size(); ++arm)
    largest_weight = std::max(largest_weight, definition.arms[arm].weight);
  for (const Guardrail& guardrail : definition.guardrails) {
    GuardrailBets bets{MeanBet(Claim::below, -gain_from_change(guardrail.metric, guardrail.tolerance)), {}, {}};
    for (std::size_t stage = 0; stage < definition.ramp_percent.size(); ++stage) {
      // The harm that all users together may suffer is the margin; a small share of them may suffer more.
      const bool last = stage + 1 == definition.ramp_percent.size();
      const double next_share = last ? 1 : definition.ramp_percent[stage + 1] / 100 * largest_weight;
      const double change = guardrail.margin / next_share;
      const double gain = std::min(gain_from_change(guardrail.metric, change), 0.99);
      bets.bearable.emplace_back(Claim::above, -gain);
      bets.bearable_change.push_back(change_from_gain(guardrail.metric, gain));
    }
    guardrails_.push_back(std::move(bets));
  }
}

std::string Controller::comparison_text(std::size_t arm, Metric metric, double alpha, const TrialCounts& counts) const {
  const GainCounts& gains = counts.against_control(arm).gains(metric);
  const Interval interval = confidence_sequence(gains, alpha);
  return fmt::format("{} of {}: {}, of {}: {}; gain {:+.3f}, between {:+.3f} and {:+.3f} in {} pairs",
                     describe(metric).name, definition_.arms[arm].name, average_text(metric, counts.arm(arm)),
                     definition_.arms[0].name, average_text(metric, counts.arm(0)),
                     change_from_gain(metric, gains.mean()), change_from_gain(metric, interval.low),
                     change_from_gain(metric, interval.high), gains.count());
}

std::optional<Transition> Controller::stop_arms(const Standing& standing, const TrialCounts& counts) const {
  for (std::size_t arm = 1; arm < definition_.arms.size(); ++arm) {
    if (standing.stopped[arm]) continue;
    for (std::size_t i = 0; i < guardrails_.size(); ++i) {
      const Guardrail& guardrail = definition_.guardrails[i];
      if (!shown(guardrails_[i].worse, counts.against_control(arm).gains(guardrail.metric), guardrail_alpha_)) continue;
      Transition transition{standing, "stop arm", ""};
      transition.to.stopped[arm] = true;
      const auto others = std::ranges::count(transition.to.stopped, false) - 1;  // without the control
      if (others == 0) {
        transition.to.state = ExperimentState::rolled_back;
        transition.action = "roll back";
      }
      transition.reason = fmt::format("{} is worse than {} allows, by more than {}. {}", definition_.arms[arm].name,
                                      describe(guardrail.metric).name, guardrail.tolerance,
                                      comparison_text(arm, guardrail.metric, 2 * guardrail_alpha_, counts));
      return transition;
    }
  }
  return {};
}

std::optional<std::string> Controller::ratio_problem(const Standing& standing, const TrialCounts& counts) const {
  std::vector<std::int64_t> users;
  std::vector<double> weights;
  std::string text;
  for (std::size_t arm = 0; arm < definition_.arms.size(); ++arm) {
    if (standing.stopped[arm]) continue;
    users.push_back(counts.arm(arm).users);
    weights.push_back(definition_.arms[arm].weight);
    text += fmt::format("{}{} for {}", text.empty() ? "" : " : ", users.back(), weights.back());
  }
  if (!sample_ratio_is_off(users, weights)) return {};
  return "sample ratio mismatch: users for weights are " + text + "; assignment or logging is broken";
}

std::optional<std::string> Controller::unsure_about(std::size_t arm, std::size_t stage,
                                                    const TrialCounts& counts) const {
  for (std::size_t i = 0; i < guardrails_.size(); ++i) {
    const Metric metric = definition_.guardrails[i].metric;
    const auto& bearable = guardrails_[i].bearable[stage];
    if (shown(bearable, counts.against_control(arm).gains(metric), definition_.false_alarm)) continue;
    return fmt::format("{} of {} may be worse by {:.3g} or more", describe(metric).name, definition_.arms[arm].name,
                       guardrails_[i].bearable_change[stage]);
  }
  return {};
}

Transition Controller::promote_or_wait(const Standing& standing, const TrialCounts& counts) const {
  Transition wait{standing, "wait", ""};
  wait.to.state = ExperimentState::waiting;
  std::optional<std::size_t> best;
  for (std::size_t arm = 1; arm < definition_.arms.size(); ++arm) {
    if (standing.stopped[arm]) continue;
    const auto& gains = counts.against_control(arm).gains(definition_.goal);
    if (const auto doubt = unsure_about(arm, standing.stage, counts)) {
      wait.reason += (wait.reason.empty() ? "" : "; ") + *doubt;
    } else if (definition_.promote == PromoteWhen::better && !shown(better_, gains, goal_alpha_)) {
      wait.reason += fmt::format("{}{} of {} is not shown to be better", wait.reason.empty() ? "" : "; ",
                                 describe(definition_.goal).name, definition_.arms[arm].name);
    } else if (!best || gains.mean() > counts.against_control(*best).gains(definition_.goal).mean()) {
      best = arm;
    }
  }
  if (!best) return wait;
  if (definition_.promote == PromoteWhen::by_hand) {
    wait.reason = fmt::format("{} may be promoted, by hand", definition_.arms[*best].name);
    return wait;
  }
  Transition promote{standing, "promote", ""};
  promote.to.state = ExperimentState::promoted;
  promote.to.winner = *best;
  promote.reason = comparison_text(*best, definition_.goal, 2 * goal_alpha_, counts);
  return promote;
}

std::optional<Transition> Controller::decide(const Standing& standing, const TrialCounts& counts) const {
  KW_CHECK(standing.stopped.size() == definition_.arms.size() && standing.stage < definition_.ramp_percent.size());
  if (!is_active(standing.state)) return {};
  if (auto stopped = stop_arms(standing, counts)) return stopped;

  Transition next{standing, "wait", ""};
  next.to.state = ExperimentState::waiting;
  const bool last_stage = standing.stage + 1 == definition_.ramp_percent.size();
  if (auto problem = ratio_problem(standing, counts)) {
    next.reason = std::move(*problem);
  } else {
    for (std::size_t arm = 1; arm < definition_.arms.size(); ++arm)
      if (!standing.stopped[arm] && counts.arm(arm).outcomes_at_stage[standing.stage] < definition_.requests_per_stage)
        return {};
    if (last_stage) {
      next = promote_or_wait(standing, counts);
    } else {
      for (std::size_t arm = 1; arm < definition_.arms.size() && next.reason.empty(); ++arm)
        if (!standing.stopped[arm]) next.reason = unsure_about(arm, standing.stage, counts).value_or("");
      if (next.reason.empty()) {
        next.action = "ramp";
        next.to.state = ExperimentState::running;
        ++next.to.stage;
        next.reason = fmt::format("{} requests of each candidate at {} % and no guardrail is in doubt for {} %",
                                  definition_.requests_per_stage, definition_.ramp_percent[standing.stage],
                                  definition_.ramp_percent[next.to.stage]);
      }
    }
  }
  if (next.to == standing) return {};  // waits already
  return next;
}

}  // namespace kw
