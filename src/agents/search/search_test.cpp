#include "agents/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agents/search/search_test_support.h"
#include "base/interrupt.h"

namespace kw {
namespace {

const std::vector<Proposal> start{{SearchOperator::given, -1, "", landscape_kernel(16, 64)}};

SearchOptions constants_only(std::int64_t verdicts) {
  SearchOptions options;
  options.verdicts = verdicts;
  options.operators = {SearchOperator::constants};
  return options;
}

SearchOutcome search_constants(const SearchOptions& options, KernelScorer& scorer, SearchRecord& record,
                               SearchHooks hooks = {}, SearchLimit limit = {}) {
  Search search(std::move(limit), options, scorer, nullptr, record, std::move(hooks));
  auto outcome = search.run(start);
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

SearchOutcome search_constants(const SearchOptions& options, SearchLimit limit = {}) {
  LandscapeScorer scorer;
  return search_constants(options, scorer, *SearchRecord::in_memory(), {}, std::move(limit));
}

TEST(Search, FindsTheBestConstants) {
  const SearchOutcome outcome = search_constants(constants_only(120));
  ASSERT_TRUE(outcome.best);
  const Candidate& best = outcome.candidates.at(static_cast<std::size_t>(*outcome.best));
  EXPECT_DOUBLE_EQ(best.time->us, 10) << best.proposal.kernel;
  for (std::size_t i = 1; i < outcome.gains.size(); ++i) EXPECT_LT(outcome.gains[i].us, outcome.gains[i - 1].us);
}

TEST(Search, TheBudgetOfVerdictsIsKeptExactly) {
  for (const std::int64_t verdicts : {1, 2, 16, 17, 37}) {
    LandscapeScorer scorer;
    const SearchOutcome outcome = search_constants(constants_only(verdicts), scorer, *SearchRecord::in_memory());
    EXPECT_EQ(outcome.verdicts, verdicts);
    EXPECT_EQ(scorer.judged, static_cast<std::size_t>(verdicts));
    EXPECT_EQ(outcome.candidates.size(), static_cast<std::size_t>(verdicts));
    EXPECT_EQ(outcome.end, SearchEnd::verdicts);
  }
}

TEST(Search, NothingIsJudgedTwice) {
  const SearchOutcome outcome = search_constants(constants_only(60));
  std::set<std::string> kernels;
  for (const Candidate& candidate : outcome.candidates)
    EXPECT_TRUE(kernels.insert(candidate.proposal.kernel).second) << candidate.proposal.kernel;
}

// Code that is equal although the texts differ.
class OneCodeScorer : public LandscapeScorer {
 public:
  std::vector<KernelLook> look_at(const std::vector<std::string>& kernels, bool) override {
    return std::vector<KernelLook>(kernels.size(), {"the same", 10, 0});
  }
};

TEST(Search, IdenticalCodeIsJudgedOnce) {
  OneCodeScorer scorer;
  const SearchOutcome outcome = search_constants(constants_only(60), scorer, *SearchRecord::in_memory());
  EXPECT_EQ(scorer.judged, 1u);
  EXPECT_GT(outcome.twins, 2);
  EXPECT_EQ(outcome.end, SearchEnd::exhausted);
}

TEST(Search, TheSameSeedIsTheSameSearchWhateverIsReadyFirst) {
  const std::string straight = decisions(search_constants(constants_only(50)));
  for (const std::uint64_t disorder : {1, 2}) {
    LandscapeScorer scorer(disorder);
    EXPECT_EQ(decisions(search_constants(constants_only(50), scorer, *SearchRecord::in_memory())), straight);
  }
  SearchOptions other = constants_only(50);
  other.seed = 2;
  EXPECT_NE(decisions(search_constants(other)), straight);
}

TEST(Search, EndsAtTheLimitOfTheDevice) {
  const SearchOutcome outcome = search_constants(constants_only(0), {9.9, "bytes"});
  EXPECT_EQ(outcome.end, SearchEnd::limit);
  EXPECT_DOUBLE_EQ(outcome.candidates.at(static_cast<std::size_t>(*outcome.best)).time->us, 10);
}

TEST(Search, ALimitThatIsUndercutIsNone) {
  const SearchOutcome outcome = search_constants(constants_only(60), {20, "bytes that are not all needed"});
  EXPECT_EQ(outcome.limit.us, 0);
  EXPECT_EQ(outcome.end, SearchEnd::verdicts) << "and does not end the search";
}

TEST(Search, EndsWhenNothingIsGained) {
  SearchOptions options = constants_only(0);
  options.patience = 20;
  const SearchOutcome outcome = search_constants(options);
  EXPECT_TRUE(outcome.end == SearchEnd::no_gain || outcome.end == SearchEnd::exhausted) << to_string(outcome.end);
  EXPECT_LE(outcome.verdicts - outcome.gains.back().verdicts, options.patience + 2 * options.round)
      << "rounds are never cut: that of the gain, and the last one";
}

TEST(Search, WithoutAnythingToDoItEnds) {
  const auto record = SearchRecord::in_memory();
  LandscapeScorer scorer;
  Search search({}, constants_only(0), scorer, nullptr, *record);
  const auto outcome = search.run({});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, SearchEnd::exhausted);
  EXPECT_EQ(outcome->verdicts, 0);
}

// Interrupted again and again, each time begun anew from the file: the same decisions as undisturbed.
TEST(Search, AnInterruptedSearchGoesOnWhereItWas) {
  install_interrupt_handling();
  const SearchOptions options = constants_only(70);
  const std::string undisturbed = decisions(search_constants(options));
  const TemporaryFolder folder;
  std::size_t judged = 0;
  int times = 0;
  SearchOutcome outcome;
  do {
    LandscapeScorer scorer(static_cast<std::uint64_t>(times) + 1);
    auto record = SearchRecord::open(folder.path() / "search.db", "one", "task");
    ASSERT_TRUE(record.ok()) << to_string(record.error());
    int calls = 0;
    SearchHooks hooks;
    hooks.on_progress = [&](const SearchOutcome&) {
      if (++calls == 2 + times % 3) std::raise(SIGINT);
    };
    outcome = search_constants(options, scorer, **record, hooks);
    clear_interrupt();
    judged += scorer.judged;
    ASSERT_LT(++times, 200);
  } while (outcome.end == SearchEnd::unfinished);
  EXPECT_GT(times, 2);
  EXPECT_EQ(decisions(outcome), undisturbed);
  // What was cut off while it was judged is judged again; all else is paid for once.
  EXPECT_LE(judged, 70 + static_cast<std::size_t>(times) * static_cast<std::size_t>(options.round));
  LandscapeScorer idle;
  const auto again = SearchRecord::open(folder.path() / "search.db", "one", "task");
  EXPECT_EQ(decisions(search_constants(options, idle, **again)), undisturbed);
  EXPECT_EQ(idle.judged + idle.looked, 0u) << "a finished search is only read";
}

TEST(Search, ALargerBudgetGoesOn) {
  const TemporaryFolder folder;
  const auto with = [&](std::int64_t verdicts) {
    LandscapeScorer scorer;
    auto record = SearchRecord::open(folder.path() / "search.db", "one", "task").value();
    const SearchOutcome outcome = search_constants(constants_only(verdicts), scorer, *record);
    return std::pair(outcome, scorer.judged);
  };
  const auto [small, first] = with(33);
  const auto [large, second] = with(49);
  EXPECT_EQ(large.verdicts, 49);
  EXPECT_EQ(first, 33u);
  EXPECT_LE(second, 16u) << "whole rounds of the first search are not judged again";
  EXPECT_LE(large.candidates.at(static_cast<std::size_t>(*large.best)).time->us,
            small.candidates.at(static_cast<std::size_t>(*small.best)).time->us);
}

TEST(Search, OnlyThePromisingPartIsMeasured) {
  LandscapeScorer scorer(0, true);
  SearchOptions options = constants_only(100);
  options.filter = 1.3;
  const SearchOutcome outcome = search_constants(options, scorer, *SearchRecord::in_memory());
  ASSERT_TRUE(outcome.best);
  const Candidate& best = outcome.candidates.at(static_cast<std::size_t>(*outcome.best));
  EXPECT_TRUE(best.time->measured);
  EXPECT_NEAR(best.time->us, 13, 0.3);
  const auto measured_kernels = [](const SearchOutcome& of) {
    return std::ranges::count_if(of.candidates, [](const Candidate& each) { return !each.measured.empty(); });
  };
  EXPECT_EQ(outcome.measurements, static_cast<std::int64_t>(scorer.measured));

  LandscapeScorer everything(0, true);
  options.filter = 0;
  const SearchOutcome all = search_constants(options, everything, *SearchRecord::in_memory());
  EXPECT_GT(measured_kernels(all), 2 * measured_kernels(outcome));
  EXPECT_LE(4 * outcome.measurements, all.measurements) << "races included";
  EXPECT_NEAR(all.candidates.at(static_cast<std::size_t>(*all.best)).time->us, best.time->us, 0.3);
}

// What a scripted Generator and Optimizer say: kernels whose constants follow from the sampling's seed.
std::string landscape_script(const ScriptedQuestion& question) {
  Random random(question.seed);
  if (random.uniform() < 0.3) return "I cannot.";
  const int tile = 1 << random.integer(4, 9), depth = 1 << random.integer(2, 6);
  const bool optimizes = question.prompt.find("<|opt|>") != std::string::npos;
  return landscape_kernel(
      tile, depth, optimizes ? "__shared__ float s[4]; y[0] = s[0] * x[tile] * depth;" : "y[0] = x[tile] * depth;");
}

SearchOutcome search_with_agents(SearchOptions options, KernelScorer& scorer, SearchRecord& record) {
  ScriptedDecoder decoder(test_dialect(), landscape_script);
  Rollout rollout(decoder, &test_dialect().tokenizer());
  const Task task = suite_task("row_sum");
  SearchAgents agents(
      rollout, test_dialect(), [](AgentRole role) { return role == AgentRole::generator ? 0 : 1; }, task);
  Search search({}, std::move(options), scorer, &agents, record);
  auto outcome = search.run({});
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

TEST(Search, AgentsAndConstantsTogether) {
  SearchOptions options;
  options.verdicts = 60;
  options.levels = {"naive", "shared"};
  LandscapeScorer scorer;
  const SearchOutcome outcome = search_with_agents(options, scorer, *SearchRecord::in_memory());
  EXPECT_EQ(outcome.verdicts, 60);
  ASSERT_TRUE(outcome.best);
  EXPECT_NEAR(outcome.candidates.at(static_cast<std::size_t>(*outcome.best)).time->us, 10, 1e-9);
  for (const SearchOperator from : {SearchOperator::generator, SearchOperator::optimizer, SearchOperator::constants})
    EXPECT_GT(outcome.operators[index_of(from)].verdicts, 0) << to_string(from);
  bool of_a_parent = false;
  for (const Candidate& candidate : outcome.candidates) {
    of_a_parent =
        of_a_parent || (candidate.proposal.from == SearchOperator::optimizer && candidate.proposal.parent >= 0);
    EXPECT_LT(candidate.proposal.parent, candidate.number);
  }
  EXPECT_TRUE(of_a_parent);
  EXPECT_GE(outcome.niches.size(), 2u) << "with and without shared memory";
}

// To the model all kernels are nearly alike, so that many changes are worth a verdict and few get one.
class FlatScorer : public LandscapeScorer {
 public:
  FlatScorer() : LandscapeScorer(0, true) {}
  std::vector<KernelLook> look_at(const std::vector<std::string>& kernels, bool) override {
    std::vector<KernelLook> looks;
    looks.reserve(kernels.size());
    for (const std::string& kernel : kernels)
      looks.push_back({kernel, 10 * std::pow(1.004, landscape_distance(kernel)), 0});
    return looks;
  }
};

// The Generator may write the very text of a change that got no verdict. That has no parent.
TEST(Search, AnAnswerMayBeTheTextOfAChange) {
  SearchOptions options;
  options.verdicts = 40;
  options.operators = {SearchOperator::generator, SearchOperator::constants};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    options.seed = seed;
    FlatScorer scorer;
    const SearchOutcome outcome = search_with_agents(options, scorer, *SearchRecord::in_memory());
    for (const Candidate& candidate : outcome.candidates)
      EXPECT_EQ(candidate.proposal.from == SearchOperator::generator, candidate.proposal.parent < 0);
  }
}

TEST(Search, AnswersAreRemembered) {
  const TemporaryFolder folder;
  SearchOptions options;
  options.verdicts = 40;
  const auto run = [&](std::uint64_t disorder) {
    LandscapeScorer scorer(disorder);
    auto record = SearchRecord::open(folder.path() / "search.db", "one", "task").value();
    const std::string text = decisions(search_with_agents(options, scorer, *record));
    return std::pair(text, scorer.judged);
  };
  const auto first = run(3), second = run(4);
  EXPECT_EQ(first.first, second.first);
  EXPECT_EQ(first.second, 40u);
  EXPECT_EQ(second.second, 0u);
}

TEST(Search, AloneTheGeneratorIsBestOfN) {
  SearchOptions options;
  options.verdicts = 20;
  options.operators = {SearchOperator::generator};
  LandscapeScorer scorer;
  const SearchOutcome outcome = search_with_agents(options, scorer, *SearchRecord::in_memory());
  for (const Candidate& candidate : outcome.candidates) EXPECT_EQ(candidate.proposal.from, SearchOperator::generator);
}

TEST(Search, IdentityIsOfWhatDecides) {
  const Task task = suite_task("row_sum");
  SearchOptions options;
  const std::string identity = search_identity(task, options, start, "model", "judge");
  SearchOptions larger = options;
  larger.verdicts = 1000;
  larger.seconds = 60;
  larger.patience = 7;
  EXPECT_EQ(search_identity(task, larger, start, "model", "judge"), identity) << "budgets may grow";
  SearchOptions seeded = options;
  seeded.seed = 9;
  EXPECT_NE(search_identity(task, seeded, start, "model", "judge"), identity);
  EXPECT_NE(search_identity(task, options, {}, "model", "judge"), identity);
  EXPECT_NE(search_identity(task, options, start, "other", "judge"), identity);
  EXPECT_NE(search_identity(suite_task("relu"), options, start, "model", "judge"), identity);
}

}  // namespace
}  // namespace kw
