#pragma once
// Test code: a small vocabulary, real kernels, and an engine that a script speaks through.

#include <gtest/gtest.h>

#include "agents/episode/episode_engine.h"
#include "agents/episode/episode_json.h"
#include "agents/episode/scripted_decoder.h"
#include "kernel/judge/judge_test_support.h"

namespace kw {

inline const Dialect& test_dialect() {
  static const Dialect dialect = [] {
    std::vector<std::string> kernels;
    for (const char* name : {"row_sum", "relu", "softmax"}) kernels.push_back(suite_task(name).naive);
    const std::vector<std::string_view> texts(kernels.begin(), kernels.end());
    auto prompts = PromptBook::load(source_root() / "prompts").value();
    return Dialect::make(train_compact_tokenizer(texts, 400).value(), std::move(prompts)).value();
  }();
  return dialect;
}

inline std::shared_ptr<const Task> shared_task(const std::string& name) {
  return std::make_shared<const Task>(suite_task(name));
}

// Kernels of row_sum.
struct RowSum {
  std::string broken = file_text(source_root() / "tests/bugs/row_sum_loop_one_too_far.cu");
  std::string naive = suite_task("row_sum").naive;
  std::string fast = file_text(source_root() / "examples/row_sum_warp.cu");
};

// The Generator writes a broken kernel; the Optimizer repairs it, makes it fast, and then has no more to say.
inline std::string row_sum_script(const ScriptedQuestion& question) {
  static const RowSum kernels;
  const auto says = [&](std::string_view part) { return question.prompt.find(part) != std::string::npos; };
  if (says("<|gen|>")) return kernels.broken;
  if (says("<|verdict|>fault")) return kernels.naive;
  if (says("<|verdict|>correct 1.0x")) return kernels.fast;
  return "It cannot be made any faster.";
}

inline EngineOptions engine_options() {
  EngineOptions options;
  options.episode = episode_options().value();
  options.judge_workers = 2;
  return options;
}

struct Scripted {
  explicit Scripted(ScriptedDecoder::Script script) : decoder(test_dialect(), std::move(script)) {}

  std::vector<Episode> run(std::vector<EpisodeRequest> requests, const EngineOptions& options,
                           EpisodeHooks hooks = {}) {
    Rollout rollout(decoder, &test_dialect().tokenizer());
    auto engine = EpisodeEngine::make(
        rollout, test_dialect(), test_judge(), [](AgentRole role) { return role == AgentRole::generator ? 0 : 1; },
        options, std::move(hooks));
    EXPECT_TRUE(engine.ok()) << to_string(engine.error());
    auto episodes = (*engine)->run(std::move(requests));
    EXPECT_TRUE(episodes.ok()) << to_string(episodes.error());
    statistics = (*engine)->statistics();
    return std::move(episodes).value();
  }

  Episode run_one(const EpisodeRequest& request, const EngineOptions& options, EpisodeHooks hooks = {}) {
    return run({request}, options, std::move(hooks)).at(0);
  }

  ScriptedDecoder decoder;
  EngineStatistics statistics;
};

// All that is reproducible of an episode, as text to compare.
inline std::string reproducible(const Episode& episode) {
  return to_json(episode, JsonDetail::reproducible).dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace kw
