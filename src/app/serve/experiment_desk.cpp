#include "app/serve/experiment_desk.h"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include "app/experiment/experiment_report.h"
#include "app/serve/api_json.h"
#include "base/log.h"

namespace kw {
namespace {

// What goes wrong with bookkeeping must not cost a user the answer.
void note_problem(std::string_view what, const Error& error) {
  log_event(LogLevel::error, "experiment", {{"what", what}, {"problem", to_string(error)}});
}

}  // namespace

Outcome outcome_of(const Episode& episode, double latency_ms) {
  Outcome outcome;
  outcome.turns = std::max<double>(1, static_cast<double>(episode.turns.size()));
  outcome.latency_ms = latency_ms;
  if (episode.tokens > 0) outcome.tokens = static_cast<double>(episode.tokens);
  // What the library wrote says nothing about the agents.
  if (episode.best && writer_of(episode, *episode.best) != KernelWriter::library) {
    const Verdict& verdict = verdict_of(episode, *episode.best);
    outcome.compiled = outcome.correct = true;
    outcome.speedup = verdict.speedup_naive;
  } else if (episode.current && writer_of(episode, *episode.current) != KernelWriter::library &&
             says_something(verdict_of(episode, *episode.current))) {
    outcome.compiled = verdict_of(episode, *episode.current).compiled;
  }
  return outcome;
}

Result<std::unique_ptr<ExperimentDesk>> ExperimentDesk::open(const std::filesystem::path& file, AgentSets& sets) {
  KW_TRY(ExperimentStore store, ExperimentStore::open(file));
  std::unique_ptr<ExperimentDesk> desk(new ExperimentDesk(std::move(store), sets));
  desk->expire();
  return desk;
}

void ExperimentDesk::note_arms(const LiveExperiment* experiment) {
  std::vector<ArmCount> now;
  if (experiment != nullptr) {
    const auto& arms = experiment->definition().arms;
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const ArmTotals& totals = experiment->counts().arm(i);
      now.push_back({experiment->definition().name, arms[i].name, totals.users, totals.outcomes,
                     bool(experiment->standing().stopped[i])});
    }
  }
  const std::lock_guard lock(arms_mutex_);
  arms_ = std::move(now);
}

std::vector<ArmCount> ExperimentDesk::arms() const {
  const std::lock_guard lock(arms_mutex_);
  return arms_;
}

Result<LiveExperiment*> ExperimentDesk::live(const std::string& name) {
  const auto known = live_.find(name);
  if (known != live_.end()) {
    KW_TRY_VOID(known->second->catch_up());
    return known->second.get();
  }
  KW_TRY(LiveExperiment opened, LiveExperiment::open(store_, name));
  if (live_.size() > 64) live_.clear();  // each counts from its file again
  return (live_[name] = std::make_unique<LiveExperiment>(std::move(opened))).get();
}

// The newest one that decides what users get. Drafts and those that were stopped do not.
Result<LiveExperiment*> ExperimentDesk::current() {
  KW_TRY(const auto records, store_.list());
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (!is_active(record->standing.state) && record->standing.state != ExperimentState::promoted) continue;
    return live(record->definition.name);
  }
  return nullptr;
}

void ExperimentDesk::keep_sets(const LiveExperiment* experiment) {
  std::set<std::string> wanted;
  if (experiment != nullptr) {
    const auto& arms = experiment->definition().arms;
    for (std::size_t i = 0; i < arms.size(); ++i)
      if (is_active(experiment->standing().state) || i == experiment->standing().winner) wanted.insert(arms[i].agents);
  }
  std::set<std::string> kept(starting_.begin(), starting_.end());
  kept.insert(wanted.begin(), wanted.end());
  sets_.keep_only(kept);
  std::erase_if(failed_, [&](const std::string& name) { return !wanted.contains(name); });
  for (const std::string& name : wanted) {
    if (sets_.find(name) || failed_.contains(name)) continue;
    const auto set = sets_.load(name);
    if (set.ok()) continue;
    failed_.insert(name);
    note_problem("the agents of an arm cannot be loaded: " + name, set.error());
  }
}

std::optional<AssignedAgents> ExperimentDesk::assign(const std::string& user, const std::string& request) {
  const std::lock_guard lock(mutex_);
  const auto experiment = current();
  if (!experiment.ok()) note_problem("no experiment can be read", experiment.error());
  if (!experiment.ok()) return std::nullopt;
  keep_sets(*experiment);
  if (*experiment == nullptr) return std::nullopt;
  const ExperimentRequest asked{user, request};
  const auto assigned = (*experiment)->expose({&asked, 1}, seconds_since_1970());
  if (!assigned.ok()) {
    note_problem("a user could not be assigned", assigned.error());
    return std::nullopt;
  }
  note_arms(*experiment);
  return AssignedAgents{(*experiment)->definition().name, assigned->front().agents, assigned->front().exposure};
}

