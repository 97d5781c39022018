#pragma once
// One run of supervised training, from what a person asks for to a folder with checkpoints, metrics and agents. It goes
// on where it was stopped. What it says to people goes to standard error.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/judge/judge_session.h"
#include "learn/lesson/lesson.h"
#include "learn/sft/supervised.h"

namespace kw {

struct SftArguments {
  std::string out;
  std::string name;  // of the run; empty: the folder's
  std::string model = "tiny-6m";
  std::string method = "full";
  std::vector<std::string> adapters;  // ROLE=FOLDER
  std::size_t vocabulary = 2048;
  std::size_t vocabulary_tasks = 20000;
  std::string store;
  std::vector<std::string> lessons;  // KIND=SHARE
  LessonPlan plan;
  SupervisedOptions training;
  std::string optimizer = "adamw";
  double beta1 = 0.9, beta2 = 0.95, weight_decay = 0.01;
  double clip_norm = 1;  // 0: never
  std::int64_t rank = 16;
  double alpha = 32;
  std::string device = "auto";
  int threads = 0;
  std::size_t exam = 64;
  std::size_t optimizer_exam = 24;
  std::uint64_t exam_seed = 7001;
  std::int64_t answer_tokens = 1024;
  JudgeSessionOptions judge{.backend = "emulator", .profile = "h200", .purpose = JudgePurpose::training};
  int keep_checkpoints = 2;  // and the best
  std::uint64_t seed = 1;
  std::uint64_t show = 0;
  double audit = 0.01;
  std::string conversations;
  double own = 0.5;
};

// How it ended: {"out", "step", "loss", ..., "interrupted", "agents"}.
Result<nlohmann::ordered_json> train_sft(const SftArguments& arguments);
// tokenizer.json of a model from nothing; train_sft makes it where it is not there.
Result<void> make_vocabulary(const SftArguments& arguments);

}  // namespace kw
