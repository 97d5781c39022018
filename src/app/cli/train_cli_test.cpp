// `train` as a person uses it: what it says when something is amiss. That it trains is tested in src/app/pipeline.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/config/schema.h"
#include "base/config/settings_page.h"
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
  expect_refused({"train", mine, "--preset", "quickstart", "--algorithm", "magic"}, "rl.algorithm");
  expect_refused({"train", mine, "--preset", "quickstart", "--minutes", "0"}, "--minutes");
  expect_refused({"train", "--resume", mine}, "there is no run to resume");
  expect_refused({"train", mine, "--preset", "quickstart", "--skip-sft", "--from-nothing"}, "must be taught first");
  EXPECT_FALSE(fs::exists(mine)) << "nothing was begun";
  fs::create_directories(mine);
  std::ofstream(fs::path(mine) / "letter.txt") << "dear";
  expect_refused({"train", mine, "--preset", "quickstart"}, "something else");
}

// A value that is allowed and is not the default.
std::string other_value(const Setting& setting) {
  const std::string initial(setting.initial);
  const auto words = words_of(setting);
  switch (setting.kind) {
    case SettingKind::whole: {
      const double value = std::stod(initial);
      return fmt::format("{:.0f}", value + 1 <= setting.most ? value + 1 : value - 1);
    }
    case SettingKind::number: {
      const double value = std::stod(initial), other = value + 0.25;
      return fmt::format("{}", other <= setting.most ? other : (setting.least + value) / 2);
    }
    case SettingKind::flag:
      return initial == "true" ? "false" : "true";
    case SettingKind::word:
      return initial == words.front() ? words.back() : words.front();
    case SettingKind::text:
      return "other";
    case SettingKind::list:
      return words.empty() ? "speed=0.5" : words.back();
  }
  return "";
}

// Every key: by option, by YAML, by --set; and it is in config.json (what `config --json` prints) and in the docs.
TEST(ConfigCommand, EveryKeyCanBeSetInThreeWays) {
  const TemporaryFolder folder;
  std::vector<std::string> by_option{"config", "--json"}, by_set{"config", "--json"};
  std::ofstream yaml(folder.path() / "all.yaml");
  for (const SettingSection& section : setting_sections()) {
    yaml << section.name << ":\n";
    for (const Setting& setting : section.settings) {
      const std::string value = other_value(setting), key(setting.key);
      const std::string option = option_names(setting, SettingUser::train).back();
      if (setting.kind == SettingKind::flag)
        by_option.push_back((value == "true" ? "--" : "--no-") + option);
      else
        by_option.insert(by_option.end(), {"--" + option, value});
      by_set.insert(by_set.end(), {"--set", key + "=" + value});
      yaml << "  " << key.substr(section.name.size() + 1) << ": "
           << (setting.kind == SettingKind::list ? "[" + value + "]" : value) << "\n";
    }
  }
  yaml.close();
  const auto json_of = [](const std::vector<std::string>& arguments) {
    const ChildOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.error_output;
    return nlohmann::json::parse(outcome.output, nullptr, false);
  };
  const auto defaults = json_of({"config", "--json"}), option = json_of(by_option), set = json_of(by_set),
             file = json_of({"config", "--json", "--config", (folder.path() / "all.yaml").string()});
  EXPECT_EQ(option, set);
  EXPECT_EQ(file, set);
  const auto docs = read_file(std::string(KW_SOURCE_ROOT) + "/docs/configuration.md");
  ASSERT_TRUE(docs.ok());
  for (const SettingSection& section : setting_sections())
    for (const Setting& setting : section.settings) {
      const std::string group(section.name), leaf(setting.key.substr(section.name.size() + 1));
      EXPECT_NE(set[group][leaf], defaults[group][leaf]) << setting.key;
      EXPECT_NE(docs->find("`" + std::string(setting.key) + "`:"), std::string::npos) << setting.key;
    }
}

TEST(ConfigCommand, TheDocumentsTableIsTheProgramsTable) {
  const auto docs = read_file(std::string(KW_SOURCE_ROOT) + "/docs/configuration.md");
  ASSERT_TRUE(docs.ok());
  const std::size_t begin = docs->find(settings_page_begins);
  ASSERT_NE(begin, std::string::npos);
  EXPECT_TRUE(docs->substr(begin) == run({"config", "--markdown"}).output)
      << "write it again: kernelwright config --markdown";
}

// Each stage's command knows its keys by their short names, with the table's ranges.
TEST(StageCommands, KnowTheirKeysAndRanges) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
  expect_refused({"train", "sft", out, "--ramp", "-3"}, "sft.ramp is -3, but may be 0 to");
  expect_refused({"train", "sft", out, "--lr", "3"}, "sft.lr is 3, but may be 0 to 1");
  expect_refused({"train", "rl", out, "--guard-cut", "2"}, "rl.guard_cut is 2, but may be 0 to 1");
  expect_refused({"train", "rl", out, "--group", "1"}, "rl.group is 1");
  expect_refused({"train", "gather", out, "--samples", "0"}, "compatibility.samples is 0");
  expect_refused({"evaluate", "tiny", "--split", "train"}, "evaluation.splits cannot be 'train'");
  expect_refused({"evaluate", "tiny", "--turns", "21"}, "evaluation.turns is 21, but may be 0 to 20");
  expect_refused({"train", "sft", out, "--kl", "1"}, "--kl");
  EXPECT_FALSE(fs::exists(out));
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
