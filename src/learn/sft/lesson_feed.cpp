#include "learn/sft/lesson_feed.h"

#include <algorithm>

namespace kw {
namespace {

constexpr std::uint64_t block_lessons = 32;    // made by one thread at a time
constexpr std::uint64_t ahead_lessons = 8192;  // made and not yet wanted, at most

}  // namespace

LessonFeed::LessonFeed(const LessonSource& stream, const Dialect& dialect, std::uint64_t first, int threads)
    : stream_(stream), dialect_(dialect), position_(first), wanted_(first), taken_(first) {
  for (int i = 0; i < std::max(threads, 1); ++i) threads_.emplace_back([this] { work(); });
}

LessonFeed::~LessonFeed() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
}

void LessonFeed::work() {
  Scribe scribe(dialect_);
  while (true) {
    std::uint64_t first = 0;
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return stop_ || taken_ < wanted_ + ahead_lessons; });
      if (stop_) return;
      first = taken_;
      taken_ += block_lessons;
    }
    std::vector<Made> block;
    for (std::uint64_t i = 0; i < block_lessons; ++i) block.push_back(stream_.at(first + i, scribe));
    {
      const std::lock_guard lock(mutex_);
      ready_.emplace(first, std::move(block));
    }
    made_.notify_one();
  }
}

Result<Lesson> LessonFeed::next() {
  while (true) {
    if (current_.empty()) {
      std::unique_lock lock(mutex_);
      made_.wait(lock, [&] { return ready_.count(wanted_) > 0; });
      auto block = ready_.extract(wanted_);
      std::ranges::move(block.mapped(), std::back_inserter(current_));
      wanted_ += block_lessons;
      room_.notify_all();
    }
    Made made = std::move(current_.front());
    current_.pop_front();
    ++position_;
    if (!made.ok()) return made.error();
    if (*made) return std::move(**made);
    ++too_long_;
  }
}

}  // namespace kw
