#pragma once
// The exam before, during and after reinforcement learning: conversations about held-out tasks, sampled as
// training samples them unless told otherwise: what is improved is the policy, not its likeliest answer alone. Their
// first turn is the Generator's answer word for word, so one exam says both what a single answer and what a
// conversation is worth.

#include <filesystem>

#include "agents/reward/shape.h"
#include "app/evaluate/exam.h"
#include "learn/learner/learner.h"
#include "learn/rl/reinforce.h"

namespace kw {

struct RlExamOptions {
  std::size_t questions = 64;
  std::uint64_t seed = 7001;
  std::int64_t samples = 1;  // conversations about each task
  float temperature = 1;
  int turns = 2;
  RewardShape worth;  // of a kernel, whoever wrote it
  std::int64_t answer_tokens = 1024;
  bool constrain = true;
  int judge_workers = 0;
  std::string model;             // for the records
  std::filesystem::path folder;  // of the papers: one record for each answer, as `evaluate` keeps them
};

class RlExaminer {
 public:
  RlExaminer(RlExamOptions options, Learner& learner, Judge& judge);
  Result<HeldOutScore> examine(std::int64_t step);

 private:
  Result<void> keep(const ExamResult& exam, std::int64_t step) const;

  RlExamOptions options_;
  Learner& learner_;
  Judge& judge_;
  std::vector<ExamQuestion> questions_;
};

}  // namespace kw
