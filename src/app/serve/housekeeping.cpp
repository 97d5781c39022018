#include "app/serve/housekeeping.h"

namespace kw {

Housekeeping::~Housekeeping() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Housekeeping::run() {
  for (std::unique_lock lock(mutex_); !changed_.wait_for(lock, pause_, [this] { return ending_; });) {
    lock.unlock();
    for (const auto& chore : chores_) chore();
    lock.lock();
  }
}

}  // namespace kw
