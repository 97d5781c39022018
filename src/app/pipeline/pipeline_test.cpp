#include "app/pipeline/pipeline.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/test_length.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Configuration configured(std::vector<std::string> assignments) {
  auto configuration = load_configuration({.preset = "quickstart", .file = {}, .assignments = std::move(assignments)});
  EXPECT_TRUE(configuration.ok()) << to_string(configuration.error());
  return configuration.ok() ? std::move(*configuration) : Configuration();
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

void request_stop() { ::kill(::getpid(), SIGINT); }

// Begun, and stopped before its first stage.
void begin(const fs::path& folder, const Configuration& configuration) {
  install_interrupt_handling();
  request_stop();
  const auto outcome = run_pipeline(folder, configuration);
  clear_interrupt();
  ASSERT_TRUE(outcome.ok()) << to_string(outcome.error());
  EXPECT_TRUE(outcome->interrupted);
}

TEST(PipelineRecord, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  PipelineRecord record;
  record.stages = {{.name = "sft", .state = StageState::done, .seconds = 2.5, .results = {{"loss", 1}}},
                   {.name = "rl", .state = StageState::interrupted}};
  ASSERT_TRUE(write_record(folder.path(), record).ok());
  const auto read = read_record(folder.path());
  ASSERT_TRUE(read.ok()) << to_string(read.error());
  EXPECT_EQ(to_json(*read), to_json(record));
  EXPECT_FALSE(read->finished());
}

TEST(PipelineRecord, DamagedOnesAreRefusedWithAdvice) {
  const TemporaryFolder folder;
  for (const char* text :
       {"", "{", "[]", "null", R"({"format": 2, "stages": []})", R"({"format": 1, "stages": []})",
        R"({"format": 1, "stages": [3]})", R"({"format": 1, "stages": [{"name": "sft"}]})",
        R"({"format": 1, "stages": [{"name": "sft", "state": "dancing", "seconds": 1, "results": {}}]})",
        R"({"format": 1, "stages": [{"name": "sft", "state": "done", "seconds": -1, "results": {}}]})",
        R"({"format": 1, "stages": [{"name": "sft", "state": "done", "seconds": 1, "results": 3}]})",
        R"({"format": 1, "stages": [{"name": "a", "state": "done", "seconds": 1, "results": {}},
            {"name": "a", "state": "done", "seconds": 1, "results": {}}]})"}) {
    std::ofstream(record_file(folder.path())) << text;
    const auto read = read_record(folder.path());
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().where.file.find("pipeline.json"), std::string::npos);
    EXPECT_NE(read.error().advice.find("delete it"), std::string::npos);
  }
}

TEST(Pipeline, AnotherConfigurationOnTheSameFolderNamesTheKeys) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  begin(run, configured({}));
  const auto other = run_pipeline(run, configured({"rl.lr=0.5", "sft.minutes=3"}));
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("sft.minutes, rl.lr"), std::string::npos) << to_string(other.error());
  const auto stored = run_configuration(run);
  ASSERT_TRUE(stored.ok() && *stored);
  EXPECT_TRUE(differing_keys(**stored, configured({})).empty()) << "the run is as it was";
}

TEST(Pipeline, ResumedFromItsFolderARunKeepsThePresetsName) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  begin(run, configured({}));
  const std::string before = text_of(run / "config.json");
  const auto stored = run_configuration(run);
  ASSERT_TRUE(stored.ok() && *stored);
  EXPECT_EQ((*stored)->preset(), "quickstart");
  begin(run, **stored);
  EXPECT_EQ(text_of(run / "config.json"), before);
}

TEST(Pipeline, ARunThatWasPutAsideLeavesItsName) {
  const TemporaryFolder folder;
  begin(folder.path() / "run", configured({}));
  fs::rename(folder.path() / "run", folder.path() / "old");
  begin(folder.path() / "run", configured({"rl.lr=0.5"}));
}

