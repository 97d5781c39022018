#pragma once
// Search with a budget: a population of right kernels, agents and changed constants as its operators, the judge as the
// only one who says what is good. It goes in rounds: what a round proposes depends on what was known when it began, so
// the same seed and the same number of verdicts give the same search, whatever was ready first. (Budgets of time, and
// measured times, are what they are.)
//
// Before a verdict is spent, the performance model looks at more kernels than can be judged (kernel_look.h): at several
// answers of the agents for each verdict, and at many small changes (descent.h). The most promising
// ones are judged (prospect.h). Looks are counted beside the verdicts.
//
// Where times are measured, only a promising part of the right kernels is (measuring_filter.h), and the best one
// changes when intervals say so: contenders are measured again until they do (known_time.h).

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agents/search/candidate.h"
#include "agents/search/descent.h"
#include "agents/search/kernel_moves.h"
#include "agents/search/kernel_scorer.h"
#include "agents/search/measuring_filter.h"
#include "agents/search/population.h"
#include "agents/search/prospect.h"
#include "agents/search/round_plan.h"
#include "agents/search/search_agents.h"
#include "agents/search/search_limit.h"
#include "agents/search/search_record.h"

namespace kw {

struct SearchOptions {
  std::uint64_t seed = 1;
  // Budgets; 0: none. A search that is given more of them goes on where it was.
  std::int64_t verdicts = 0;
  double seconds = 0;
  std::int64_t patience = 128;  // it ends when so many verdicts have gained nothing; 0: never
  double close_enough = 0.05;   // and when the best time is so near the limit, relative

  std::int64_t round = 8;  // verdicts of a round
  std::int64_t looks = 8;  // of the performance model, for each verdict; 0: kernels are judged as they come
  std::vector<SearchOperator> operators{SearchOperator::generator, SearchOperator::optimizer, SearchOperator::constants,
                                        SearchOperator::edits};
  std::vector<std::string> levels;  // that the Generator may be asked for
  float temperature = 0.8f;         // rises while answers repeat themselves
  double filter = 1.5;              // measured is what is expected within this factor of the best; 0: everything
  double measured_share = 0.16;     // and at most so many measurements for each right kernel, with a filter
};

enum class SearchEnd : std::uint8_t {
  unfinished,  // interrupted; the same command goes on
  verdicts,    // the budget of verdicts is used up
  time,
  limit,      // the best kernel is as fast as the device allows
  no_gain,    // as many verdicts as were allowed have gained nothing
  exhausted,  // nobody has anything new to propose
};
std::string_view to_string(SearchEnd end);

// A new best kernel.
struct SearchGain {
  int candidate = 0;
  std::int64_t verdicts = 0;  // that had been given by then
  std::int64_t measurements = 0;
  double seconds = 0;
  double us = 0;
};

struct SearchOutcome {
  std::vector<Candidate> candidates;  // all that have a verdict
  std::optional<int> best;
  std::vector<SearchGain> gains;
  OperatorStandings operators;
  std::vector<Niche> niches;  // of the population
  SearchLimit limit;
  std::int64_t verdicts = 0;
  std::int64_t measurements = 0;
  std::int64_t looks = 0;  // kernels that the performance model timed without a verdict
  std::int64_t twins = 0;  // proposals that become code that was judged already
  double seconds = 0;
  int rounds = 0;
  int rounds_before = 0;  // of them, those that were read from the record
  SearchEnd end = SearchEnd::unfinished;
};

struct SearchHooks {
  std::function<void(const SearchOutcome&, const Candidate& best)> on_gain;
  std::function<void(const SearchOutcome&)> on_progress;  // called often
};

// Of everything that a search's decisions depend on, but its budgets.
std::string search_identity(const Task& task, const SearchOptions& options, const std::vector<Proposal>& given,
                            const std::string& model, const std::string& judge);

// The candidate's verdict with the time that is known best: what an Optimizer is shown.
Verdict known_verdict(const Candidate& candidate);

class Search {
 public:
  // Everything outlives it. `agents` null: nobody is asked.
  Search(SearchLimit limit, SearchOptions options, KernelScorer& scorer, SearchAgents* agents, SearchRecord& record,
         SearchHooks hooks = {});

  // `given`: kernels that it begins with; may be empty where there are agents.
  Result<SearchOutcome> run(const std::vector<Proposal>& given);

 private:
  // Proposals that are new, in order, and their verdicts as they come. While agents write kernels of their own, the
  // judge works on it.
  struct Batch {
    std::vector<Proposal> proposals;
    std::vector<std::shared_ptr<const Verdict>> verdicts;
    std::size_t missing = 0;
  };

  std::optional<SearchEnd> end_now();
  Result<void> take_round(int round);
  // Of constants, or edits.
  Result<std::vector<Proposal>> changes(SearchOperator from, std::int64_t count, Random& random);
  NextMove next_move(SearchOperator from) const;
  std::vector<Proposal> blind_changes(SearchOperator from, std::int64_t count, Random& random);
  Result<std::vector<Proposal>> descents(SearchOperator from, std::int64_t count, Random& random);
  std::vector<SearchQuestion> questions(const RoundShares& shares, int round, Random& random);
  Result<std::vector<Proposal>> agent_proposals(const std::vector<SearchQuestion>& asked, Batch& judging);
  ShownKernel shown(int candidate) const;
  int nearest_wrong() const;

  enum class BatchOf : std::uint8_t { changes, agents, given };
  Result<Batch> begin_batch(std::vector<Proposal> proposals, std::int64_t most, BatchOf of);
  std::vector<std::size_t> by_promise(const std::vector<Proposal>& proposals,
                                      const std::vector<KernelLook>& looks) const;
  Result<std::vector<KernelLook>> look_at(const std::vector<std::string>& kernels);
  Prospect prospect_of(const Proposal& proposal, const KernelLook& look) const;
  double best_us() const;  // 0: there is none
  Result<void> take_verdicts(std::vector<Batch*> batches);
  Result<void> wait_for(std::vector<Batch*> batches);
  void settle(Batch batch, std::vector<int>& fresh);
  Result<void> measure(const std::vector<int>& fresh);
  Result<void> measure_promising(const std::vector<int>& fresh);
  std::int64_t measurements_earned() const;
  int family_of(const Candidate& candidate) const;
  Result<void> measure_once(const std::vector<int>& candidates);
  Result<void> race();
  void place(int candidate);
  void note_limit(const Candidate& candidate);
  void propose_best(int candidate);
  bool go_on();
  double seconds() const;

  SearchOptions options_;
  KernelScorer& scorer_;
  SearchAgents* agents_;
  SearchRecord& record_;
  SearchHooks hooks_;
  VerdictBox box_;
  SearchOutcome outcome_;
  Population population_;
  MeasuringFilter filter_;
  ConstantRecords constants_;
  RightOdds odds_;
  KernelLook least_read_;          // of a right kernel
  std::vector<Proposal> waiting_;  // kernels of agents that may still get a verdict
  std::set<std::string> looked_;   // kernels that the model has looked at
  std::set<std::string> known_;    // fingerprints of all kernels that were proposed
  std::set<std::string> codes_;
  std::map<std::string, std::vector<std::string>> names_of_change_;  // by kernel, of the present round
  std::int64_t verdicts_at_gain_ = 0;
  int barren_rounds_ = 0;
  bool unseen_ = false;  // there was no time left to look at a kernel
  bool spent_ = false;   // nothing new is begun: what the record has is all there is
  int round_ = 0;
  std::chrono::steady_clock::time_point began_;
  double before_s_ = 0;
};

}  // namespace kw
