#pragma once
// Where answers come from: a decoder here (rollout.h), or somebody else's server. Many requests at once; each has its
// result when all of its samples are there.

#include <functional>
#include <vector>

#include "model/rollout/generation.h"

namespace kw {

// Counts since the start. Of answers from elsewhere: the tokens, as the server counts them.
struct RolloutStatistics {
  std::int64_t steps = 0;
  std::int64_t sampled_tokens = 0;
  std::int64_t forced_tokens = 0;      // besides: the only ones that a constraint allowed
  std::int64_t resamples = 0;          // answers that were begun anew, once each time
  std::int64_t prompt_tokens = 0;      // computed for the first time, the samples' shared part once
  std::int64_t recomputed_tokens = 0;  // computed again
  std::int64_t preemptions = 0;
  std::int64_t flushes = 0;  // of all pages, by new weights
  std::int64_t copied_pages = 0;
  std::int64_t most_pages = 0;  // in use at a time
};

class AnswerSource {
 public:
  virtual ~AnswerSource() = default;

  // From any thread. What is wrong with a request is said here.
  virtual Result<RequestId> submit(GenerationRequest request) = 0;
  virtual void cancel(RequestId id) = 0;  // one that has ended, or never was, is ignored
  virtual std::vector<GenerationResult> take_finished() = 0;
  virtual bool idle() const = 0;  // nothing is waiting or in progress; results may be there

  // One step, by the thread that owns it. False: there was nothing to do. After an error everything is as before the
  // step, and it can be tried again.
  virtual Result<bool> advance() = 0;
  // Takes what was submitted and cancelled, by the owner's thread and not from a callback: what is cancelled costs
  // nothing from now on, and its callback is not called any more.
  virtual void settle() = 0;

  // Others compute: a step only hands out what has come. `arrived` is called, by any thread, when there is more to hand
  // out; null: nobody wants to know.
  virtual bool elsewhere() const { return false; }
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps it
  virtual void on_arrival(std::function<void()> /*arrived*/) {}

  virtual const RolloutStatistics& statistics() const = 0;  // owner's thread only
  virtual std::int64_t used_pages() const { return 0; }     // the same
  virtual std::int64_t running() const { return 0; }        // sequences in progress; the same
};

}  // namespace kw
