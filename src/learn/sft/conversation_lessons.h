#pragma once
// Lessons from conversations that the agents had themselves (stage 1.5): answers that worked, exactly as they were
// sampled. Answers of an endpoint, which have no tokens of ours, are told in the learner's own words
// (retold_conversation.h). A Generator's worked when the kernel is right; an Optimizer's when it repaired the kernel it
// was given, or made it faster.

#include <set>

#include "agents/episode/episode_store.h"
#include "learn/lesson/lesson.h"

namespace kw {

// Whether an answer is worth learning from. `given`: the verdict of the kernel that an Optimizer was shown.
bool worked(const Turn& turn, const TurnSample& sample, const Verdict* given);

class ConversationLessons : public LessonSource {
 public:
  // All finished conversations of the store; equal answers to equal prompts count once. A conversation whose task
  // cannot be read is passed over. Fails when none worked. The scribe is the learner's.
  static Result<ConversationLessons> load(EpisodeStore& store, std::uint64_t seed, std::int64_t longest,
                                          Scribe& scribe);

  // Lesson i: every answer once in each round, each round in another order.
  Result<std::optional<Lesson>> at(std::uint64_t index, Scribe& scribe) const override;
  std::int64_t longest() const override { return longest_; }
  const std::vector<Lesson>& lessons() const { return lessons_; }
  std::int64_t answers() const { return answers_; }  // that were looked at
  std::int64_t retold() const { return retold_; }    // of the lessons, those from another model
  // Conversations that were passed over, and why the first one was.
  std::int64_t unreadable() const { return unreadable_; }
  const std::string& first_problem() const { return first_problem_; }
  // Benchmarks whose questions are among the lessons (by the family of their tasks).
  const std::set<std::string>& benchmarks() const { return benchmarks_; }

 private:
  Result<void> add(const StoredEpisode& episode, Scribe& scribe);

  std::vector<Lesson> lessons_;
  std::set<std::vector<TokenId>> seen_;
  std::int64_t answers_ = 0;
  std::int64_t retold_ = 0;
  std::int64_t unreadable_ = 0;
  std::string first_problem_;
  std::set<std::string> benchmarks_;
  std::uint64_t seed_ = 0;
  std::int64_t longest_ = 0;
};

// A share of one source among lessons of another: what was learnt before is not forgotten.
class MixedLessons : public LessonSource {
 public:
  MixedLessons(const LessonSource& first, const LessonSource& second, double share_of_first, std::uint64_t seed)
      : first_(first), second_(second), share_(share_of_first), seed_(seed) {}
  Result<std::optional<Lesson>> at(std::uint64_t index, Scribe& scribe) const override;
  std::int64_t longest() const override { return std::max(first_.longest(), second_.longest()); }

 private:
  const LessonSource& first_;
  const LessonSource& second_;
  double share_;
  std::uint64_t seed_;
};

}  // namespace kw
