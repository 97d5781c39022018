#pragma once
// The exam during supervised training: held-out tasks, answered and judged for real.

#include <memory>
#include <vector>

#include "app/evaluate/exam.h"
#include "app/stages/supervised_run.h"
#include "learn/learner/learner.h"

namespace kw {

class SupervisedExaminer {
 public:
  // Arguments and learner must outlive it.
  static Result<std::unique_ptr<SupervisedExaminer>> make(const SftArguments& arguments, const LessonPlan& plan,
                                                          Learner& learner);
  Result<Evaluation> examine(std::int64_t step);

  CompileService& service() { return judge_->service(); }
  const JudgeOptions& judge_options() const { return judge_->judge().options(); }

 private:
  SupervisedExaminer(const SftArguments& arguments, Learner& learner) : arguments_(arguments), learner_(learner) {}
  Result<void> keep(const ExamResult& result, std::int64_t step) const;
  ExamScore score_for(const ExamResult& result, AgentRole role) const;

  const SftArguments& arguments_;
  Learner& learner_;
  std::unique_ptr<JudgeSession> judge_;
  std::vector<ExamQuestion> questions_;
  PackedBatch loss_batch_;
};

}  // namespace kw
