// generate, optimize and bench episodes as a person uses them, with a model that was never trained.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agents/agent/dialect.h"
#include "base/child_process.h"
#include "base/file.h"
#include "model/decoder/model_files.h"
#include "model/decoder/presets.h"

namespace kw {
namespace {

using Json = nlohmann::json;

const std::string root = KW_SOURCE_ROOT;
const std::string kernel = root + "/examples/row_sum_warp.cu";

ChildOutcome run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), KW_PROGRAM);
  auto outcome = run_child({arguments, "", "", {}}, {.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}});
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

const std::string& untrained_model() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    const std::string text = *read_file(kernel);
    const Tokenizer tokenizer = train_compact_tokenizer({text}, 300).value();
    ThreadTeam team(1);
    const auto description = preset_description("tiny-1m", static_cast<std::int64_t>(tokenizer.size())).value();
    EXPECT_TRUE(save_model(folder.path(), initial_parameters(team, description, 1), &tokenizer).ok());
    return folder.path().string();
  }();
  return path;
}

std::vector<std::string> optimize(std::vector<std::string> more) {
  std::vector<std::string> arguments{"optimize",     "row_sum", "--model",   untrained_model(),
                                     "--device",     "cpu",     "--backend", "emulator",
                                     "--max-tokens", "16",      "--kernel",  kernel};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(ConverseCommands, OptimizeAsJson) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "store.db").string();
  const auto command = optimize({"--turns", "2", "--samples", "2", "--json", "--store", store});
  const auto outcome = run(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error_output;
  Json json = Json::parse(outcome.output);
  EXPECT_EQ(json["end"], "turns");
  ASSERT_EQ(json["turns"].size(), 2u);
  EXPECT_EQ(json["turns"][0]["role"], "optimizer");
  EXPECT_EQ(json["turns"][0]["samples"].size(), 2u);
  EXPECT_EQ(json["turns"][0]["samples"][0]["tokens"].size(), json["turns"][0]["samples"][0]["log_probs"].size());
  EXPECT_EQ(json["best"]["turn"], -1) << "the given kernel is better than noise";
  EXPECT_TRUE(json["best"]["verdict"]["correct"].get<bool>());
  // The store knows it all.
  Json again = Json::parse(run(command).output);
  EXPECT_EQ(again["resumed_turns"], 2);
  again["resumed_turns"] = json["resumed_turns"];
  EXPECT_EQ(again, json);
}

TEST(ConverseCommands, OptimizeForAPerson) {
  const TemporaryFolder folder;
  const std::string page = (folder.path() / "page.html").string(), best = (folder.path() / "best.cu").string();
  const auto outcome = run(optimize({"--turns", "1", "--samples", "1", "--html", page, "-o", best}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error_output;
  for (const char* part : {"given kernel", "turn 1: optimizer improves the given kernel", "row_sum_warp", "speedup",
                           "correct: right in all"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  EXPECT_EQ(*read_file(best), *read_file(kernel));
  EXPECT_NE(read_file(page)->find("improves the given kernel"), std::string::npos);
  for (const char c : outcome.output)
    EXPECT_TRUE(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20) << "a control character is printed";
}

TEST(ConverseCommands, GenerateWithoutSuccess) {
  const auto outcome = run({"generate", "relu", "--model", untrained_model(), "--device", "cpu", "--backend",
                            "emulator", "--max-tokens", "16", "--samples", "3"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.error_output;
  EXPECT_NE(outcome.output.find("No kernel is right"), std::string::npos) << outcome.output;
}

TEST(ConverseCommands, RefuseBadUsage) {
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"generate"},
        {"generate", "no_such_task", "--model", untrained_model()},
        {"generate", "relu", "--model", "/no/such/model"},
        {"generate", "relu", "--model", untrained_model(), "--samples", "0"},
        {"generate", "relu", "--model", untrained_model(), "--turns", "2"},
        {"optimize", "relu", "--model", untrained_model(), "--kernel", "/no/such.cu"},
        {"optimize", "relu", "--model", untrained_model(), "--store", kernel, "--device", "cpu"},
        {"optimize", "relu", "--model", untrained_model(), "--from", "worst"}}) {
    const auto outcome = run(bad);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.output << outcome.error_output;
    EXPECT_FALSE(outcome.error_output.empty());
  }
}

TEST(ConverseCommandsSlow, BenchEpisodes) {
  const auto outcome =
      run({"bench", "episodes", "--model", untrained_model(), "--device", "cpu", "--backend", "emulator", "--episodes",
           "8", "--tasks", "4", "--turns", "2", "--max-tokens", "32", "--given", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error_output;
  const Json json = Json::parse(outcome.output);
  EXPECT_EQ(json["episodes"], 8);
  EXPECT_EQ(json["turns"], 16);
  EXPECT_EQ(json["kernels_judged"], 4) << "each naive kernel once";
  EXPECT_GT(json["utilisation"].get<double>(), 0);
  EXPECT_LE(json["overlap_share"].get<double>(), json["judging_share"].get<double>());
}

}  // namespace
}  // namespace kw
