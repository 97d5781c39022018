#pragma once
// What a service that runs for months does now and then: a thread of its own calls each chore in turn, first after one
// pause.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kw {

class Housekeeping {
 public:
  template <class... Chores>
  explicit Housekeeping(std::chrono::milliseconds pause, Chores... chores)
      : pause_(pause), chores_{std::move(chores)...}, thread_([this] { run(); }) {}
  // Waits for a chore that has begun.
  ~Housekeeping();
  Housekeeping(const Housekeeping&) = delete;
  Housekeeping& operator=(const Housekeeping&) = delete;

 private:
  void run();

  const std::chrono::milliseconds pause_;
  const std::vector<std::function<void()>> chores_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace kw
