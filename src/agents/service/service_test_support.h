#pragma once
// Test code: services whose model is a script, and listeners that wait for what they are told.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <semaphore>

#include "agents/episode/episode_test_support.h"
#include "agents/service/agent_service.h"

namespace kw {

// Fails when it is told to.
class FaultyDecoder : public ScriptedDecoder {
 public:
  using ScriptedDecoder::ScriptedDecoder;
  Result<std::vector<SampledToken>> step(std::span<const DecoderRow> rows) override {
    if (fails.exchange(false)) return Error{"the device is gone", "", {}};
    return ScriptedDecoder::step(rows);
  }
  std::atomic<bool> fails = false;
};

// The agents, spoken by a script: the Generator has adapter 0, the Optimizer 1.
class ScriptedModel : public AgentModel {
 public:
  explicit ScriptedModel(ScriptedDecoder::Script script) : decoder_(test_dialect(), std::move(script)) {}

  const std::string& name() const override { return name_; }
  const std::string& device() const override { return device_; }
  const Dialect& dialect() const override { return test_dialect(); }
  const std::string& default_system() const override { return nothing_; }
  FaultyDecoder* decoder() override { return &decoder_; }
  const std::string& fingerprint() const override { return name_; }
  std::int32_t adapter_of(AgentRole role) const override { return role == AgentRole::generator ? 0 : 1; }

 private:
  std::string name_ = "a script", device_ = "cpu", nothing_;
  FaultyDecoder decoder_;
};

inline JudgePool& test_judges() {
  static JudgePool judges(test_judge(), {.workers = 2});
  return judges;
}

struct ScriptedService {
  explicit ScriptedService(ScriptedDecoder::Script script, AgentServiceOptions options = {}) {
    const auto load = [&]() -> Result<std::unique_ptr<AgentModel>> {
      auto made = std::make_unique<ScriptedModel>(std::move(script));
      decoder = made->decoder();
      return std::unique_ptr<AgentModel>(std::move(made));
    };
    auto opened = AgentService::open(options, load, test_judges(), "a test's judge");
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    service = std::move(opened).value();
  }
  AgentService* operator->() { return service.get(); }

  FaultyDecoder* decoder = nullptr;
  std::unique_ptr<AgentService> service;
};

// What comes of one request, once.
template <class T>
class Awaited {
 public:
  std::function<void(Result<T>)> listener() {
    return [state = state_](Result<T> result) {
      ++state->calls;
      if (state->calls == 1) state->promise.set_value(std::move(result));
    };
  }
  // Only what never comes misses the deadline.
  Result<T> get() {
    auto future = state_->promise.get_future();
    if (future.wait_for(std::chrono::minutes(30)) != std::future_status::ready) return Error{"it never ended", "", {}};
    return future.get();
  }
  int calls() const { return state_->calls; }

 private:
  struct State {
    std::promise<Result<T>> promise;
    std::atomic<int> calls = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline EpisodeRequest row_sum_request(std::uint64_t number) {
  static const auto task = shared_task("row_sum");
  return {number, task};
}

inline EpisodeOptions with_turns(int turns) {
  EpisodeOptions options = episode_options().value();
  options.turns = turns;
  return options;
}

// A request for what the script says to this text.
inline AgentService::AnswerRequest asking(AgentService& service, const std::string& text,
                                          Speaker speaker = Speaker::base) {
  AgentService::AnswerRequest request;
  request.prompt = service.prompt_of(text).value();
  request.speaker = speaker;
  return request;
}

}  // namespace kw
