#pragma once
// Test code: an untrained set of agents on disk, the smallest preset with the test's vocabulary and adapters that do
// something, and what they say.

#include "agents/episode/agent_model.h"
#include "agents/episode/agent_set.h"
#include "agents/episode/episode_test_support.h"
#include "model/decoder/adapter.h"
#include "model/decoder/model_files.h"
#include "model/decoder/presets.h"

namespace kw {

class UntrainedAgents {
 public:
  explicit UntrainedAgents(std::filesystem::path folder) : folder_(std::move(folder)) {
    ThreadTeam team(1);
    const Tokenizer& tokenizer = test_dialect().tokenizer();
    description_ = preset_description("tiny-1m", static_cast<std::int64_t>(tokenizer.size())).value();
    std::filesystem::create_directories(folder_);
    EXPECT_TRUE(save_model(path(), initial_parameters(team, description_, 1), &tokenizer).ok());
    write_adapter("generator", 1);
    write_adapter("optimizer", 2);
    EXPECT_TRUE(
        write_agents_file(path(), ".", {{AgentRole::generator, "generator"}, {AgentRole::optimizer, "optimizer"}})
            .ok());
  }

  void write_adapter(const std::string& name, std::uint64_t seed) const {
    Adapter adapter = make_adapter(description_, name, 4, 8, {Projection::q, Projection::v}, seed);
    Random random(seed);
    for (float& value : adapter.values) value += 0.1f * static_cast<float>(random.normal());
    std::filesystem::create_directories(path() / name);
    EXPECT_TRUE(write_lora_adapter(path() / name, to_lora_adapter(adapter, description_)).ok());
  }

  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
  ModelDescription description_;
};

inline std::unique_ptr<AgentModel> open_on_cpu(const std::filesystem::path& path) {
  AgentModelOptions options;
  options.device = "cpu";
  auto model = AgentModel::open(path.string(), options);
  EXPECT_TRUE(model.ok()) << to_string(model.error());
  return std::move(model).value();
}

// Episodes with an untrained model: nothing but failed turns, and yet each a result.
inline std::vector<Episode> babble(AgentModel& model, std::vector<std::uint64_t> numbers, std::size_t in_flight) {
  Rollout rollout(*model.decoder(), &model.dialect().tokenizer());
  EngineOptions options = engine_options();
  options.in_flight = in_flight;
  options.episode.turns = 2;
  options.episode.samples = 2;
  options.episode.answer_tokens = 24;
  auto engine = EpisodeEngine::make(
      rollout, model.dialect(), test_judge(), [&](AgentRole role) { return model.adapter_of(role); }, options);
  std::vector<EpisodeRequest> requests;
  const auto task = shared_task("relu");
  for (const std::uint64_t number : numbers) requests.push_back({number, task, "", number % 2 == 1 ? task->naive : ""});
  return (*engine)->run(std::move(requests)).value();
}

}  // namespace kw
