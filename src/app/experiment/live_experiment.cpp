#include "app/experiment/live_experiment.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw {
namespace {

constexpr const char* controller_name = "controller";
constexpr std::size_t max_reason_bytes = 1000;

bool is_known_place(const ExperimentDefinition& definition, std::size_t arm, std::size_t stage) {
  return arm < definition.arms.size() && stage < definition.ramp_percent.size();
}

Result<void> check_request(const ExperimentRequest& request) {
  if (request.user.empty() || request.user.size() > max_experiment_text_bytes ||
      request.request.size() > max_experiment_text_bytes)
    return Error{fmt::format("a user has 1 to {0} bytes, a request at most {0}", max_experiment_text_bytes), "", {}};
  return {};
}

}  // namespace

LiveExperiment::LiveExperiment(ExperimentStore& store, ExperimentRecord record)
    : store_(&store),
      record_(std::move(record)),
      controller_(std::make_unique<Controller>(record_.definition)),
      counts_(record_.definition.arms.size(), record_.definition.ramp_percent.size()) {}

Result<LiveExperiment> LiveExperiment::open(ExperimentStore& store, std::string_view name) {
  KW_TRY(ExperimentRecord record, store.named(name));
  LiveExperiment experiment(store, std::move(record));
  KW_TRY_VOID(experiment.catch_up());
  return experiment;
}

bool LiveExperiment::counts_for_comparison(const OutcomeRow& row) const {
  return record_.definition.unit == AnalysisUnit::request || row.first_of_user;
}

// Outcomes that are in the store were decided upon in their own transaction, by whoever wrote them; they are counted
// here. A failed transaction of ours leaves nothing behind, since counts change only once it is committed.
Result<void> LiveExperiment::catch_up() {
  KW_TRY(const std::int64_t revision, store_->revision(record_.id));
  if (revision != record_.revision) {
    KW_TRY(record_, store_->record(record_.id));
  }
  bool damaged = false;
  KW_TRY_VOID(store_->exposures_after(record_.id, last_exposure_, [&](const ExposureRow& row) {
    last_exposure_ = row.id;
    if (!is_known_place(record_.definition, row.arm, row.stage))
      damaged = true;
    else if (row.first_of_user)
      counts_.add_user(row.arm);
  }));
  KW_TRY_VOID(store_->outcomes_after(record_.id, last_outcome_, [&](const OutcomeRow& row) {
    last_outcome_ = row.id;
    if (!is_known_place(record_.definition, row.arm, row.stage))
      damaged = true;
    else if (counts_for_comparison(row))
      counts_.add_outcome(row.arm, row.stage, row.outcome);
  }));
  if (damaged) return Error{"the store is damaged: it names arms or stages that the experiment does not have", "", {}};
  return {};
}

Result<std::vector<Assignment>> LiveExperiment::expose(std::span<const ExperimentRequest> requests, double now_s) {
  if (requests.size() > max_batch_rows)
    return Error{fmt::format("a batch has at most {} requests", max_batch_rows), "", {}};
  for (const auto& request : requests) KW_TRY_VOID(check_request(request));
  KW_TRY(Transaction transaction, store_->begin());
  KW_TRY_VOID(catch_up());
  std::vector<Assignment> assignments;
  std::vector<ExposureRow> rows;
  for (const auto& request : requests) {
    const ArmChoice choice = choose_arm(record_.definition, record_.standing, request.user);
    Assignment assignment{choice.arm, record_.definition.arms[choice.arm].agents, 0};
    if (choice.takes_part) {
      ExposureRow row{.user = request.user,
                      .request = request.request,
                      .arm = choice.arm,
                      .stage = record_.standing.stage,
                      .time_s = now_s};
      KW_TRY_VOID(store_->add_exposure(record_.id, row));
      assignment.exposure = row.id;
      rows.push_back(std::move(row));
    }
    assignments.push_back(std::move(assignment));
  }
  KW_TRY_VOID(transaction.commit());
  for (const auto& row : rows) {
    last_exposure_ = row.id;
    if (row.first_of_user) counts_.add_user(row.arm);
  }
  return assignments;
}

