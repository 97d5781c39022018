#include "app/stages/supervised_run.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "agents/episode/agent_set.h"
#include "base/file.h"
#include "model/tokenizer/tokenizer_json.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// A model from nothing, two short steps, no exam.
SftArguments two_steps(const fs::path& out) {
  SftArguments arguments;
  arguments.out = out.string();
  arguments.model = "tiny-1m";
  arguments.method = "full";
  arguments.vocabulary = 400;
  arguments.vocabulary_tasks = 30;
  arguments.training.steps = 2;
  arguments.training.batch_tokens = 512;
  arguments.training.log_every = 1;
  arguments.training.evaluations = 0;
  arguments.training.checkpoint_every = 1;
  arguments.optimizer = "adamw";
  arguments.beta1 = 0.9;
  arguments.beta2 = 0.95;
  arguments.clip_norm = 1;
  arguments.device = "cpu";
  arguments.threads = 1;
  arguments.exam = arguments.optimizer_exam = 0;
  arguments.judge = {.backend = "emulator", .profile = "h200", .workers = 1, .purpose = JudgePurpose::training};
  arguments.keep_checkpoints = 2;
  arguments.seed = 3;
  arguments.audit = 0;
  return arguments;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(SupervisedRun, AVocabularyIsMadeOnceAndStays) {
  const TemporaryFolder folder;
  SftArguments arguments = two_steps(folder.path() / "run");
  ASSERT_TRUE(make_vocabulary(arguments).ok());
  const fs::path file = folder.path() / "run" / "tokenizer.json";
  const auto tokenizer = load_tokenizer_json(file);
  ASSERT_TRUE(tokenizer.ok()) << to_string(tokenizer.error());
  EXPECT_EQ(tokenizer->size(), 400u);
  const std::string before = bytes_of(file);
  arguments.vocabulary = 500;
  ASSERT_TRUE(make_vocabulary(arguments).ok());
  EXPECT_EQ(bytes_of(file), before) << "a model that was trained with it would read other words";
}

TEST(SupervisedRun, LeavesAgentsAndStartedAgainChangesNothing) {
  const TemporaryFolder folder;
  const SftArguments arguments = two_steps(folder.path() / "run");
  const auto result = train_sft(arguments);
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  EXPECT_EQ(result->at("step"), 2);
  EXPECT_EQ(result->at("interrupted"), false);
  const fs::path agents = result->at("agents").get<std::string>();
  const auto found = find_agents(agents.string());
  ASSERT_TRUE(found.ok()) << to_string(found.error());
  const std::string weights = bytes_of(agents / "model.safetensors");
  ASSERT_FALSE(weights.empty());
  const auto again = train_sft(arguments);
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(again->at("step"), 2) << "it was at its end";
  EXPECT_EQ(bytes_of(agents / "model.safetensors"), weights);
}

TEST(SupervisedRun, WhatAModelHasSeenStaysKnown) {
  const TemporaryFolder folder;
  const auto first = train_sft(two_steps(folder.path() / "first"));
  ASSERT_TRUE(first.ok()) << to_string(first.error());
  const fs::path seen = first->at("agents").get<std::string>();
  EXPECT_TRUE(find_agents(seen.string()).value().learned_from.empty());
  EXPECT_EQ(bytes_of(folder.path() / "first" / "config.json").find("learned_from"), std::string::npos);
  ASSERT_TRUE(write_agents_file(seen, ".", {}, {"kernelbench"}).ok());

  SftArguments more = two_steps(folder.path() / "more");
  more.model = seen.string();
  const auto second = train_sft(more);
  ASSERT_TRUE(second.ok()) << to_string(second.error());
  const auto agents = find_agents(second->at("agents").get<std::string>());
  ASSERT_TRUE(agents.ok()) << to_string(agents.error());
  EXPECT_EQ(agents->learned_from, std::set<std::string>{"kernelbench"});
  const std::string config = bytes_of(folder.path() / "more" / "config.json");
  EXPECT_NE(config.find("learned_from"), std::string::npos) << config;
  Configuration again;
  EXPECT_TRUE(again.merge(config, "config.json", "config.json").ok()) << "a run can be repeated";
}

TEST(SupervisedRun, RefusesWhatItCannotDo) {
  const TemporaryFolder folder;
  const auto refusal = [](const SftArguments& arguments) {
    const auto result = train_sft(arguments);
    return result.ok() ? std::string() : to_string(result.error());
  };
  SftArguments endless = two_steps(folder.path() / "run");
  endless.training.steps = 0;
  EXPECT_NE(refusal(endless).find("steps or minutes"), std::string::npos);
  endless.training.steps = 2;
  endless.training.minutes = 1;
  EXPECT_NE(refusal(endless).find("steps or minutes"), std::string::npos) << "both are as unclear as neither";
  SftArguments frozen = two_steps(folder.path() / "run");
  frozen.method = "lora";
  EXPECT_NE(refusal(frozen).find("no base to freeze"), std::string::npos);
  SftArguments nobody = two_steps(folder.path() / "run");
  nobody.adapters = {"cook=/tmp"};
  EXPECT_NE(refusal(nobody).find("ROLE=FOLDER"), std::string::npos);
  SftArguments quantised = two_steps(folder.path() / "run");
  quantised.model = "tiny";
  quantised.method = "qlora";
  EXPECT_NE(refusal(quantised).find("stored in blocks"), std::string::npos);
  std::ofstream(folder.path() / "file") << "in the way";
  EXPECT_NE(refusal(two_steps(folder.path() / "file" / "run")).find("cannot create this folder"), std::string::npos);
}

}  // namespace
}  // namespace kw
