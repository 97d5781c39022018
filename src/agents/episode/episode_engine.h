#pragma once
// Many conversations at once. Answers are generated in one batch over all of them while the judge works on the kernels
// of others; none waits for another. An episode's result depends on its request, the options and the weights alone:
// not on the batch, the number of judges, timing, or whether it was interrupted and went on from a store. (A budget of
// time and measured times are what they are.)
//
// Each may have options and hooks of its own. Others may submit requests to the same rollout: their answers are made in
// the same batch.
//
// Not done: choosing tasks, updating weights, saying which sample to learn from.

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agents/agent/dialect.h"
#include "agents/episode/episode.h"
#include "agents/episode/episode_store.h"
#include "agents/episode/overlap_clock.h"
#include "agents/episode/turn_policy.h"
#include "kernel/judge/judge_pool.h"
#include "model/rollout/rollout.h"

namespace kw {

// Called from advance(), by the thread that calls it. Turns are as far as they are: on_question has no samples yet,
// on_answer has read the kernel, on_verdict has judged and paid it.
struct EpisodeHooks {
  std::function<void(const Episode&)> on_begin;  // its turn has come; it has the turns that a store had
  std::function<void(const Episode&, const Turn&)> on_question;
  std::function<void(const Episode&, const Turn&, const TokenEvent&)> on_token;
  // May change an answer before it is read, for experiments and for tests of what the judge makes of it: what is
  // learned from are its tokens, whatever the text says then.
  std::function<void(const Episode&, const Turn&, GeneratedSample&)> on_said;
  std::function<void(const Episode&, const Turn&, std::size_t sample)> on_answer;
  std::function<void(const Episode&, const Turn&, std::size_t sample)> on_verdict;
  std::function<void(const Episode&)> on_given;  // the verdict of the kernel that it begins with is there
  std::function<void(const Episode&)> on_turn;   // the last of its turns was taken
  std::function<void(const Episode&)> on_end;    // it has ended, for the reason that it says
  // A Tester that predicts: the probability that each kernel is right. Below `skip_below` the judge is not asked. It
  // may use the rollout (Rollout::generate). What it says must depend on its arguments alone.
  std::function<std::vector<double>(const Task&, const std::vector<std::string_view>& kernels)> predict_correct;
  double skip_below = 0;
};

struct EngineOptions {
  EpisodeOptions episode;       // of those that are submitted without
  std::size_t in_flight = 256;  // episodes at a time; the others wait
  int judge_workers = 0;        // 0: as many as judge_workers() says; not with a pool of somebody else's
  EpisodeStore* store = nullptr;
  // False: an episode that the store cannot keep, or whose twin it is keeping, goes on without it, and the log says so.
  bool store_required = true;
  std::string model;  // identifies the weights in the store, as AgentModel::fingerprint() does
  // Takes the results of requests that others have submitted to the rollout. Called as hooks are.
  std::function<void(GenerationResult)> on_other_result = {};
};

struct EngineStatistics {
  OverlapClock::Seconds seconds;
  std::int64_t episodes = 0;  // ended
  std::int64_t turns = 0;     // taken here, not read from the store
  std::int64_t sampled_tokens = 0;
  std::int64_t kernels = 0;  // asked about
  std::int64_t judged = 0;   // of them, really judged: equal ones are judged once; by a shared pool, for everybody
};

// What it holds now.
struct EngineLoad {
  std::size_t waiting = 0;  // episodes that have not begun
  std::size_t running = 0;
  std::size_t asking = 0;   // of these, those that wait for answers
  std::size_t entries = 0;  // of all its tables together
};

class EpisodeEngine {
 public:
  using AdapterOf = std::function<std::int32_t(AgentRole)>;

  // Everything must outlive it. While it lives it alone advances the answers and takes their results.
  static Result<std::unique_ptr<EpisodeEngine>> make(AnswerSource& answers, const Dialect& dialect, Judge& judge,
                                                     AdapterOf adapter_of, EngineOptions options,
                                                     EpisodeHooks hooks = {});
  // With a pool that others use, too.
  static Result<std::unique_ptr<EpisodeEngine>> make(AnswerSource& answers, const Dialect& dialect, JudgePool& judges,
                                                     AdapterOf adapter_of, EngineOptions options,
                                                     EpisodeHooks hooks = {});
  ~EpisodeEngine();
  EpisodeEngine(const EpisodeEngine&) = delete;
  EpisodeEngine& operator=(const EpisodeEngine&) = delete;

