#pragma once
// One run of supervised training, from what a person asks for to a folder with checkpoints, metrics and agents. It goes
// on where it was stopped. What it says to people goes to standard error.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "base/config/configuration.h"
#include "kernel/judge/judge_session.h"
#include "learn/lesson/lesson.h"
#include "learn/sft/supervised.h"

namespace kw {

// Filled from a configuration by sft_arguments(); what is not a setting is the caller's business.
struct SftArguments {
  std::string out;
  std::string name;             // of the run; empty: the folder's
  std::uint64_t show = 0;       // instead of training: so many lessons, as the model reads them
  Configuration configuration;  // of this stage alone: config.json of the run
  std::string model, method;
  std::vector<std::string> adapters;  // ROLE=FOLDER
  std::size_t vocabulary = 0, vocabulary_tasks = 0;
  std::string store;
  LessonPlan plan;
  SupervisedOptions training;
  std::string optimizer;
  double beta1 = 0, beta2 = 0, weight_decay = 0;
  double clip_norm = 0;       // 0: never
  bool eight_bit = false;     // moments of adapters
  double gpu_memory_gib = 0;  // 0: no limit
  std::int64_t rank = 0;
  double alpha = 0;
  std::string device;
  int threads = 0;
  std::size_t exam = 0, optimizer_exam = 0;
  std::uint64_t exam_seed = 0;
  std::int64_t answer_tokens = 0;
  bool constrain = true;  // answers of exams
  JudgeSessionOptions judge;
  int keep_checkpoints = 0;  // and the best
  std::uint64_t seed = 0;
  double audit = 0;
  std::string conversations;
  double own = 0;
  Communicator* ranks = nullptr;  // all call train_sft(); null: this process is alone
};

// How it ended: {"out", "step", "loss", ..., "interrupted", "agents"}.
Result<nlohmann::ordered_json> train_sft(const SftArguments& arguments);
// tokenizer.json of a model from nothing; train_sft makes it where it is not there.
Result<void> make_vocabulary(const SftArguments& arguments);

}  // namespace kw
