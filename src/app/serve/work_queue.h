#pragma once
// A few threads for what an I/O thread must not wait for: reading tasks, running references, databases. Bounded: what
// does not fit is refused, so that a flood of requests is answered with 503 instead of filling memory.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kw {

class WorkQueue {
 public:
  WorkQueue(int threads, std::size_t most_waiting);
  ~WorkQueue();
  // Waits for what has begun; what waits is dropped, and with it whatever it holds.
  void stop();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // False: the queue is full, or ending. From any thread, also from a thread of the queue.
  bool submit(std::function<void()> work);
  std::size_t waiting() const;

 private:
  void run();

  const std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kw
