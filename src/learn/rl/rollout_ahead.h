#pragma once
// Conversations of the next steps, held and judged by a thread of its own while the trainer learns from earlier ones.
//
// With `ahead` = a, step n's are sampled by the weights that were there after step n - 1 - a (at the run's beginning:
// by those that it began with). Which weights these are never depends on who is faster, so a run has the same bits
// whenever it is repeated, or resumed. Steps are held one after the other, in order, and the curriculum sees them as it
// does without this: what is drawn for a step knows the outcomes of the step before.
//
// a = 1: step n + 1 is held while step n is learned from. More lets the thread go on while an update or an exam takes
// longer than the conversations.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "learn/rl/step_conversations.h"

namespace kw {

// The weights after a step, and how they came about (ReinforceRun::remember).
struct StepWeights {
  std::int64_t step = 0;
  std::string history;
  WeightsCopy weights;
};

// What the conversations of a step leave.
struct HeldStep {
  StepConversations held;
  Curriculum curriculum;  // what the next step draws from
  std::uint64_t next_episode = 0;
  std::int64_t age = 0;  // steps that the weights have made since they sampled
  double waited_s = 0;   // by who took it
};

class RolloutAhead {
 public:
  struct Place {
    Learner& learner;  // its sampler is used, and what never changes
    Judge& judge;
    const TaskPool& pool;
    const ReinforceOptions& options;
    PayAnswer pay;         // called by the thread, as the next
    EpisodeHooks episode;  // who wants to watch
    std::function<std::filesystem::path(std::int64_t step)> store_of;
  };

  // `known`: what step `first` and those after it may be sampled by, the newest (after step first - 1) last.
  RolloutAhead(Place place, std::int64_t first, Curriculum curriculum, std::uint64_t next_episode,
               std::vector<std::shared_ptr<const StepWeights>> known);
  // What is in progress ends where it is: a store has it as unfinished.
  ~RolloutAhead();
  RolloutAhead(const RolloutAhead&) = delete;
  RolloutAhead& operator=(const RolloutAhead&) = delete;

  // The next step's conversations, as soon as they are there. Interrupted: `held` says so.
  Result<HeldStep> take();
  // Of the next step; the thread goes on with it.
  void publish(StepWeights weights);
  // What steps after the last published one are still sampled by, without the newest: a checkpoint has that anyway.
  std::vector<std::shared_ptr<const StepWeights>> older() const;

 private:
  void work(const std::stop_token& stop);
  std::shared_ptr<const StepWeights> wait_for_weights(std::int64_t step, const std::stop_token& stop);
  Result<HeldStep> hold(std::int64_t step, const StepWeights& by, const std::stop_token& stop);

  Place place_;
  std::int64_t next_;  // step that the thread holds
  Curriculum curriculum_;
  std::uint64_t next_episode_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable_any changed_;
  std::vector<std::shared_ptr<const StepWeights>> known_;  // oldest first
  std::deque<Result<HeldStep>> done_;

  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace kw
