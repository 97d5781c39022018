#pragma once
// A judge at work in the background: kernels go in, verdicts come out, in the order in which they are ready. The same
// kernel for the same task is judged once, as long as somebody still holds the verdict or it is being made.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agents/episode/overlap_clock.h"
#include "kernel/judge/judge.h"

namespace kw {

class JudgePool {
 public:
  // 0 workers: one for each core. The judge, and the clock if there is one, must outlive it.
  JudgePool(Judge& judge, int workers, OverlapClock* clock = nullptr);
  // Waits for the kernels that are being judged; those that wait are forgotten.
  ~JudgePool();
  JudgePool(const JudgePool&) = delete;
  JudgePool& operator=(const JudgePool&) = delete;

  struct Judged {
    std::uint64_t ticket = 0;
    std::shared_ptr<const Verdict> verdict;
  };

  // The ticket is the caller's.
  void submit(std::uint64_t ticket, std::shared_ptr<const Task> task, const std::string& kernel);
  std::vector<Judged> take();
  // Until there is something to take, or the time is over.
  bool wait(std::chrono::milliseconds most);

  std::int64_t judged() const;     // kernels that were really judged
  std::int64_t submitted() const;  // kernels that were asked about

 private:
  struct Job {
    std::shared_ptr<const Task> task;
    std::string kernel;
    std::vector<std::uint64_t> tickets;
  };
  struct Known {
    std::weak_ptr<const Task> task;  // an address alone may have become another task's
    std::weak_ptr<const Verdict> verdict;
    std::shared_ptr<Job> job;  // while it is being made
  };
  using Key = std::pair<const Task*, std::string>;  // the task and the kernel's hash

  void work();
  void forget_old();

  Judge& judge_;
  OverlapClock* clock_;
  mutable std::mutex mutex_;
  std::condition_variable work_, done_;
  bool ending_ = false;
  std::deque<std::pair<Key, std::shared_ptr<Job>>> waiting_;
  std::map<Key, Known> known_;
  std::size_t forget_at_ = 1024;
  std::vector<Judged> finished_;
  std::int64_t judged_ = 0;
  std::int64_t submitted_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace kw
