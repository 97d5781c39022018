#pragma once
// Many conversations at once. Answers are generated in one batch over all of them while the judge works on the kernels
// of others; none waits for another. An episode's result depends on its request, the options and the weights alone:
// not on the batch, the number of judges, timing, or whether it was interrupted and went on from a store. (A budget of
// time and measured times are what they are.)
//
// Not done: choosing tasks, updating weights, saying which sample to learn from.

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
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
  EpisodeOptions episode;
  std::size_t in_flight = 256;  // episodes at a time; the others wait
  int judge_workers = 0;        // 0: as many as judge_workers() says
  EpisodeStore* store = nullptr;
  std::string model;  // identifies the weights in the store, as AgentModel::fingerprint() does
};

struct EngineStatistics {
  OverlapClock::Seconds seconds;
  std::int64_t episodes = 0;  // ended
  std::int64_t turns = 0;     // taken here, not read from the store
  std::int64_t sampled_tokens = 0;
  std::int64_t kernels = 0;  // asked about
  std::int64_t judged = 0;   // of them, really judged: equal ones are judged once
};

class EpisodeEngine {
 public:
  using AdapterOf = std::function<std::int32_t(AgentRole)>;

  // Everything must outlive it. While it lives it alone advances the rollout and takes its results.
  static Result<std::unique_ptr<EpisodeEngine>> make(Rollout& rollout, const Dialect& dialect, Judge& judge,
                                                     AdapterOf adapter_of, EngineOptions options,
                                                     EpisodeHooks hooks = {});
  ~EpisodeEngine();
  EpisodeEngine(const EpisodeEngine&) = delete;
  EpisodeEngine& operator=(const EpisodeEngine&) = delete;

  // Returns the episode's ticket. With a store, no two that run at a time may be equal in everything.
  std::uint64_t submit(EpisodeRequest request);
  // One step of whatever can be done. When only the judge has work, waits for it up to `patience`. False: everything
  // has ended. An error is of the decoder or the store, and the end of this engine; a store has the turns until then.
  Result<bool> advance(std::chrono::milliseconds patience = std::chrono::milliseconds(50));
  // In the order in which they end.
  std::vector<Episode> take_finished();

  // All of them, in their order. Interrupted: those that are unfinished say so; a store has what they had.
  Result<std::vector<Episode>> run(std::vector<EpisodeRequest> requests);

  EngineStatistics statistics() const;

 private:
  struct Running;
  using Clock = std::chrono::steady_clock;

  EpisodeEngine(Rollout& rollout, const Dialect& dialect, Judge& judge, AdapterOf adapter_of, EngineOptions options,
                EpisodeHooks hooks);
  Result<void> admit();
  Result<void> begin(Running& running);
  Result<void> take_given_verdict(Running& running, std::shared_ptr<const Verdict> verdict);
  Result<void> ask(Running& running);
  Result<void> take_answers(Running& running, std::vector<GeneratedSample> samples);
  Result<void> predict(Running& running);
  Result<void> take_verdict(Running& running, std::size_t sample, std::shared_ptr<const Verdict> verdict);
  Result<void> close_turn_if_judged(Running& running);
  Result<void> end(Running& running, EpisodeEnd end, std::string problem = "");
  Result<void> take_judged();
  void cancel_late();

  Rollout& rollout_;
  const Dialect& dialect_;
  Scribe scribe_;
  AdapterOf adapter_of_;
  EngineOptions options_;
  EpisodeHooks hooks_;
  OverlapClock clock_;
  std::uint64_t next_ticket_ = 0;
  std::deque<std::unique_ptr<Running>> waiting_;
  std::map<std::uint64_t, std::unique_ptr<Running>> running_;  // by ticket
  std::map<RequestId, std::uint64_t> asked_;                   // by request, the episode that waits for its answers
  std::set<std::string> in_store_;                             // identities of those that run
  std::vector<Episode> finished_;
  EngineStatistics statistics_;
  VerdictBox judged_;
  JudgePool judges_;  // last: its threads end before what they use
};

}  // namespace kw