  // Returns the episode's ticket; from any thread, as all until advance(). With a store that is required, no two that
  // run at a time may be equal in everything.
  std::uint64_t submit(EpisodeRequest request);
  // With options and hooks of its own, instead of the engine's.
  Result<std::uint64_t> submit(EpisodeRequest request, EpisodeOptions options, EpisodeHooks hooks);
  // Wherever it is, it ends at the beginning of the next advance(), with the turns that it has; its rows and pages are
  // free then, and kernels that wait for the judge are not judged. One that has ended, or never was, is ignored.
  void cancel(std::uint64_t ticket);
  // Ends the patience of advance(): there is something else to do.
  void wake() { judged_.wake(); }

  // One step of whatever can be done. When only others have work (the judge, an endpoint), waits up to `patience`.
  // False: everything has ended, requests of others too. An error is of the decoder or, where it is required, the
  // store: who does not end the engine then has to cancel what is in progress.
  Result<bool> advance(std::chrono::milliseconds patience = std::chrono::milliseconds(50));
  // In the order in which they end.
  std::vector<Episode> take_finished();

  // All of them, in their order. Interrupted: those that are unfinished say so; a store has what they had.
  Result<std::vector<Episode>> run(std::vector<EpisodeRequest> requests);

  EngineStatistics statistics() const;
  EngineLoad load() const;

 private:
  struct Manner;
  struct Running;
  using Clock = std::chrono::steady_clock;

  EpisodeEngine(AnswerSource& answers, const Dialect& dialect, Judge* judge, JudgePool* judges, AdapterOf adapter_of,
                EngineOptions options, EpisodeHooks hooks);
  static Result<void> check(const EngineOptions& options);
  std::uint64_t take_in(EpisodeRequest request, std::shared_ptr<const Manner> manner);
  Result<void> wait_for_others(std::chrono::milliseconds patience);
  Result<void> take_submissions();
  Result<void> cancel_now(const std::vector<std::uint64_t>& tickets);
  Result<void> admit();
  Result<void> begin(Running& running);
  Result<void> take_library_verdict(Running& running, std::shared_ptr<const Verdict> verdict);
  Result<EpisodeEnd> read_stored(Running& running);
  Result<void> stored(Running& running, Result<void> result);
  Result<void> take_given_verdict(Running& running, std::shared_ptr<const Verdict> verdict);
  Result<void> ask(Running& running);
  Result<void> take_results();
  Result<void> take_answers(Running& running, std::vector<GeneratedSample> samples);
  Result<void> predict(Running& running);
  Result<void> take_verdict(Running& running, std::size_t sample, std::shared_ptr<const Verdict> verdict);
  Result<void> close_turn_if_judged(Running& running);
  Result<void> end(Running& running, EpisodeEnd end, std::string problem = "");
  void judge_kernel(Running& running, const std::string& kernel, std::size_t place);
  void judge_library(Running& running);
  Result<void> take_judged();
  void cancel_late();

  AnswerSource& answers_;
  const Dialect& dialect_;
  Scribe scribe_;
  AdapterOf adapter_of_;
  EngineOptions options_;
  std::shared_ptr<const Manner> manner_;  // of those that are submitted without one
  OverlapClock clock_;
  std::deque<std::unique_ptr<Running>> waiting_;
  std::map<std::uint64_t, std::unique_ptr<Running>> running_;  // by ticket
  std::map<RequestId, std::uint64_t> asked_;                   // by request, the episode that waits for its answers
  std::set<RequestId> dropped_;     // requests of cancelled episodes: nobody wants the result
  std::set<std::string> in_store_;  // identities of those that run
  std::vector<Episode> finished_;
  EngineStatistics statistics_;

  mutable std::mutex mutex_;  // of what follows
  std::uint64_t next_ticket_ = 0;
  std::vector<std::unique_ptr<Running>> submitted_;
  std::vector<std::uint64_t> cancelled_;

  VerdictBox judged_;
  std::unique_ptr<JudgePool> own_judges_;  // last: its threads end before what they use
  JudgePool& judges_;
};

}  // namespace kw
