#include "kernel/judge/judge_pool.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/hash.h"
#include "base/interrupt.h"
#include "kernel/judge/judge_services.h"
#include "kernel/judge/task_identity.h"

namespace kw {
namespace {

std::string key_of(const Task& task, const std::string& kernel) {
  return Sha256().add(task_identity(task)).add(kernel).hex();
}

}  // namespace

int judge_workers(const Judge& judge) {
  if (judge.options().services != nullptr) return judge.options().services->workers();
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return judge.options().gpu != nullptr ? 2 * cores : cores;
}

JudgePool::JudgePool(Judge& judge, JudgePoolOptions options) : judge_(judge), options_(std::move(options)) {
  const int workers = options_.workers > 0 ? options_.workers : judge_workers(judge);
  for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
}

JudgePool::~JudgePool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_all();
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::optional<JudgePool::Ticket> JudgePool::submit(std::shared_ptr<const Task> task, std::string kernel, Done done,
                                                   std::chrono::milliseconds patience, std::string file) {
  const std::string key = key_of(*task, kernel);
  std::unique_lock lock(mutex_);
  const auto is_known = [&] {
    const auto known = known_.find(key);
    return known != known_.end() && (known->second.job || !known->second.verdict.expired());
  };
  const auto has_place = [&] { return ending_ || is_known() || waiting_.size() < options_.most_waiting; };
  if (!room_.wait_for(lock, patience, has_place) || ending_) return std::nullopt;
  return take_in(lock, {key, std::move(task), std::move(kernel), std::move(file), {}, false}, std::move(done));
}

JudgePool::Ticket JudgePool::submit_now(std::shared_ptr<const Task> task, std::string kernel, Done done,
                                        std::string file) {
  std::string key = key_of(*task, kernel);
  std::unique_lock lock(mutex_);
  return take_in(lock, {std::move(key), std::move(task), std::move(kernel), std::move(file), {}, false},
                 std::move(done));
}

JudgePool::Ticket JudgePool::take_in(std::unique_lock<std::mutex>& lock, Job job, Done done) {
  ++submitted_;
  const Ticket ticket = next_ticket_++;
  if (known_.size() >= forget_at_) forget_old();
  Known& known = known_[job.key];
  if (auto verdict = known.verdict.lock()) {
    lock.unlock();
    done(std::move(verdict));
    return ticket;
  }
  if (!known.job) {
    known.job = std::make_shared<Job>(std::move(job));
    waiting_.push_back(known.job);
    work_.notify_one();
  }
  known.job->askers.push_back({ticket, std::move(done)});
  jobs_.emplace(ticket, known.job);
  return ticket;
}

std::future<std::shared_ptr<const Verdict>> JudgePool::submit(std::shared_ptr<const Task> task, std::string kernel) {
  const auto promise = std::make_shared<std::promise<std::shared_ptr<const Verdict>>>();
  auto future = promise->get_future();
  submit(std::move(task), std::move(kernel),
         [promise](std::shared_ptr<const Verdict> verdict) { promise->set_value(std::move(verdict)); });
  return future;
}

bool JudgePool::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(ticket);
  if (found == jobs_.end()) return false;
  const std::shared_ptr<Job> job = found->second;
  jobs_.erase(found);
  std::erase_if(job->askers, [&](const Asker& asker) { return asker.ticket == ticket; });
  if (!job->askers.empty() || job->begun) return true;
  std::erase(waiting_, job);
  known_.erase(job->key);
  room_.notify_one();
  return true;
}

void JudgePool::for_each(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto chain = [&] {
    for (std::size_t i = next++; i < count && !interrupted(); i = next++) work(i);
  };
  std::vector<std::future<void>> parts;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < std::min(count, threads_.size()); ++i) {
      const auto part = std::make_shared<std::packaged_task<void()>>(chain);
      parts.push_back(part->get_future());
      chains_.emplace_back([part] { (*part)(); });
    }
  }
  work_.notify_all();
  for (std::future<void>& part : parts) part.get();
}

std::size_t JudgePool::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::int64_t JudgePool::judged() const {
  const std::lock_guard lock(mutex_);
  return judged_;
}

std::int64_t JudgePool::submitted() const {
  const std::lock_guard lock(mutex_);
  return submitted_;
}

std::size_t JudgePool::remembered() const {
  const std::lock_guard lock(mutex_);
  return known_.size();
}

void JudgePool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return ending_ || !waiting_.empty() || !chains_.empty(); });
    if (ending_) return;
    if (!chains_.empty()) {
      const auto chain = std::move(chains_.front());
      chains_.pop_front();
      lock.unlock();
      chain();
      lock.lock();
      continue;
    }
    const std::shared_ptr<Job> job = std::move(waiting_.front());
    waiting_.pop_front();
    room_.notify_one();
    judge(lock, job);
  }
}

void JudgePool::judge(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Job>& job) {
  job->begun = true;
  lock.unlock();
  if (options_.on_begin) options_.on_begin();
  auto verdict = std::make_shared<const Verdict>(judge_.judge(*job->task, job->kernel, job->file));
  if (options_.on_end) options_.on_end();
  lock.lock();
  ++judged_;
  const auto known = known_.find(job->key);
  known->second.job = nullptr;
  // The machine's own trouble may be over the next time.
  if (verdict->status != VerdictStatus::internal_error) known->second.verdict = verdict;
  const std::vector<Asker> askers = std::exchange(job->askers, {});
  for (const Asker& asker : askers) jobs_.erase(asker.ticket);
  lock.unlock();
  for (const Asker& asker : askers) asker.done(verdict);
  lock.lock();
}

void JudgePool::forget_old() {
  std::erase_if(known_,
                [](const auto& entry) { return entry.second.job == nullptr && entry.second.verdict.expired(); });
  forget_at_ = std::max<std::size_t>(1024, 2 * known_.size());
}

JudgePool::Done VerdictBox::slot(std::uint64_t tag) {
  return [contents = contents_, tag](std::shared_ptr<const Verdict> verdict) {
    const std::lock_guard lock(contents->mutex);
    contents->judged.push_back({tag, std::move(verdict)});
    contents->filled.notify_all();
  };
}

std::vector<VerdictBox::Judged> VerdictBox::take() {
  const std::lock_guard lock(contents_->mutex);
  return std::exchange(contents_->judged, {});
}

bool VerdictBox::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(contents_->mutex);
  contents_->filled.wait_for(lock, most, [&] { return contents_->woken || !contents_->judged.empty(); });
  contents_->woken = false;
  return !contents_->judged.empty();
}

void VerdictBox::wake() {
  const std::lock_guard lock(contents_->mutex);
  contents_->woken = true;
  contents_->filled.notify_all();
}

}  // namespace kw