void ExperimentDesk::conclude(const AssignedAgents& assigned, const Outcome& outcome) {
  if (assigned.exposure == 0) return;
  const std::lock_guard lock(mutex_);
  const auto experiment = live(assigned.experiment);
  if (!experiment.ok()) return note_problem("an outcome is lost", experiment.error());
  const RequestOutcome one{assigned.exposure, outcome};
  const auto decided = (*experiment)->conclude({&one, 1}, seconds_since_1970());
  if (!decided.ok()) return note_problem("an outcome is lost", decided.error());
  note_arms(*experiment);
  for (const Transition& transition : *decided)
    log_event(LogLevel::warn, "experiment",
              {{"name", assigned.experiment}, {"action", transition.action}, {"reason", transition.reason}});
}

void ExperimentDesk::expire() {
  const std::lock_guard lock(mutex_);
  const auto experiment = current();
  if (!experiment.ok()) return note_problem("no experiment can be read", experiment.error());
  if (*experiment != nullptr && is_active((*experiment)->standing().state)) {
    const auto expired = (*experiment)->expire(seconds_since_1970());
    if (!expired.ok()) note_problem("overdue requests could not be counted", expired.error());
  }
  note_arms(*experiment);
}

Result<Json> ExperimentDesk::list() {
  const std::lock_guard lock(mutex_);
  KW_TRY(const auto records, store_.list());
  Json all = Json::array();
  for (auto record = records.rbegin(); record != records.rend() && all.size() < 200; ++record) {
    const Standing& standing = record->standing;
    Json arms = Json::array();
    for (std::size_t i = 0; i < record->definition.arms.size(); ++i) {
      const ExperimentArm& arm = record->definition.arms[i];
      arms.push_back({{"name", arm.name},
                      {"agents", arm.agents},
                      {"weight", arm.weight},
                      {"stopped", i < standing.stopped.size() && standing.stopped[i]}});
    }
    const auto& ramp = record->definition.ramp_percent;
    all.push_back({{"name", record->definition.name},
                   {"state", to_string(standing.state)},
                   {"stage", standing.stage},
                   {"percent", standing.stage < ramp.size() ? ramp[standing.stage] : 100.0},
                   {"arms", std::move(arms)},
                   {"created_s", record->created_s},
                   {"updated_s", record->updated_s}});
  }
  return Json{{"experiments", std::move(all)}};
}

Result<Json> ExperimentDesk::show(const std::string& name) {
  const std::lock_guard lock(mutex_);
  KW_TRY(const LiveExperiment* experiment, live(name));
  KW_TRY(const auto trail, store_.audit(experiment->record().id));
  KW_TRY(const std::int64_t without_outcome, store_.exposures_without_outcome(experiment->record().id));
  Json report = report_of(*experiment, trail);
  report["requests_without_outcome"] = without_outcome;
  return report;
}

Result<Json> ExperimentDesk::create(const std::string& yaml, const std::string& actor) {
  KW_TRY(const ExperimentDefinition definition, parse_experiment(yaml, "experiment.yaml"));
  {
    const std::lock_guard lock(mutex_);
    KW_TRY([[maybe_unused]] const auto record, store_.create(definition, actor, seconds_since_1970()));
  }
  return show(definition.name);
}

Result<void> ExperimentDesk::load_arms(const std::string& name) {
  std::vector<ExperimentArm> arms;
  {
    const std::lock_guard lock(mutex_);
    KW_TRY(const LiveExperiment* experiment, live(name));
    arms = experiment->definition().arms;
    for (const ExperimentArm& arm : arms) starting_.insert(arm.agents);
  }
  for (const ExperimentArm& arm : arms) {
    const auto set = sets_.load(arm.agents);
    if (!set.ok())
      return Error{fmt::format("the agents of arm '{}' cannot be loaded: {}", arm.name, set.error().message),
                   set.error().advice,
                   {}};
  }
  return {};
}

void ExperimentDesk::forget_start(const std::string& name) {
  const auto experiment = live(name);
  if (!experiment.ok()) return;
  for (const ExperimentArm& arm : (*experiment)->definition().arms)
    if (const auto one = starting_.find(arm.agents); one != starting_.end()) starting_.erase(one);
}

Result<Json> ExperimentDesk::change(const std::string& name, const std::string& verb, const std::string& arm,
                                    const std::string& actor, const std::string& reason) {
  // Agents that cannot be loaded are found out now, not by the first user who should get them; and without the lock,
  // because others are being served.
  const Result<void> loaded = verb == "start" ? load_arms(name) : Result<void>();
  const auto changed = [&]() -> Result<void> {
    KW_TRY_VOID(loaded);
    KW_TRY(LiveExperiment * experiment, live(name));
    const double now_s = seconds_since_1970();
    if (verb == "start") return experiment->start(actor, now_s);
    if (verb == "promote") return experiment->promote(arm, actor, reason, now_s);
    return experiment->abort(actor, reason, now_s);
  };
  {
    const std::lock_guard lock(mutex_);
    const Result<void> done = changed();
    // What was loaded for a start that did not come about is let go again, and what was decided holds at once.
    if (verb == "start") forget_start(name);
    if (const auto deciding = current(); deciding.ok()) {
      keep_sets(*deciding);
      note_arms(*deciding);
    }
    if (!done.ok()) return done.error();
  }
  return show(name);
}

}  // namespace kw
