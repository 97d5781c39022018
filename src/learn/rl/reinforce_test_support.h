#pragma once
// Test code: a model from nothing with a small vocabulary, and a run that is paid for one token.

#include <gtest/gtest.h>

#include "kernel/judge/judge_test_support.h"
#include "learn/rl/reinforce.h"

namespace kw {

inline Result<Tokenizer> test_tokenizer() {
  std::vector<std::string> kernels;
  for (const char* name : {"row_sum", "relu", "softmax"}) kernels.push_back(suite_task(name).naive);
  return train_compact_tokenizer(std::vector<std::string_view>(kernels.begin(), kernels.end()), 400);
}

inline std::unique_ptr<Learner> test_learner(bool value_head = false, Communicator* ranks = nullptr,
                                             bool sampler = false) {
  LearnerOptions options;
  options.device = "cpu";
  options.threads = 1;
  options.seed = 3;
  options.value_head = value_head;
  options.ranks = ranks;
  options.sampler = sampler;
  auto learner = Learner::from_preset("tiny-1m", test_tokenizer().value(), options);
  EXPECT_TRUE(learner.ok()) << to_string(learner.error());
  return std::move(learner).value();
}

inline std::vector<float> weights_of(Learner& learner) {
  Parameters parameters(learner.description());
  EXPECT_TRUE(learner.trainer().read_parameters(parameters).ok());
  return parameters.values;
}

inline const TaskPool& test_pool() {
  static const TaskPool pool = [] {
    StreamOptions stream;
    stream.seed = 5;
    stream.families = {Family::elementwise};
    return draw_task_pool(stream, 12).value();
  }();
  return pool;
}

// What an answer is paid: the share of its tokens that are in the lower half of the vocabulary.
inline void pay_for_low_tokens(const Episode&, const Turn&, TurnSample& sample) {
  double low = 0;
  for (const std::int32_t token : sample.tokens) low += token < 200;
  sample.reward = low / static_cast<double>(std::max<std::size_t>(sample.tokens.size(), 1));
}

inline ReinforceOptions short_run(Algorithm algorithm = Algorithm::grpo) {
  ReinforceOptions options = reinforce_options(algorithm);
  options.steps = 4;
  options.tasks = 2;
  options.group = 3;
  options.episode = episode_options().value();
  options.episode.turns = 1;
  options.episode.answer_tokens = 8;
  options.learning_rate = 1e-3;
  options.warm_up_steps = 0;
  options.judge_workers = 1;
  options.evaluations = 0;
  options.checkpoint_every = 2;
  options.start = "a test";
  return options;
}

// What was logged and does not depend on the clock.
class LogInMemory : public RunLog {
 public:
  Result<void> metrics(std::int64_t step, const Metrics& metrics) override {
    for (const auto& [name, value] : metrics) {
      if (!is_timing(name)) lines.emplace_back(step, name, value);
      latest[name] = value;
    }
    return {};
  }
  Result<void> text(std::int64_t, std::string_view, std::string_view) override { return {}; }
  Result<void> flush() override { return {}; }
  Result<void> set_configuration(const nlohmann::ordered_json&) override { return {}; }
  Result<void> finish(std::string_view, const nlohmann::ordered_json&) override { return {}; }
  std::vector<std::tuple<std::int64_t, std::string, double>> lines;
  std::map<std::string, double> latest;
};

inline Curriculum test_curriculum() { return make_curriculum(test_pool(), "none", 9).value(); }

}  // namespace kw