TEST(Pipeline, FoldersOfOtherThingsAreLeftAlone) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "photos");
  std::ofstream(folder.path() / "photos" / "cat.jpg") << "cat";
  fs::create_directories(folder.path() / "sft");
  std::ofstream(folder.path() / "sft" / "config.json") << "{}";
  fs::create_directories(folder.path() / "sft" / "checkpoints");
  std::ofstream(folder.path() / "file") << "text";
  for (const char* name : {"photos", "sft", "file"}) {
    const auto outcome = run_pipeline(folder.path() / name, configured({}));
    ASSERT_FALSE(outcome.ok()) << name;
    EXPECT_NE(outcome.error().message.find("something else"), std::string::npos) << to_string(outcome.error());
  }
  EXPECT_FALSE(fs::exists(folder.path() / "photos" / "pipeline.json"));
}

TEST(Pipeline, ADamagedRecordIsAnErrorAndCanBeRemoved) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  begin(run, configured({}));
  std::ofstream(record_file(run)) << "{\"format\": 1, \"sta";
  EXPECT_FALSE(run_pipeline(run, configured({})).ok());
  fs::remove(record_file(run));
  begin(run, configured({}));
  std::ofstream(record_file(run)) << R"({"format": 1, "stages": [{"name": "sing", "state": "done", "seconds": 1,
      "results": {}}]})";
  EXPECT_NE(run_pipeline(run, configured({})).error().message.find("other stages"), std::string::npos);
}

// Everything that a short run leaves and that must not depend on its interruptions.
std::map<std::string, std::string> traces_of(const fs::path& run) {
  std::map<std::string, std::string> traces;
  for (const auto& entry : fs::recursive_directory_iterator(run)) {
    const std::string path = fs::relative(entry.path(), run).string();
    if (!entry.is_regular_file()) continue;
    if (path.find("agents/") != std::string::npos && entry.path().extension() == ".safetensors")
      traces[path] = text_of(entry.path());
    if (path.starts_with("evaluation/")) traces[path] = Json::parse(text_of(entry.path())).at("answers").dump();
  }
  return traces;
}

const std::vector<std::string> short_run = {"data.tasks=2",
                                            "data.mutants=1",
                                            "sft.steps=3",
                                            "sft.batch=512",
                                            "sft.log_every=1",
                                            "sft.evaluations=1",
                                            "sft.exam=2",
                                            "sft.audit=0",
                                            "compatibility.enabled=true",
                                            "compatibility.tasks=3",
                                            "compatibility.samples=2",
                                            "compatibility.turns=1",
                                            "compatibility.steps=2",
                                            "rl.steps=2",
                                            "rl.tasks=1",
                                            "rl.group=2",
                                            "rl.answer_tokens=512",
                                            "rl.exam=2",
                                            "curriculum.pool=20",
                                            "evaluation.tasks=2",
                                            "evaluation.answer_tokens=256"};

TEST(PipelineSlow, InterruptedInEveryStageEndsWithTheSameAgents) {
  const TemporaryFolder folder;
  install_interrupt_handling();
  const Configuration configuration = configured(short_run);
  const auto undisturbed = run_pipeline(folder.path() / "undisturbed", configuration);
  ASSERT_TRUE(undisturbed.ok()) << to_string(undisturbed.error());
  EXPECT_TRUE(undisturbed->record.finished());
  ASSERT_EQ(undisturbed->outcome.size(), 6u) << "three stages, single answers and conversations";
  const auto expected = traces_of(folder.path() / "undisturbed");
  EXPECT_TRUE(expected.contains("rl/agents/model.safetensors"));
  EXPECT_TRUE(expected.contains("compatibility/agents/model.safetensors"));
  EXPECT_TRUE(expected.contains("evaluation/start.json"));
  EXPECT_TRUE(fs::exists(folder.path() / "undisturbed" / "report.html"));

  for (const int delay_ms : thorough_tests() ? std::vector{0, 700} : std::vector{0}) {
    const fs::path run = folder.path() / ("after" + std::to_string(delay_ms));
    std::set<std::string> disturbed;
    bool over = false;
    while (!over) {
      std::jthread stopper;
      PipelineHooks hooks;
      hooks.stage_begins = [&](std::string_view stage) {
        if (stopper.joinable() || !disturbed.emplace(stage).second) return;
        if (delay_ms == 0)
          request_stop();
        else
          stopper = std::jthread([delay_ms] {
            std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
            request_stop();
          });
      };
      const auto outcome = run_pipeline(run, configuration, hooks);
      if (stopper.joinable()) stopper.join();
      clear_interrupt();
      ASSERT_TRUE(outcome.ok()) << to_string(outcome.error());
      over = !outcome->interrupted;
    }
    if (delay_ms == 0) {
      EXPECT_EQ(disturbed.size(), 6u);
    }
    EXPECT_TRUE(traces_of(run) == expected) << delay_ms;
  }
}

