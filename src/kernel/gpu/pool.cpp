#include "kernel/gpu/pool.h"

#include <algorithm>

#include "base/log.h"
#include "kernel/sandbox/worker_deaths.h"

namespace kw {
namespace {

constexpr int most_failures = 3;
constexpr auto retry_after = std::chrono::seconds(10);
constexpr int most_starting = 4;  // at the same time

}  // namespace

Result<std::unique_ptr<GpuPool>> GpuPool::start(const GpuPoolOptions& options) {
  // Without a driver there is no need to start a process to find that out.
  if (const auto& driver = cuda_driver(); !driver.ok()) return driver.error();
  std::unique_ptr<GpuPool> pool(new GpuPool(options));
  pool->keeper_ = std::thread([raw = pool.get()] { raw->keep_ready(); });
  std::unique_lock lock(pool->mutex_);
  pool->changed_.wait(lock, [&] { return !pool->ready_.empty() || pool->failures_ >= most_failures; });
  if (pool->ready_.empty()) return Error{pool->last_failure_, "see kernelwright doctor", {}};
  pool->facts_ = pool->ready_.front()->facts();
  pool->turns_ = std::make_unique<GpuTurns>(pool->facts_.uuid);
  return pool;
}

GpuPool::~GpuPool() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (keeper_.joinable()) keeper_.join();
}

void GpuPool::keep_ready() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const int wanted = std::min(options_.workers + options_.spares - alive_, most_starting);
    if (wanted <= 0) {
      changed_.wait(lock);
      continue;
    }
    if (failures_ >= most_failures) {
      // The device may have had no memory for a moment.
      changed_.wait_for(lock, retry_after, [&] { return ending_; });
      failures_ = most_failures - 1;
      continue;
    }
    const std::uint64_t memory = facts_.memory_bytes;
    GpuTurns* turns = turns_.get();
    lock.unlock();
    const std::uint64_t resident = options_.resident_bytes > 0 ? options_.resident_bytes
                                   : memory > 0
                                       ? memory / static_cast<std::uint64_t>(std::max(10, 4 * options_.workers))
                                       : std::uint64_t{1} << 30;
    // A context that is being made would disturb a timing run. Several are made in the time of one.
    if (turns != nullptr) turns->begin_shared();
    std::vector<Result<std::unique_ptr<GpuWorker>>> starting;
    const Confinement most = options_.counters ? Confinement::filter : wanted_confinement();
    for (int i = 0; i < wanted; ++i) starting.push_back(GpuWorker::spawn(resident, most));
    for (auto& each : starting) {
      if (each.ok())
        if (const auto greeted = (*each)->greet(); !greeted.ok()) each = greeted.error();
      std::lock_guard adding(mutex_);
      add(std::move(each));
    }
    if (turns != nullptr) turns->end_shared();
    lock.lock();
  }
  ready_.clear();
}

void GpuPool::add(Result<std::unique_ptr<GpuWorker>> started) {
  if (started.ok()) {
    failures_ = 0;
    ++alive_;
    ++counts_.started;
    ready_.push_back(std::move(started).value());
    if (facts_.memory_bytes == 0) facts_.memory_bytes = ready_.back()->facts().memory_bytes;
  } else {
    ++failures_;
    last_failure_ = to_string(started.error());
    log_event(LogLevel::warn, "gpu_worker_not_started", {{"reason", last_failure_}});
  }
  changed_.notify_all();
}

Result<GpuPool::Lease> GpuPool::borrow(Wanted wanted, std::uint64_t inputs) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (ending_ || (alive_ == 0 && failures_ >= most_failures))
      return Error{"no GPU worker can be started: " + last_failure_, "", {}};
    if (lent_ < options_.workers && !ready_.empty()) {
      auto chosen =
          std::find_if(ready_.begin(), ready_.end(), [&](const auto& each) { return each->has_inputs(inputs); });
      if (chosen == ready_.end()) chosen = ready_.begin();
      if (wanted == Wanted::fresh)
        chosen = std::find_if(ready_.begin(), ready_.end(), [](const auto& each) { return each->is_fresh(); });
      if (chosen != ready_.end()) {
        auto worker = std::move(*chosen);
        ready_.erase(chosen);
        ++lent_;
        return Lease(*this, std::move(worker));
      }
      if (failures_ >= most_failures) return Error{"no fresh GPU worker can be started: " + last_failure_, "", {}};
      // All that are there have worked: one makes room for a new one.
      if (alive_ >= options_.workers + options_.spares) {
        auto used = std::move(ready_.back());
        ready_.pop_back();
        --alive_;
        lock.unlock();
        used.reset();
        lock.lock();
        changed_.notify_all();
        continue;
      }
    }
    changed_.wait(lock);
  }
}

void GpuPool::take_back(std::unique_ptr<GpuWorker> worker) {
  const bool usable = worker->is_usable();
  if (!usable) worker.reset();  // waits for its end, so not under the lock
  std::lock_guard lock(mutex_);
  --lent_;
  if (usable) {
    ready_.push_front(std::move(worker));  // the one whose inputs are resident
  } else {
    --alive_;
    ++counts_.lost;
    note_worker_death(WorkerKind::gpu);
  }
  changed_.notify_all();
}

GpuPoolCounts GpuPool::counts() {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace kw
