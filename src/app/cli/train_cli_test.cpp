// `train` as a person uses it: what it says when something is amiss. That it trains is tested in src/app/pipeline.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

ChildOutcome run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), KW_PROGRAM);
  auto outcome = run_child({arguments, "", "", {}}, {.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}});
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& why) {
  const ChildOutcome outcome = run(arguments);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output << outcome.error_output;
  EXPECT_NE(outcome.error_output.find(why), std::string::npos) << outcome.error_output;
}

TEST(TrainCommand, SaysWhatIsAmiss) {
  const TemporaryFolder folder;
  const std::string mine = (folder.path() / "mine").string();
  expect_refused({"train", mine}, "--preset quickstart");
  expect_refused({"train", mine, "--preset", "moon"}, "there is no preset 'moon'");
  expect_refused({"train", mine, "--preset", "quickstart", "--set", "rl.lrr=1"}, "do you mean rl.lr?");
  expect_refused({"train", mine, "--preset", "quickstart", "--algorithm", "magic"}, "--algorithm");
  expect_refused({"train", mine, "--preset", "quickstart", "--minutes", "0"}, "--minutes");
  expect_refused({"train", "--resume", mine}, "there is no run to resume");
  expect_refused({"train", mine, "--preset", "quickstart", "--skip-sft", "--from-nothing"}, "must be taught first");
  EXPECT_FALSE(fs::exists(mine)) << "nothing was begun";
  fs::create_directories(mine);
  std::ofstream(fs::path(mine) / "letter.txt") << "dear";
  expect_refused({"train", mine, "--preset", "quickstart"}, "something else");
}

TEST(TrainCommand, HelpNamesTheStages) {
  const ChildOutcome help = run({"train", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* part : {"sft", "gather", "rl", "--preset", "--from-nothing", "--resume", "Examples:"})
    EXPECT_NE(help.output.find(part), std::string::npos) << part;
}

TEST(TrainCommand, ARunWithoutAgentsSaysSo) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "pipeline.json") << "{}";
  expect_refused({"evaluate", folder.path().string()}, "this run has no agents yet");
}

}  // namespace
}  // namespace kw
