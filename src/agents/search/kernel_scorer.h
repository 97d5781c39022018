#pragma once
// What a search asks about kernels: which code they become, what the judge says of them, and, where there is a GPU,
// what time they take there.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernel/judge/judge_pool.h"
#include "kernel/judge/judge_session.h"

namespace kw {

class KernelScorer {
 public:
  using Done = JudgePool::Done;
  virtual ~KernelScorer() = default;

  // Two kernels with equal names of their code launch the same machine code in the same way, so one verdict serves
  // both. Empty: it cannot be built, and the verdict will say why.
  virtual std::vector<std::string> code_of(const std::vector<std::string>& kernels) = 0;
  // `done` is called by any thread.
  virtual void judge(const std::string& kernel, Done done) = 0;
  // Whether times are measured besides. If not, those of the verdicts are all there is.
  virtual bool measures() const = 0;
  // A measurement of its own each time that it is asked for.
  virtual void measure(const std::string& kernel, Done done) = 0;
  // What waits is not judged: its `done` is never called.
  virtual void drop_waiting() = 0;
};

// With the judge of a session. On a GPU the emulator judges first, and a kernel that it finds right may be measured.
class JudgeScorer : public KernelScorer {
 public:
  // The session outlives it.
  JudgeScorer(JudgeSession& session, std::shared_ptr<const Task> task);
  ~JudgeScorer() override;

  std::vector<std::string> code_of(const std::vector<std::string>& kernels) override;
  void judge(const std::string& kernel, Done done) override;
  bool measures() const override { return measuring_ != nullptr; }
  void measure(const std::string& kernel, Done done) override;
  void drop_waiting() override;

 private:
  std::string code_of(const std::string& kernel);

  JudgeSession& session_;
  std::shared_ptr<const Task> task_;
  std::unique_ptr<Judge> modelling_, measuring_;  // null: the session's own judges, and nothing measures
  std::unique_ptr<JudgePool> judges_, meters_;
  std::vector<JudgePool::Ticket> judged_, measured_;
  std::uint64_t measurements_ = 0;
};

}  // namespace kw
