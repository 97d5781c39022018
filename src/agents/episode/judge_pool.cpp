#include "agents/episode/judge_pool.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/parallel_for.h"

namespace kw {

JudgePool::JudgePool(Judge& judge, int workers, OverlapClock* clock) : judge_(judge), clock_(clock) {
  if (workers <= 0) workers = core_count();
  for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
}

JudgePool::~JudgePool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    waiting_.clear();
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void JudgePool::submit(std::uint64_t ticket, std::shared_ptr<const Task> task, const std::string& kernel) {
  const Key key(task.get(), sha256_hex(kernel));
  const std::lock_guard lock(mutex_);
  ++submitted_;
  if (known_.size() >= forget_at_) forget_old();
  Known& known = known_[key];
  if (known.task.lock() != task) known = Known{task, {}, nullptr};
  if (auto verdict = known.verdict.lock()) {
    finished_.push_back({ticket, std::move(verdict)});
    done_.notify_all();
    return;
  }
  if (known.job) {
    known.job->tickets.push_back(ticket);
    return;
  }
  known.job = std::make_shared<Job>(Job{std::move(task), kernel, {ticket}});
  waiting_.emplace_back(key, known.job);
  work_.notify_one();
}

std::vector<JudgePool::Judged> JudgePool::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

bool JudgePool::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, most, [&] { return !finished_.empty(); });
}

std::int64_t JudgePool::judged() const {
  const std::lock_guard lock(mutex_);
  return judged_;
}

std::int64_t JudgePool::submitted() const {
  const std::lock_guard lock(mutex_);
  return submitted_;
}

void JudgePool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    const auto [key, job] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (clock_ != nullptr) clock_->begin(OverlapClock::judging);
    auto verdict = std::make_shared<const Verdict>(judge_.judge(*job->task, job->kernel, "kernel.cu"));
    if (clock_ != nullptr) clock_->end(OverlapClock::judging);
    lock.lock();
    ++judged_;
    const auto known = known_.find(key);
    if (known != known_.end() && known->second.job == job) {
      known->second.job = nullptr;
      // The machine's own trouble may be over the next time.
      if (verdict->status != VerdictStatus::internal_error) known->second.verdict = verdict;
    }
    for (const std::uint64_t ticket : job->tickets) finished_.push_back({ticket, verdict});
    done_.notify_all();
  }
}

void JudgePool::forget_old() {
  std::erase_if(known_,
                [](const auto& entry) { return entry.second.job == nullptr && entry.second.verdict.expired(); });
  forget_at_ = std::max<std::size_t>(1024, 2 * known_.size());
}

}  // namespace kw
