#pragma once
// What a search asks about kernels: what they look like before a verdict, what the judge says of them, and, where there
// is a GPU, what time they take there.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agents/search/kernel_look.h"
#include "kernel/judge/judge_pool.h"
#include "kernel/judge/judge_session.h"

namespace kw {

class KernelScorer {
 public:
  using Done = JudgePool::Done;
  virtual ~KernelScorer() = default;

  // `model` false: without a modelled time.
  virtual std::vector<KernelLook> look_at(const std::vector<std::string>& kernels, bool model) = 0;
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

  std::vector<KernelLook> look_at(const std::vector<std::string>& kernels, bool model) override;
  void judge(const std::string& kernel, Done done) override;
  bool measures() const override { return measuring_ != nullptr; }
  void measure(const std::string& kernel, Done done) override;
  void drop_waiting() override;

 private:
  JudgeSession& session_;
  std::shared_ptr<const Task> task_;
  std::unique_ptr<Judge> modelling_, measuring_;  // null: the session's own judges, and nothing measures
  std::unique_ptr<JudgePool> judges_, meters_;
  std::vector<JudgePool::Ticket> judged_, measured_;
  std::uint64_t measurements_ = 0;
};

}  // namespace kw