TEST(PipelineSlow, ALostRecordCostsNothing) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  auto settings = short_run;
  settings.insert(settings.end(), {"compatibility.enabled=false", "evaluation.tasks=1"});
  const Configuration configuration = configured(settings);
  ASSERT_TRUE(run_pipeline(run, configuration).ok());
  const auto before = traces_of(run);
  fs::remove(record_file(run));
  const auto again = run_pipeline(run, configuration);
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_TRUE(again->record.finished());
  EXPECT_TRUE(traces_of(run) == before);
}

// Also of each stage's own folder, and where minutes were asked for.
TEST(PipelineSlow, ConfigJsonRepeatsTheRunBitForBit) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  auto settings = short_run;
  settings.insert(settings.end(), {"sft.steps=0", "sft.minutes=0.02", "rl.steps=0", "rl.minutes=0.02", "rl.last_lr=0.1",
                                   "evaluation.tasks=1"});
  const auto first = run_pipeline(run, configured(settings));
  ASSERT_TRUE(first.ok()) << to_string(first.error());
  const auto expected = traces_of(run);
  const Json json = Json::parse(text_of(run / "config.json"));
  EXPECT_GE(json.at("measured").at("sft.steps").get<int>(), 1);
  EXPECT_GE(json.at("measured").at("rl.steps").get<int>(), 1);
  EXPECT_EQ(json.at("sft").at("steps"), 0) << "what was asked for stays";
  const auto repeat = [&](const fs::path& file, const char* name) {
    const auto configuration = load_configuration({.preset = "", .file = file, .assignments = {}});
    EXPECT_TRUE(configuration.ok()) << to_string(configuration.error());
    const auto outcome = run_pipeline(folder.path() / name, *configuration);
    EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
    return traces_of(folder.path() / name);
  };
  EXPECT_TRUE(repeat(run / "config.json", "again") == expected);
  for (const char* stage : {"sft", "compatibility", "rl"}) {
    const std::string in = std::string(stage) == "rl" ? "rl" : "sft";
    const auto alone = repeat(run / stage / "config.json", stage);
    EXPECT_EQ(alone.size(), 1u) << stage;
    EXPECT_EQ(alone.at(in + "/agents/model.safetensors"), expected.at(std::string(stage) + "/agents/model.safetensors"))
        << stage;
  }
  // Resumed, it is still the same run.
  const auto resumed = run_pipeline(run, configured(settings));
  ASSERT_TRUE(resumed.ok()) << to_string(resumed.error());
  EXPECT_EQ(Json::parse(text_of(run / "config.json")), json);
}

TEST(PipelineSlow, FromNothing) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  auto settings = short_run;
  settings.insert(settings.end(),
                  {"model.start=nothing", "model.shape=tiny-1m", "tokenizer.vocabulary=512", "tokenizer.tasks=100",
                   "compatibility.enabled=false", "sft.optimise=0", "sft.repair=0", "sft.optimizer=muon"});
  const auto outcome = run_pipeline(run, configured(settings));
  ASSERT_TRUE(outcome.ok()) << to_string(outcome.error());
  std::vector<std::string> stages;
  for (const StageRecord& stage : outcome->record.stages) stages.push_back(stage.name);
  EXPECT_EQ(stages, (std::vector<std::string>{"tokenizer", "sft", "rl", "evaluation", "report"}));
  EXPECT_TRUE(fs::exists(run / "rl" / "agents" / "agents.json"));
  EXPECT_FALSE(fs::exists(run / "evaluation" / "start.json")) << "there was nobody to evaluate";
}

}  // namespace
}  // namespace kw
