#pragma once
// For how long two kinds of work went on, and for how long both did: whether generation and judging really overlap.

#include <array>
#include <chrono>
#include <mutex>

namespace kw {

class OverlapClock {
 public:
  enum Kind : std::size_t { generating, judging };

  struct Seconds {
    double generating = 0;  // somebody was
    double judging = 0;
    double both = 0;
    double judge_work = 0;  // of all that judged, added up
  };

  // From any thread; each begin has its end. Several may be at work on one kind.
  void begin(Kind kind) { change(kind, +1); }
  void end(Kind kind) { change(kind, -1); }

  Seconds seconds() const {
    const std::lock_guard lock(mutex_);
    return seconds_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void change(Kind kind, int by) {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    const double passed = std::chrono::duration<double>(now - since_).count();
    since_ = now;
    if (busy_[generating] > 0) seconds_.generating += passed;
    if (busy_[judging] > 0) seconds_.judging += passed;
    if (busy_[generating] > 0 && busy_[judging] > 0) seconds_.both += passed;
    seconds_.judge_work += passed * busy_[judging];
    busy_[kind] += by;
  }

  mutable std::mutex mutex_;
  std::array<int, 2> busy_{};
  Clock::time_point since_ = Clock::now();
  Seconds seconds_;
};

}  // namespace kw
