#include "app/experiment/experiment_report.h"

#include <algorithm>
#include <cmath>

#include "app/experiment/sample_ratio.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json arm_json(const LiveExperiment& experiment, std::size_t index) {
  const ExperimentArm& arm = experiment.definition().arms[index];
  const ArmTotals& totals = experiment.counts().arm(index);
  Json metrics = Json::object();
  for (const auto& one : all_metrics()) metrics[std::string(one.name)] = number_or_null(totals.average(one.metric));
  return {{"name", arm.name},
          {"agents", arm.agents},
          {"weight", arm.weight},
          {"stopped", bool(experiment.standing().stopped[index])},
          {"users", totals.users},
          {"requests", totals.outcomes},
          {"requests_at_stage", totals.outcomes_at_stage[experiment.standing().stage]},
          {"metrics", std::move(metrics)}};
}

// Evidence for "worse than the tolerance" as a part of what rolls back, both as logarithms: 1 has rolled back.
double way_to_rollback(const LiveExperiment& experiment, const Guardrail& guardrail, std::size_t arm) {
  const MeanBet worse(Claim::below, -gain_from_change(guardrail.metric, guardrail.tolerance));
  const double evidence = worse.log_evidence(experiment.counts().against_control(arm).gains(guardrail.metric));
  return std::max(0.0, evidence / std::log(1 / experiment.controller().guardrail_alpha()));
}

Json comparison_json(const LiveExperiment& experiment, std::size_t arm, Metric metric) {
  const ExperimentDefinition& definition = experiment.definition();
  const GainCounts& gains = experiment.counts().against_control(arm).gains(metric);
  const Interval interval = confidence_sequence(gains, definition.false_alarm);
  Json json = {{"arm", definition.arms[arm].name},
               {"metric", describe(metric).name},
               {"pairs", gains.count()},
               {"gain", gains.count() == 0 ? Json() : Json(change_from_gain(metric, gains.mean()))},
               {"gain_low", change_from_gain(metric, interval.low)},
               {"gain_high", change_from_gain(metric, interval.high)},
               {"is_goal", metric == definition.goal}};
  for (const auto& guardrail : definition.guardrails)
    if (guardrail.metric == metric)
      json["guardrail"] = {{"tolerance", guardrail.tolerance},
                           {"margin", guardrail.margin},
                           {"way_to_rollback", way_to_rollback(experiment, guardrail, arm)}};
  return json;
}

Json sample_ratio_json(const LiveExperiment& experiment) {
  std::vector<std::int64_t> users;
  std::vector<double> weights;
  for (std::size_t arm = 0; arm < experiment.definition().arms.size(); ++arm) {
    if (experiment.standing().stopped[arm]) continue;
    users.push_back(experiment.counts().arm(arm).users);
    weights.push_back(experiment.definition().arms[arm].weight);
  }
  return {{"off", sample_ratio_is_off(users, weights)},
          {"log_evidence", sample_ratio_log_evidence(users, weights)},
          {"log_evidence_needed", std::log(1 / sample_ratio_alpha)}};
}

}  // namespace

nlohmann::ordered_json report_of(const LiveExperiment& experiment, const std::vector<AuditRow>& trail) {
  const ExperimentDefinition& definition = experiment.definition();
  const Standing& standing = experiment.standing();
  Json arms = Json::array(), comparisons = Json::array(), audit = Json::array();
  for (std::size_t arm = 0; arm < definition.arms.size(); ++arm) {
    arms.push_back(arm_json(experiment, arm));
    if (arm == 0) continue;
    for (const auto& one : all_metrics()) comparisons.push_back(comparison_json(experiment, arm, one.metric));
  }
  for (const auto& row : trail)
    audit.push_back({{"time_s", row.time_s},
                     {"actor", row.actor},
                     {"action", row.action},
                     {"from", row.from_state},
                     {"to", row.to_state},
                     {"stage", row.stage},
                     {"reason", row.reason}});
  const bool promoted = standing.state == ExperimentState::promoted;
  return {{"name", definition.name},
          {"state", to_string(standing.state)},
          {"stage", standing.stage},
          {"percent", is_active(standing.state) ? definition.ramp_percent[standing.stage] : 0.0},
          {"everybody_gets",
           is_active(standing.state) ? Json() : Json(definition.arms[promoted ? standing.winner : 0].name)},
          {"arms", std::move(arms)},
          {"comparisons", std::move(comparisons)},
          {"sample_ratio", sample_ratio_json(experiment)},
          {"definition", to_json(definition)},
          {"audit", std::move(audit)}};
}

}  // namespace kw
