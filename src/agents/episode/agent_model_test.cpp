#include "agents/episode/agent_model.h"

#include <cstdlib>

#include "agents/episode/untrained_agents.h"

namespace kw {
namespace {

class Agents : public UntrainedAgents {
 public:
  Agents() : Agents(std::make_unique<TemporaryFolder>()) {}
  std::unique_ptr<AgentModel> open() const { return open_on_cpu(path()); }

 private:
  explicit Agents(std::unique_ptr<TemporaryFolder> folder)
      : UntrainedAgents(folder->path()), temporary_(std::move(folder)) {}
  std::unique_ptr<TemporaryFolder> temporary_;
};

TEST(AgentModel, OpensASetOfAgents) {
  const Agents agents;
  const auto model = agents.open();
  EXPECT_EQ(model->device(), "cpu");
  EXPECT_EQ(model->dialect().style(), PromptStyle::compact);
  EXPECT_EQ(model->adapter_of(AgentRole::generator), 0);
  EXPECT_EQ(model->adapter_of(AgentRole::optimizer), 1);
  EXPECT_EQ(model->adapter_of(AgentRole::tester), -1);
  EXPECT_EQ(model->decoder()->adapters(), 2);
  EXPECT_EQ(model->fingerprint().size(), 64u);
}

TEST(AgentModel, FingerprintIsOfTheContent) {
  const Agents agents;
  const std::string first = agents.open()->fingerprint();
  EXPECT_EQ(agents.open()->fingerprint(), first);
  ASSERT_TRUE(write_file_atomic(agents.path() / "README.md", "words").ok());
  EXPECT_EQ(agents.open()->fingerprint(), first);
  agents.write_adapter("optimizer", 3);
  EXPECT_NE(agents.open()->fingerprint(), first);
}

TEST(AgentModel, AnswersDoNotDependOnTheBatch) {
  const Agents agents;
  const auto model = agents.open();
  const auto all = babble(*model, {0, 1, 2, 3, 4, 5}, 6);
  const auto some = babble(*agents.open(), {5, 2}, 1);
  EXPECT_EQ(reproducible(some[0]), reproducible(all[5]));
  EXPECT_EQ(reproducible(some[1]), reproducible(all[2]));
  for (const Episode& episode : all) {
    EXPECT_EQ(episode.turns.size(), 2u);
    EXPECT_EQ(episode.turns[0].role, episode.request.number % 2 == 1 ? AgentRole::optimizer : AgentRole::generator);
  }
}

TEST(AgentModel, ShippedAgentsAreFoundByName) {
  const Agents agents;
  const TemporaryFolder weights;
  std::filesystem::create_directory_symlink(agents.path(), weights.path() / "tiny");
  ::setenv("KERNELWRIGHT_WEIGHTS", weights.path().c_str(), 1);
  const auto found = find_agents("tiny");
  const auto missing = find_agents("smollm2");
  ::unsetenv("KERNELWRIGHT_WEIGHTS");
  ASSERT_TRUE(found.ok()) << to_string(found.error());
  EXPECT_EQ(found->adapters.size(), 2u);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("KERNELWRIGHT_WEIGHTS"), std::string::npos);
}

TEST(AgentModel, ARunHasTheAgentsOfItsLastStage) {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  const fs::path run = folder.path() / "run";
  fs::create_directories(run / "checkpoints");
  EXPECT_NE(find_agents(run.string()).error().message.find("no agents yet"), std::string::npos);
  for (const char* stage : {"sft", "rl"}) {
    const fs::path agents = run / stage / "agents";
    fs::create_directories(agents);
    ASSERT_TRUE(write_agents_file(agents, ".", {}).ok());
    const auto found = find_agents(run.string());
    ASSERT_TRUE(found.ok()) << to_string(found.error());
    EXPECT_EQ(found->base.lexically_normal(), (agents / "").lexically_normal()) << stage;
    EXPECT_TRUE(find_agents((run / stage).string()).ok()) << "a stage alone";
  }
  ::setenv("KERNELWRIGHT_RUNS", folder.path().c_str(), 1);
  EXPECT_TRUE(find_agents("run").ok()) << "by its name";
  ::unsetenv("KERNELWRIGHT_RUNS");
}

TEST(AgentModel, AModelWithoutAgentsFileHasNoAdapters) {
  const Agents agents;
  std::filesystem::remove(agents.path() / "agents.json");
  const auto model = agents.open();
  EXPECT_EQ(model->adapter_of(AgentRole::generator), -1);
  EXPECT_EQ(model->decoder()->adapters(), 0);
}

TEST(AgentModel, SaysWhichBenchmarksItLearnedFrom) {
  const Agents agents;
  EXPECT_TRUE(agents.open()->learned_from().empty());
  const auto set = find_agents(agents.path().string()).value();
  ASSERT_TRUE(write_agents_file(agents.path(), ".", {{AgentRole::generator, "generator"}}, {"kernelbench"}).ok());
  EXPECT_EQ(agents.open()->learned_from(), std::set<std::string>{"kernelbench"});
  EXPECT_EQ(learned_from_of_adapter(set.adapters.at(AgentRole::generator)).value(),
            std::set<std::string>{"kernelbench"});
  EXPECT_TRUE(learned_from_of_adapter("/no/such/adapter").value().empty());
}

TEST(AgentModel, WrongAgentsFilesAreRefused) {
  const Agents agents;
  for (const char* text :
       {"", "[]", "{}", R"({"format": 2, "base": "."})", R"({"format": 1})", R"({"format": 1, "base": 7})",
        R"({"format": 1, "base": ""})", R"({"format": 1, "base": "no/such"})",
        R"({"format": 1, "base": ".", "adapters": []})", R"({"format": 1, "base": ".", "adapters": {"king": "x"}})",
        R"({"format": 1, "base": ".", "adapters": {"generator": null}})",
        R"({"format": 1, "base": ".", "adapters": {"generator": "nowhere"}})",
        R"({"format": 1, "base": ".", "adaptors": {}})", R"({"format": 1, "base": ".", "learned_from": "x"})",
        R"({"format": 1, "base": ".", "learned_from": [7]})", R"({"format": 1, "base": ".", "learned_from": [""]})"}) {
    ASSERT_TRUE(write_file_atomic(agents.path() / "agents.json", text).ok());
    const auto model = AgentModel::open(agents.path().string(), {.device = "cpu"});
    EXPECT_FALSE(model.ok()) << text;
  }
  EXPECT_FALSE(AgentModel::open("/no/such/model").ok());
  EXPECT_FALSE(AgentModel::open(agents.path().string(), {.device = "abacus"}).ok());
}

}  // namespace
}  // namespace kw
