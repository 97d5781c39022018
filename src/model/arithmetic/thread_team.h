#pragma once
// A fixed team of threads for work of microseconds: they wait spinning for a moment before they sleep.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace kw {

class ThreadTeam {
 public:
  explicit ThreadTeam(int threads = 0);  // 0: one for each core this process may use
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const;

  // body(part) once for each part of [0, parts), on any of the threads, the caller's included; returns when all are
  // done. What a part computes must not depend on which thread does it. Not to be called from within a body.
  void run(std::int64_t parts, const std::function<void(std::int64_t part)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw
