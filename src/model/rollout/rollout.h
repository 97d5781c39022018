#pragma once
// Many requests on one decoder at once. Requests join and leave between steps; a step takes one token of each answer in
// progress first and fills up with chunks of prompts. The pages of a prompt are shared by its samples. When pages run
// out, the youngest sequences give theirs back and are computed again later: with a decoder whose rows do not depend on
// each other, no answer changes by that. After a change of weights all pages are dropped, and answers in progress go on
// with the new weights.
//
// Not done: sharing of prompts between requests, priorities other than age.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "model/rollout/answer_source.h"
#include "model/rollout/answer_text.h"
#include "model/rollout/page_pool.h"
#include "model/tokenizer/tokenizer.h"

namespace kw {

struct RolloutOptions {
  std::int64_t step_tokens = 512;   // of a step, all rows together; never more than the decoder's most_tokens()
  std::int64_t most_running = 256;  // sequences that have pages
};

class Rollout : public AnswerSource {
 public:
  // Both outlive it. Without a tokenizer there are no texts and no stop strings.
  explicit Rollout(Decoder& decoder, const Tokenizer* tokenizer = nullptr, RolloutOptions options = {});
  ~Rollout() override;
  Rollout(const Rollout&) = delete;
  Rollout& operator=(const Rollout&) = delete;

  Result<RequestId> submit(GenerationRequest request) override;
  void cancel(RequestId id) override;
  std::vector<GenerationResult> take_finished() override;
  bool idle() const override;
  // One step of the decoder.
  Result<bool> advance() override;
  // Requests that are cancelled give their rows and pages back now, not with the next step.
  void settle() override { take_submissions(); }

  // Submits all and advances until they are done; results in the order of the requests. Others' requests go on.
  Result<std::vector<GenerationResult>> generate(std::vector<GenerationRequest> requests);

  const RolloutStatistics& statistics() const override { return statistics_; }
  std::int64_t used_pages() const override { return pool_.used(); }
  // Sequences that have pages, shared beginnings of prompts too.
  std::int64_t running() const override { return static_cast<std::int64_t>(running_.size()); }

 private:
  struct Group;
  // A sample, or the part of a prompt that samples share ("trunk").
  struct Sequence;
  struct Younger {
    bool operator()(const Sequence* a, const Sequence* b) const;
  };
  using ByAge = std::set<Sequence*, Younger>;  // oldest first
  struct Planned {
    Sequence* sequence = nullptr;
    std::int64_t count = 0;  // tokens of this step
  };
  enum class Start { now, later, no_room };
  using Clock = std::chrono::steady_clock;

  void take_submissions();
  void flush_if_weights_changed();
  Result<void> admit();
  Result<Start> start(Sequence& sequence);
  bool is_oldest(const Sequence& sequence) const;
  Result<void> fork(Sequence& sequence, const Sequence& trunk);
  bool make_room(std::int64_t pages, const Sequence& sequence, bool evict);
  void take_pages(Sequence& sequence, std::int64_t tokens);
  void drop_pages(Sequence& sequence);
  void preempt(Sequence& sequence);
  std::vector<Planned> plan();
  void begin_answer(Sequence& sequence);
  void take_token(Sequence& sequence, const SampledToken& token);
  void take_forced(Sequence& sequence);
  bool resample(Sequence& sequence, FinishReason reason);
  void finish(Sequence& sequence, FinishReason reason, const SampledToken& last);
  void close_groups();
  std::int64_t budget() const;
  std::int64_t most_running() const;
  std::int64_t pages_for(std::int64_t tokens) const;
  std::int64_t room() const;  // tokens that one sequence can have
  double seconds_of(const Group& group) const;

  Decoder& decoder_;
  const Tokenizer* tokenizer_;
  RolloutOptions options_;
  PagePool pool_;
  std::int64_t weights_version_;
  std::map<RequestId, std::unique_ptr<Group>> groups_;
  std::vector<RequestId> ended_;  // all samples are done, the result is not handed out yet
  ByAge waiting_;                 // samples without pages
  ByAge running_;                 // with pages, trunks too
  // While admit() works: tokens that the running sequences have to compute, and how many sequences have any.
  std::int64_t pending_tokens_ = 0;
  std::int64_t active_ = 0;
  RolloutStatistics statistics_;

  mutable std::mutex mutex_;  // of what follows
  RequestId next_id_ = 1;
  std::vector<std::unique_ptr<Group>> submitted_;
  std::vector<RequestId> cancelled_;
  std::vector<GenerationResult> finished_;
  std::int64_t open_ = 0;  // requests without a result
};

}  // namespace kw
