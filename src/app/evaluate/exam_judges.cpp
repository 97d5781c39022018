#include "app/evaluate/exam_judges.h"

#include <algorithm>

#include "base/hash.h"
#include "base/interrupt.h"

namespace kw {
namespace {

std::string key_of(const Task& task, const std::string& kernel) {
  Sha256 hash;
  hash.add(task.name).add(task.pytorch).add(task.naive).add(task.launcher_declaration());
  for (const Sizes& sizes : task.all_sizes()) hash.add(to_string(sizes));
  return hash.add(kernel).hex();
}

int workers_for(const Judge& judge, int wanted) {
  if (wanted > 0) return wanted;
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return judge.options().gpu != nullptr ? 2 * cores : cores;
}

}  // namespace

ExamJudges::ExamJudges(Judge& judge, int workers) : judge_(judge) {
  for (int i = workers_for(judge, workers); i > 0; --i) threads_.emplace_back([this] { work(); });
}

ExamJudges::~ExamJudges() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wanted_.notify_all();
}

ExamJudges::Ticket ExamJudges::submit(const Task& task, const std::string& kernel) {
  const std::string key = key_of(task, kernel);
  const std::lock_guard lock(mutex_);
  ++submitted_;
  const auto [place, is_new] = tickets_.emplace(key, slots_.size());
  if (is_new) {
    slots_.push_back({&task, kernel, 1, std::nullopt});
    wanted_.notify_one();
  } else {
    Slot& slot = slots_[place->second];
    ++slot.twins;
    if (slot.verdict) ++done_;
  }
  return place->second;
}

std::size_t ExamJudges::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

bool ExamJudges::wait_for_all(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  return finished_.wait_for(lock, at_most, [this] { return done_ == submitted_; });
}

std::optional<Verdict> ExamJudges::verdict(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  return slots_.at(ticket).verdict;
}

void ExamJudges::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return closing_ || next_ < slots_.size(); });
    if (closing_ || interrupted()) return;
    Slot& slot = slots_[next_++];
    lock.unlock();
    Verdict verdict = judge_.judge(*slot.task, slot.kernel, slot.task->name);
    lock.lock();
    slot.verdict = std::move(verdict);
    done_ += slot.twins;
    finished_.notify_all();
  }
}

}  // namespace kw
