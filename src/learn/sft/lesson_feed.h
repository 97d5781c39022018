#pragma once
// Lessons made ahead by threads and handed out in the order of their indices, so that what is trained on does not
// depend on how many threads there are.

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "learn/lesson/lesson.h"

namespace kw {

class LessonFeed {
 public:
  // The stream must outlive it. `first`: index of the first lesson.
  LessonFeed(const LessonSource& stream, const Dialect& dialect, std::uint64_t first, int threads);
  ~LessonFeed();
  LessonFeed(const LessonFeed&) = delete;
  LessonFeed& operator=(const LessonFeed&) = delete;

  // The next one that is not too long.
  Result<Lesson> next();
  // Index after the last lesson that was handed out.
  std::uint64_t position() const { return position_; }
  std::uint64_t too_long() const { return too_long_; }

 private:
  using Made = Result<std::optional<Lesson>>;
  void work();

  const LessonSource& stream_;
  const Dialect& dialect_;
  std::uint64_t position_;
  std::uint64_t too_long_ = 0;

  std::mutex mutex_;
  std::condition_variable room_, made_;
  std::uint64_t wanted_;                              // next index to be handed out
  std::uint64_t taken_;                               // next index that nobody makes yet
  std::map<std::uint64_t, std::vector<Made>> ready_;  // blocks of lessons by their first index
  std::deque<Made> current_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace kw
