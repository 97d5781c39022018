#pragma once
// How often the stream is wrong: a random share of the examples that a trainer used goes through the judge in a
// background thread. Which ones is decided by seed and index alone. They are judged in the order in which they were
// used, so a report is of the first so many of them, whatever the thread's speed.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agents/grammar/stream.h"
#include "kernel/judge/judge.h"
#include "learn/data/trial.h"

namespace kw {

struct AuditOptions {
  double share = 0.01;                // of the examples that are used
  std::size_t most_waiting = 10'000;  // beyond that the rest of the stream is not looked at
};

struct AuditCount {
  std::uint64_t judged = 0;
  std::uint64_t wrong = 0;
  std::uint64_t unsupported = 0;  // says nothing about the kernel; not in judged
};

struct AuditReport {
  std::uint64_t used = 0;     // examples the trainer spoke of
  std::uint64_t chosen = 0;   // of them, to be judged
  std::uint64_t waiting = 0;  // of them, not judged yet
  AuditCount all;
  std::map<std::string, AuditCount> by_family;
  std::vector<TrialFailure> failures;  // the first ones

  double error_rate() const { return all.judged == 0 ? 0 : double(all.wrong) / double(all.judged); }
  // What the true rate is below, with 97.5 % confidence (Wilson's interval): a few right ones prove little.
  double error_rate_at_most() const;
};

class StreamAudit {
 public:
  // Service must outlive the audit. No time is modelled, whatever the judge's options say.
  StreamAudit(CompileService& service, JudgeOptions judge, const ExampleStream& stream, AuditOptions options = {});
  // Ends after the kernel that is being judged.
  ~StreamAudit();
  StreamAudit(const StreamAudit&) = delete;
  StreamAudit& operator=(const StreamAudit&) = delete;

  // The trainer used kernel_for(task_at(index), level, variant). Costs next to nothing; from any thread.
  void used(std::uint64_t index, Level level, std::uint64_t variant);
  // The same for example_at(index).
  void used(const Example& example) { used(example.drawn.index, example.level, 1); }

  AuditReport report() const;
  // Waits until nothing waits any more, or until an interrupt.
  void wait() const;

  static bool chosen(std::uint64_t seed, std::uint64_t index, double share);

 private:
  struct Used {
    std::uint64_t index = 0;
    Level level = Level::naive;
    std::uint64_t variant = 0;
  };
  void work(const std::stop_token& stop);
  void note(const DrawnTask& drawn, const Used& used, const Verdict& verdict);

  CompileService& service_;
  JudgeOptions judge_options_;
  const ExampleStream stream_;
  const AuditOptions options_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::deque<Used> waiting_;  // the front one is being judged
  bool full_ = false;
  AuditReport report_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace kw
