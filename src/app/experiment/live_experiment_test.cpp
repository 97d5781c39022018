#include "app/experiment/live_experiment.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/random.h"

namespace kw {
namespace {

constexpr DatabaseOptions quick = {.durability = Durability::process_crash};

ExperimentDefinition everybody(const std::string& name = "test") {
  ExperimentDefinition definition;
  definition.name = definition.salt = name;
  definition.arms = {{"control", "old agents", 0.5}, {"candidate", "new agents", 0.5}};
  definition.ramp_percent = {100};
  return definition;
}

Outcome judged(bool correct) {
  Outcome outcome;
  outcome.compiled = true;
  outcome.correct = correct;
  if (correct) outcome.speedup = 1.5;
  outcome.latency_ms = 900;
  outcome.turns = 2;
  return outcome;
}

struct Bench {
  explicit Bench(const ExperimentDefinition& definition)
      : store(std::move(ExperimentStore::open(folder.path() / "experiments.db", quick)).value()) {
    EXPECT_TRUE(store.create(definition, "ann", 100).ok());
  }
  LiveExperiment open() { return std::move(LiveExperiment::open(store, "test")).value(); }

  TemporaryFolder folder;
  ExperimentStore store;
};

// One request after the other; stops when something is decided.
std::vector<Transition> serve(LiveExperiment& live, int first_user, int requests, double control, double candidate) {
  Random random(static_cast<std::uint64_t>(first_user) + 1);
  for (int i = 0; i < requests; ++i) {
    const ExperimentRequest request{"user-" + std::to_string(first_user + i), "r" + std::to_string(i)};
    const auto assigned = live.expose(std::span(&request, 1), 200 + i);
    EXPECT_TRUE(assigned.ok()) << to_string(assigned.error());
    const Assignment& assignment = assigned->front();
    if (assignment.exposure == 0) continue;
    const bool correct = random.uniform() < (assignment.arm == 1 ? candidate : control);
    const RequestOutcome outcome{assignment.exposure, judged(correct)};
    auto transitions = live.conclude(std::span(&outcome, 1), 201 + i);
    EXPECT_TRUE(transitions.ok()) << to_string(transitions.error());
    if (!transitions->empty()) return std::move(transitions).value();
  }
  return {};
}

TEST(LiveExperiment, GoesFromDraftToRollbackAndKeepsATrail) {
  Bench bench(everybody());
  LiveExperiment live = bench.open();
  EXPECT_TRUE(serve(live, 0, 10, 1, 0).empty());
  EXPECT_EQ(live.counts().arm(0).users + live.counts().arm(1).users, 0) << "nobody takes part in a draft";
  ASSERT_TRUE(live.start("ann", 150).ok());
  EXPECT_FALSE(live.start("ann", 151).ok());

  const auto transitions = serve(live, 100, 400, 0.9, 0.5);
  ASSERT_EQ(transitions.size(), 1u);
  EXPECT_EQ(live.standing().state, ExperimentState::rolled_back);
  const ExperimentRequest late{"somebody", ""};
  const auto assigned = live.expose(std::span(&late, 1), 900);
  ASSERT_TRUE(assigned.ok());
  EXPECT_EQ(assigned->front().agents, "old agents");
  EXPECT_EQ(assigned->front().exposure, 0);

  const auto trail = bench.store.audit(live.record().id);
  ASSERT_TRUE(trail.ok());
  ASSERT_EQ(trail->size(), 3u);
  EXPECT_EQ((*trail)[0].action, "create");
  EXPECT_EQ((*trail)[1].action, "start");
  EXPECT_EQ((*trail)[1].actor, "ann");
  EXPECT_EQ((*trail)[2].action, "roll back");
  EXPECT_EQ((*trail)[2].actor, "controller");
  EXPECT_EQ((*trail)[2].from_state, "running");
  EXPECT_EQ((*trail)[2].to_state, "rolled back");
  EXPECT_EQ((*trail)[2].reason, transitions[0].reason);
}

TEST(LiveExperiment, AUserKeepsTheArmWhileTheRampGoesUp) {
  auto definition = everybody();
  definition.ramp_percent = {20, 60, 100};
  definition.requests_per_stage = 20;
  definition.guardrails = {{Metric::correct, 0.01, 0.3}};
  Bench bench(definition);
  LiveExperiment live = bench.open();
  ASSERT_TRUE(live.start("ann", 0).ok());
  std::map<std::string, std::size_t> arm_of;
  std::set<std::size_t> stages;
  Random random(3);
  for (int i = 0; i < 1800; ++i) {
    const ExperimentRequest request{"user-" + std::to_string(i % 700), ""};
    const auto assigned = live.expose(std::span(&request, 1), i);
    ASSERT_TRUE(assigned.ok());
    const Assignment& one = assigned->front();
    if (one.exposure == 0) continue;
    stages.insert(live.standing().stage);
    EXPECT_EQ(arm_of.emplace(request.user, one.arm).first->second, one.arm) << request.user;
    const RequestOutcome outcome{one.exposure, judged(random.uniform() < 0.9)};
    ASSERT_TRUE(live.conclude(std::span(&outcome, 1), i).ok());
  }
  EXPECT_GE(stages.size(), 2u) << "the ramp went up";
  std::int64_t users = live.counts().arm(0).users + live.counts().arm(1).users;
  EXPECT_EQ(users, static_cast<std::int64_t>(arm_of.size())) << "each user once";
  EXPECT_EQ(live.counts().arm(0).outcomes + live.counts().arm(1).outcomes, users) << "the first request of each user";
}

TEST(LiveExperiment, ReopenedItCountsAndDecidesTheSame) {
  Bench bench(everybody()), undisturbed(everybody());
  {
    LiveExperiment live = bench.open();
    ASSERT_TRUE(live.start("ann", 0).ok());
  }
  LiveExperiment other = undisturbed.open();
  ASSERT_TRUE(other.start("ann", 0).ok());
  for (int part = 0; part < 12; ++part) {
    LiveExperiment live = bench.open();
    const auto transitions = serve(live, 40 * part, 40, 0.9, 0.75), expected = serve(other, 40 * part, 40, 0.9, 0.75);
    ASSERT_EQ(transitions.size(), expected.size());
    LiveExperiment again = bench.open();
    EXPECT_EQ(again.counts(), live.counts());
    EXPECT_EQ(again.counts(), other.counts());
    EXPECT_EQ(again.standing(), other.standing());
    if (!is_active(other.standing().state)) break;
  }
}

TEST(LiveExperiment, ABatchIsKeptWholeOrNotAtAll) {
  Bench bench(everybody());
  LiveExperiment live = bench.open();
  ASSERT_TRUE(live.start("ann", 0).ok());
  const std::vector<ExperimentRequest> requests = {{"a", ""}, {"b", ""}, {"c", ""}};
  const auto assigned = live.expose(requests, 1);
  ASSERT_TRUE(assigned.ok());
  const std::int64_t first = (*assigned)[0].exposure, second = (*assigned)[1].exposure;
  ASSERT_GT(first, 0);
  const std::vector<RequestOutcome> unknown = {{first, judged(true)}, {9999, judged(true)}};
  EXPECT_FALSE(live.conclude(unknown, 2).ok());
  EXPECT_EQ(live.counts().arm(0).outcomes + live.counts().arm(1).outcomes, 0);
  const std::vector<RequestOutcome> twice = {{second, judged(true)}, {second, judged(true)}};
  EXPECT_FALSE(live.conclude(twice, 2).ok());
  const std::vector<RequestOutcome> right = {{first, judged(true)}, {second, judged(false)}};
  EXPECT_TRUE(live.conclude(right, 2).ok());
  EXPECT_FALSE(live.conclude(right, 3).ok()) << "an outcome is final";
  EXPECT_EQ(live.counts().arm(0).outcomes + live.counts().arm(1).outcomes, 2);
  EXPECT_EQ(bench.open().counts(), live.counts());

  const std::vector<ExperimentRequest> many(max_batch_rows + 1, {"a", ""});
  EXPECT_FALSE(live.expose(many, 4).ok());
  const std::vector<ExperimentRequest> nobody = {{"", ""}}, endless = {{std::string(300, 'x'), ""}};
  EXPECT_FALSE(live.expose(nobody, 4).ok());
  EXPECT_FALSE(live.expose(endless, 4).ok());
}

TEST(LiveExperiment, SeesWhatAnotherProcessDoes) {
  Bench bench(everybody());
  LiveExperiment server = bench.open();
  ASSERT_TRUE(server.start("ann", 0).ok());
  auto other_store = ExperimentStore::open(bench.folder.path() / "experiments.db", quick);
  ASSERT_TRUE(other_store.ok());
  auto other = LiveExperiment::open(*other_store, "test");
  ASSERT_TRUE(other.ok());
  serve(server, 0, 30, 0.9, 0.9);
  serve(*other, 30, 30, 0.9, 0.9);
  serve(server, 60, 1, 0.9, 0.9);
  EXPECT_EQ(server.counts().arm(0).outcomes + server.counts().arm(1).outcomes, 61);
  ASSERT_TRUE(other->abort("bob", "a hunch", 300).ok());
  const ExperimentRequest request{"anybody", ""};
  const auto assigned = server.expose(std::span(&request, 1), 301);
  ASSERT_TRUE(assigned.ok());
  EXPECT_EQ(assigned->front().exposure, 0);
  EXPECT_EQ(server.standing().state, ExperimentState::aborted);
  EXPECT_FALSE(server.abort("ann", "again", 302).ok());
  EXPECT_FALSE(server.promote("candidate", "ann", "too late", 302).ok());
}

TEST(LiveExperiment, IsPromotedByHandAndTakenBack) {
  Bench bench(everybody());
  LiveExperiment live = bench.open();
  EXPECT_FALSE(live.promote("candidate", "ann", "", 1).ok()) << "a draft";
  ASSERT_TRUE(live.start("ann", 1).ok());
  EXPECT_FALSE(live.promote("nobody", "ann", "", 1).ok());
  ASSERT_TRUE(live.promote("candidate", "ann", "looks good", 2).ok());
  const ExperimentRequest request{"anybody", ""};
  EXPECT_EQ(live.expose(std::span(&request, 1), 3)->front().agents, "new agents");
  ASSERT_TRUE(live.abort("ann", "it was not", 4).ok());
  EXPECT_EQ(live.expose(std::span(&request, 1), 5)->front().agents, "old agents");
}

TEST(LiveExperiment, RequestsThatNeverEndAreErrorsOfTheirArm) {
  auto definition = everybody();
  definition.outcome_deadline_s = 60;
  Bench bench(definition);
  LiveExperiment live = bench.open();
  ASSERT_TRUE(live.start("ann", 0).ok());
  const std::vector<ExperimentRequest> requests = {{"a", ""}, {"b", ""}, {"c", ""}};
  ASSERT_TRUE(live.expose(requests, 100).ok());
  EXPECT_EQ(live.expire(159).value(), 0);
  EXPECT_EQ(bench.store.exposures_without_outcome(live.record().id).value(), 3);
  EXPECT_EQ(live.expire(161).value(), 3);
  EXPECT_EQ(live.expire(500).value(), 0);
  EXPECT_EQ(live.counts().arm(0).sums[static_cast<std::size_t>(Metric::error)] +
                live.counts().arm(1).sums[static_cast<std::size_t>(Metric::error)],
            3);
}

TEST(ExperimentStore, NamesAreTakenOnceAndDamageIsAnError) {
  Bench bench(everybody());
  EXPECT_FALSE(bench.store.create(everybody(), "ann", 1).ok());
  EXPECT_FALSE(bench.store.named("other").ok());
  auto invalid = everybody("invalid");
  invalid.arms.pop_back();
  EXPECT_FALSE(bench.store.create(invalid, "ann", 1).ok());
  EXPECT_EQ(bench.store.list()->size(), 1u);
  auto database = Database::open(bench.folder.path() / "experiments.db", quick);
  ASSERT_TRUE(database.ok());
  for (const char* damage : {"state = 'resting'", "stage = 7", "winner = -1", "definition = '['"}) {
    ASSERT_TRUE(database->execute("BEGIN").ok());
    ASSERT_TRUE(database->execute(std::string("UPDATE experiments SET ") + damage).ok());
    ASSERT_TRUE(database->execute("COMMIT").ok());
    EXPECT_FALSE(bench.store.named("test").ok()) << damage;
    ASSERT_TRUE(database->execute("UPDATE experiments SET state = 'draft', stage = 0, winner = 0").ok());
  }
}

// The child serves until it is killed; every exposure and outcome that it acknowledged through the pipe must be there.
struct Acknowledged {
  std::int64_t exposure = 0;
  bool with_outcome = false;
};

[[noreturn]] void serve_until_killed(const std::filesystem::path& file, int pipe, int first_user) {
  auto store = ExperimentStore::open(file);
  auto live = store.ok() ? LiveExperiment::open(*store, "test") : Result<LiveExperiment>(store.error());
  for (int i = 0; live.ok(); ++i) {
    std::vector<ExperimentRequest> requests;
    for (int k = 0; k < 1 + i % 7; ++k) requests.push_back({"user-" + std::to_string(first_user + 10 * i + k), "r"});
    const auto assigned = live->expose(requests, i);
    if (!assigned.ok()) break;
    for (const Assignment& one : *assigned) {
      const Acknowledged exposed{one.exposure, false};
      if (::write(pipe, &exposed, sizeof exposed) != sizeof exposed) break;
      const RequestOutcome outcome{one.exposure, judged(i % 10 != 0)};
      if (!live->conclude(std::span(&outcome, 1), i).ok()) break;
      const Acknowledged concluded{one.exposure, true};
      if (::write(pipe, &concluded, sizeof concluded) != sizeof concluded) break;
    }
  }
  ::_exit(3);
}

TEST(LiveExperiment, WhatWasAcknowledgedSurvivesKillNine) {
  auto definition = everybody();
  definition.promote = PromoteWhen::by_hand;
  const TemporaryFolder folder;
  const auto file = folder.path() / "experiments.db";
  {
    auto store = ExperimentStore::open(file);
    ASSERT_TRUE(store.ok() && store->create(definition, "ann", 0).ok());
    ASSERT_TRUE(LiveExperiment::open(*store, "test")->start("ann", 0).ok());
  }
  std::set<std::int64_t> exposed, concluded;
  for (int round = 0; round < 4; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) serve_until_killed(file, ends[1], 100'000 * round);
    ::close(ends[1]);
    Acknowledged one;
    int seen = 0;
    // After a while it is killed wherever it is; what is still in the pipe was acknowledged too.
    while (::read(ends[0], &one, sizeof one) == sizeof one) {
      ASSERT_GT(one.exposure, 0);
      (one.with_outcome ? concluded : exposed).insert(one.exposure);
      if (++seen == 60 + 37 * round) ::kill(child, SIGKILL);
    }
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it was killed, and did not fail by itself";

    auto store = ExperimentStore::open(file);
    ASSERT_TRUE(store.ok());
    auto live = LiveExperiment::open(*store, "test");
    ASSERT_TRUE(live.ok()) << to_string(live.error());
    std::set<std::int64_t> stored_exposures, stored_outcomes;
    ASSERT_TRUE(
        store->exposures_after(live->record().id, 0, [&](const auto& row) { stored_exposures.insert(row.id); }).ok());
    ASSERT_TRUE(
        store->outcomes_after(live->record().id, 0, [&](const auto& row) { stored_outcomes.insert(row.exposure); })
            .ok());
    EXPECT_TRUE(std::ranges::includes(stored_exposures, exposed));
    EXPECT_TRUE(std::ranges::includes(stored_outcomes, concluded));
    EXPECT_EQ(live->counts().arm(0).outcomes + live->counts().arm(1).outcomes,
              static_cast<std::int64_t>(stored_outcomes.size()));
  }
  EXPECT_GT(concluded.size(), 100u);
}

}  // namespace
}  // namespace kw
