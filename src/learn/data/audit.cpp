#include "learn/data/audit.h"

#include <chrono>
#include <cmath>
#include <memory>

#include "base/interrupt.h"

namespace kw {
namespace {

constexpr std::size_t most_failures_kept = 50;
constexpr std::size_t tasks_kept = 8;  // hardly one comes twice

}  // namespace

double AuditReport::error_rate_at_most() const {
  if (all.judged == 0) return 1;
  const double z = 1.959964, n = static_cast<double>(all.judged), p = error_rate();
  const double center = p + z * z / (2 * n);
  const double spread = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return (center + spread) / (1 + z * z / n);
}

bool StreamAudit::chosen(std::uint64_t seed, std::uint64_t index, double share) {
  return Random(seed ^ 0x6175646974u, index).uniform() < share;
}

StreamAudit::StreamAudit(CompileService& service, JudgeOptions judge, const ExampleStream& stream, AuditOptions options)
    : service_(service), judge_options_(std::move(judge)), stream_(stream.options()), options_(options) {
  judge_options_.want_time = false;
  judge_options_.kept_tasks.values = tasks_kept;
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

StreamAudit::~StreamAudit() = default;

void StreamAudit::used(std::uint64_t index, Level level, std::uint64_t variant) {
  const bool wanted = chosen(stream_.options().seed, index, options_.share);
  std::lock_guard lock(mutex_);
  ++report_.used;
  if (!wanted || full_) return;
  // Leaving out some in the middle would make the report depend on how fast the judge was.
  if (waiting_.size() >= options_.most_waiting) {
    full_ = true;
    return;
  }
  ++report_.chosen;
  waiting_.push_back({index, level, variant});
  changed_.notify_all();
}

void StreamAudit::work(const std::stop_token& stop) {
  Judge judge(service_, judge_options_);
  while (true) {
    Used next;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return !waiting_.empty(); }) || stop.stop_requested()) return;
      next = waiting_.front();
    }
    const DrawnTask drawn = stream_.task_at(next.index);
    const Verdict verdict =
        judge.judge(drawn.task, stream_.kernel_for(drawn, next.level, next.variant), drawn.task.name);
    std::lock_guard lock(mutex_);
    note(drawn, next, verdict);
    waiting_.pop_front();
    changed_.notify_all();
  }
}

void StreamAudit::note(const DrawnTask& drawn, const Used& used, const Verdict& verdict) {
  const std::string family(name_of(drawn.problem.family));
  const bool says_nothing =
      verdict.status == VerdictStatus::unsupported || verdict.status == VerdictStatus::internal_error;
  for (AuditCount* count : {&report_.all, &report_.by_family[family]}) {
    if (says_nothing) {
      ++count->unsupported;
      continue;
    }
    ++count->judged;
    if (!verdict.correct) ++count->wrong;
  }
  if (verdict.correct || says_nothing || report_.failures.size() >= most_failures_kept) return;
  report_.failures.push_back(
      {used.index, family, std::string(name_of(used.level)), std::string(to_string(verdict.status)), verdict.summary});
}

AuditReport StreamAudit::report() const {
  std::lock_guard lock(mutex_);
  AuditReport report = report_;
  report.waiting = waiting_.size();
  return report;
}

void StreamAudit::wait() const {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  while (!waiting_.empty() && !interrupted()) changed_.wait_for(lock, 200ms);
}

}  // namespace kw
