#pragma once
// Threads that judge kernels while the caller does something else. A kernel that is handed in twice for the same task
// is judged once.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernel/judge/judge.h"

namespace kw {

class ExamJudges {
 public:
  using Ticket = std::size_t;

  // The judge must outlive it. workers 0: all cores, twice as many where a GPU judges, because most of them wait then.
  ExamJudges(Judge& judge, int workers);
  // Waits for kernels that are being judged; the others are dropped.
  ~ExamJudges();
  ExamJudges(const ExamJudges&) = delete;
  ExamJudges& operator=(const ExamJudges&) = delete;

  // The task must outlive the pool.
  Ticket submit(const Task& task, const std::string& kernel);
  // How many submitted kernels have their verdict, twins counted each.
  std::size_t done() const;
  // False: not everything is done after that time. After an interrupt no further kernel is begun.
  bool wait_for_all(std::chrono::milliseconds at_most);
  // None: it is not judged yet.
  std::optional<Verdict> verdict(Ticket ticket) const;

 private:
  struct Slot {
    const Task* task = nullptr;
    std::string kernel;
    std::size_t twins = 1;
    std::optional<Verdict> verdict;
  };
  void work();

  Judge& judge_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_, finished_;
  std::deque<Slot> slots_;  // stay where they are
  std::map<std::string, Ticket> tickets_;
  std::size_t next_ = 0;  // the first slot that nobody works on
  std::size_t submitted_ = 0, done_ = 0;
  bool closing_ = false;
  std::vector<std::jthread> threads_;  // last: joined before the rest is destroyed
};

// The result of make(0) ... make(count - 1), on all cores.
template <class Value, class Make>
std::vector<Value> made_in_parallel(std::size_t count, const Make& make) {
  std::vector<Value> made(count);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) made[i] = make(i);
  };
  std::vector<std::jthread> threads;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < std::min(count, cores); ++i) threads.emplace_back(work);
  threads.clear();
  return made;
}

}  // namespace kw