Result<std::vector<Transition>> LiveExperiment::conclude(std::span<const RequestOutcome> outcomes, double now_s) {
  if (outcomes.size() > max_batch_rows)
    return Error{fmt::format("a batch has at most {} outcomes", max_batch_rows), "", {}};
  KW_TRY(Transaction transaction, store_->begin());
  KW_TRY_VOID(catch_up());
  std::vector<Transition> transitions;
  TrialCounts counts = counts_;
  ExperimentRecord record = record_;
  std::int64_t last_outcome = last_outcome_;
  for (const auto& one : outcomes) {
    OutcomeRow row{.exposure = one.exposure, .outcome = one.outcome, .time_s = now_s};
    KW_TRY_VOID(store_->add_outcome(record.id, row));
    last_outcome = row.id;
    if (!counts_for_comparison(row)) continue;
    counts.add_outcome(row.arm, row.stage, row.outcome);
    // Twice at most for each arm: an arm is stopped, and what is left may go on or wait.
    while (auto transition = controller_->decide(record.standing, counts)) {
      KW_TRY_VOID(store_->change(record, *transition, controller_name, now_s));
      record.standing = transition->to;
      ++record.revision;
      transitions.push_back(std::move(*transition));
    }
  }
  KW_TRY_VOID(transaction.commit());
  counts_ = std::move(counts);
  record_ = std::move(record);
  last_outcome_ = last_outcome;
  return transitions;
}

Result<std::int64_t> LiveExperiment::expire(double now_s) {
  KW_TRY(const auto overdue,
         store_->exposures_overdue(record_.id, now_s - record_.definition.outcome_deadline_s, max_batch_rows));
  Outcome lost;
  lost.error = true;
  std::vector<RequestOutcome> outcomes;
  for (const std::int64_t exposure : overdue) outcomes.push_back({exposure, lost});
  if (outcomes.empty()) return 0;
  KW_TRY(const auto transitions, conclude(outcomes, now_s));
  return static_cast<std::int64_t>(outcomes.size());
}

// `to` says what a person's wish leads to from where the experiment stands now, or why it cannot be.
Result<void> LiveExperiment::by_hand(const std::string& actor, double now_s,
                                     const std::function<Result<Transition>()>& to) {
  KW_TRY(Transaction transaction, store_->begin());
  KW_TRY_VOID(catch_up());
  KW_TRY(const Transition transition, to());
  if (transition.reason.size() > max_reason_bytes)
    return Error{fmt::format("a reason has at most {} bytes", max_reason_bytes), "", {}};
  KW_TRY_VOID(store_->change(record_, transition, actor, now_s));
  KW_TRY_VOID(transaction.commit());
  return catch_up();
}

Result<void> LiveExperiment::start(const std::string& actor, double now_s) {
  return by_hand(actor, now_s, [&]() -> Result<Transition> {
    if (record_.standing.state != ExperimentState::draft)
      return Error{fmt::format("the experiment is {}, not a draft", to_string(record_.standing.state)), "", {}};
    Transition transition{record_.standing, "start", ""};
    transition.to.state = ExperimentState::running;
    return transition;
  });
}

Result<void> LiveExperiment::promote(std::string_view arm, const std::string& actor, const std::string& reason,
                                     double now_s) {
  return by_hand(actor, now_s, [&]() -> Result<Transition> {
    const auto& arms = record_.definition.arms;
    const auto found = std::ranges::find(arms, arm, &ExperimentArm::name);
    if (found == arms.end()) return Error{fmt::format("the experiment has no arm '{}'", arm), "", {}};
    if (!is_active(record_.standing.state))
      return Error{
          fmt::format("the experiment is {}: nothing can be promoted", to_string(record_.standing.state)), "", {}};
    Transition transition{record_.standing, "promote", reason};
    transition.to.state = ExperimentState::promoted;
    transition.to.winner = static_cast<std::size_t>(found - arms.begin());
    return transition;
  });
}

Result<void> LiveExperiment::abort(const std::string& actor, const std::string& reason, double now_s) {
  return by_hand(actor, now_s, [&]() -> Result<Transition> {
    const ExperimentState state = record_.standing.state;
    // A promotion that turns out to be a mistake can be taken back.
    if (state == ExperimentState::aborted || state == ExperimentState::rolled_back)
      return Error{fmt::format("the experiment is {} already", to_string(state)), "", {}};
    Transition transition{record_.standing, "abort", reason};
    transition.to.state = ExperimentState::aborted;
    return transition;
  });
}

}  // namespace kw
