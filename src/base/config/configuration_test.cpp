#include "base/config/configuration.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/file.h"

namespace kw {
namespace {

Error error_of(const std::string& yaml) {
  Configuration configuration;
  const auto result = configuration.merge(yaml, "my.yaml", "my.yaml");
  if (!result.ok()) return result.error();
  const auto whole = configuration.complete();
  return whole.ok() ? Error{} : whole.error();
}

Configuration loaded(const ConfigurationSources& sources) {
  auto configuration = load_configuration(sources);
  EXPECT_TRUE(configuration.ok()) << to_string(configuration.error());
  return configuration.ok() ? std::move(*configuration) : Configuration();
}

TEST(Schema, IsWellFormed) {
  std::set<std::string_view> keys;
  for (const SettingSection& section : setting_sections())
    for (const Setting& setting : section.settings) {
      EXPECT_TRUE(setting.key.starts_with(std::string(section.name) + ".")) << setting.key;
      EXPECT_TRUE(keys.insert(setting.key).second) << setting.key;
      EXPECT_FALSE(setting.help.empty()) << setting.key;
      EXPECT_EQ(setting.help.find('#'), std::string_view::npos) << setting.key;
      EXPECT_EQ(setting.kind == SettingKind::word, !setting.words.empty() && setting.kind != SettingKind::list)
          << setting.key;
      if (setting.kind == SettingKind::whole || setting.kind == SettingKind::number) {
        EXPECT_LT(setting.least, setting.most) << setting.key;
      }
    }
  const auto algorithms = words_of(*find_setting("rl.algorithm"));
  for (const AlgorithmDefault& change : algorithm_defaults()) {
    EXPECT_NE(find_setting(change.key), nullptr) << change.key;
    EXPECT_NE(std::ranges::find(algorithms, change.algorithm), algorithms.end()) << change.algorithm;
  }
}

// An option must mean one thing, and every key must be an option of `train` and of each command that looks at it.
TEST(Schema, OptionsOfACommandAreDifferent) {
  for (int user = 0; user < setting_user_count; ++user) {
    const auto command = static_cast<SettingUser>(user);
    std::set<std::string> names;
    for (const SettingSection& section : setting_sections())
      for (const Setting& setting : section.settings) {
        if (!is_used_by(setting, command)) continue;
        for (const std::string& name : option_names(setting, command))
          EXPECT_TRUE(names.insert(name).second) << command_of(command) << " --" << name;
      }
    EXPECT_TRUE(names.contains("judge-workers")) << command_of(command);
  }
  EXPECT_EQ(option_names(*find_setting("rl.kl"), SettingUser::rl), (std::vector<std::string>{"kl", "rl-kl"}));
  EXPECT_EQ(option_names(*find_setting("run.seed"), SettingUser::rl), (std::vector<std::string>{"seed", "run-seed"}));
  EXPECT_FALSE(is_used_by(*find_setting("rl.kl"), SettingUser::sft));
  EXPECT_TRUE(is_used_by(*find_setting("rl.answer_tokens"), SettingUser::gather));
}

TEST(Configuration, WhatMinutesCameToIsTakenOverByWhoeverRepeatsTheRun) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  Configuration run;
  run.note_measured("sft.steps", 812);
  run.note_measured("rl.steps", 7);
  std::ofstream(file) << run.to_json().dump(2);
  const Configuration again = loaded({.preset = "", .file = file, .assignments = {}});
  EXPECT_EQ(again.whole("sft.steps"), 812);
  EXPECT_EQ(again.origin("sft.steps"), "measured");
  EXPECT_EQ(again.whole("rl.steps"), 7);
  EXPECT_TRUE(again.measured().empty());
  const Configuration longer = loaded({.preset = "", .file = file, .assignments = {"rl.minutes=9"}});
  EXPECT_EQ(longer.whole("rl.steps"), 0) << "told anew how long to take";
  EXPECT_EQ(longer.whole("sft.steps"), 812);
  Configuration resumed;
  ASSERT_TRUE(resumed.merge(run.to_json().dump(), "config.json", "config.json").ok());
  EXPECT_EQ(resumed.whole("sft.steps"), 0);
  EXPECT_EQ(resumed.measured(), run.measured());
  EXPECT_TRUE(differing_keys(resumed, Configuration()).empty());
  for (const char* wrong : {"measured: 3", "measured: {sft.lr: 1}", "measured: {sft.steps: -1}",
                            "measured: {sft.steps: many}", "measured: {moon.steps: 1}", "measured: [1]"})
    EXPECT_FALSE(error_of(wrong).message.empty()) << wrong;
}

TEST(Configuration, DefaultsAreValid) {
  Configuration configuration;  // checks each default against its own range
  ASSERT_TRUE(configuration.complete().ok());
  EXPECT_EQ(configuration.text("rl.algorithm"), "grpo");
  EXPECT_EQ(configuration.number("rl.lambda"), 0.95);
  EXPECT_EQ(configuration.whole("curriculum.window"), 400);
  EXPECT_TRUE(configuration.flag("judge.cache"));
  EXPECT_EQ(configuration.list("evaluation.splits"), (std::vector<std::string>{"composition", "novel"}));
}

TEST(Configuration, LaterSourcesWin) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "my.yaml";
  std::ofstream(file) << "preset: laptop\nrl:\n  tasks: 5\n  group: 6\nsft: {lr: 1e-3}\n";
  const Configuration configuration = loaded({.preset = "", .file = file, .assignments = {"rl.group=7"}});
  EXPECT_EQ(configuration.preset(), "laptop");
  EXPECT_EQ(configuration.text("model.start"), "nothing");
  EXPECT_EQ(configuration.origin("model.start"), "preset laptop");
  EXPECT_EQ(configuration.whole("rl.tasks"), 5);
  EXPECT_EQ(configuration.origin("rl.tasks"), "my.yaml");
  EXPECT_EQ(configuration.whole("rl.group"), 7);
  EXPECT_EQ(configuration.origin("rl.group"), "--set");
  EXPECT_EQ(configuration.number("sft.lr"), 1e-3);
  EXPECT_EQ(configuration.origin("rl.gamma"), "default");
  EXPECT_EQ(loaded({.preset = "h200", .file = file, .assignments = {}}).preset(), "h200");
}

TEST(Configuration, EveryPresetIsValidAndReadsBackEqual) {
  const auto names = preset_file_names();
  ASSERT_TRUE(names.ok()) << to_string(names.error());
  EXPECT_EQ(*names, (std::vector<std::string>{"h200", "laptop", "quickstart"}));
  const TemporaryFolder folder;
  for (const auto& name : *names) {
    const Configuration configuration = loaded({.preset = name, .file = {}, .assignments = {"data.store=\"a: #b\""}});
    std::ofstream(folder.path() / "printed.yaml") << configuration.to_yaml();
    std::ofstream(folder.path() / "config.json") << configuration.to_json().dump(2);
    EXPECT_TRUE(loaded({.preset = "", .file = folder.path() / "printed.yaml", .assignments = {}}) == configuration)
        << name;
    EXPECT_TRUE(loaded({.preset = "", .file = folder.path() / "config.json", .assignments = {}}) == configuration)
        << name;
  }
}

TEST(Configuration, AnAlgorithmBringsItsOwnDefaults) {
  const Configuration dapo = loaded({.preset = "", .file = {}, .assignments = {"rl.algorithm=dapo", "rl.kl=0.3"}});
  EXPECT_EQ(dapo.number("rl.clip_high"), 0.28);
  EXPECT_EQ(dapo.origin("rl.clip_high"), "default of dapo");
  EXPECT_EQ(dapo.whole("rl.refills"), 2);
  EXPECT_EQ(dapo.number("rl.kl"), 0.3) << "what a person sets stays";
}

TEST(Configuration, UnknownKeysAreErrorsWithASuggestion) {
  const Error misspelt = error_of("sft:\n  steps: 10\n  weight_decya: 0.1\n");
  EXPECT_EQ(to_string(misspelt), "my.yaml:3:3: there is no key 'sft.weight_decya' (do you mean sft.weight_decay?)");
  EXPECT_EQ(error_of("curiculum: {}\n").advice, "do you mean curriculum?");
  EXPECT_EQ(error_of("rl:\n  longest: 5\n").advice, "do you mean sft.longest?");
  EXPECT_EQ(error_of("longest: 5\n").advice, "do you mean sft.longest?");
  EXPECT_EQ(error_of("rl:\n  zzzzzzzzzzzz: 5\n").advice, "kernelwright config shows all of them");
  Configuration configuration;
  EXPECT_EQ(configuration.set("rl.algoritm=ppo").error().advice, "do you mean rl.algorithm?");
  EXPECT_EQ(configuration.set("rl.algorithm=gppo").error().advice, "do you mean ppo?");
  EXPECT_FALSE(configuration.set("rl.kl").ok());
  EXPECT_FALSE(configuration.set("=3").ok());
}

TEST(Configuration, ValuesAreChecked) {
  EXPECT_EQ(to_string(error_of("rl:\n  kl: 200\n")), "my.yaml:2:7: rl.kl is 200, but may be 0 to 100");
  for (const char* yaml : {"rl: {kl: nan}",
                           "rl: {kl: .inf}",
                           "rl: {kl: 1e999}",
                           "rl: {kl: 0x10}",
                           "rl: {kl: }",
                           "rl: {kl: [1]}",
                           "rl: {group: 2.5}",
                           "rl: {group: 99999999999999999999}",
                           "rl: {group: -3}",
                           "rl: {enabled: maybe}",
                           "rl: {enabled: yes}",
                           "evaluation: {splits: novel}",
                           "evaluation: {splits: [moon]}",
                           "evaluation: {splits: [novel, novel]}",
                           "evaluation: {splits: [[novel]]}",
                           "evaluation: {splits: []}",
                           "rl: {group: 1}",
                           "rl: {minutes: 0}",
                           "rl: 3",
                           "rl: [kl]",
                           "data: {store: \"a\\nb\"}",
                           "rl: {kl: 1, kl: 2}",
                           "rl: {kl: 1}\nrl: {kl: 2}",
                           "[1, 2]",
                           "text",
                           "? [a]\n: 3",
                           "sft: {steps: 0, minutes: 0}",
                           "sft: {generate: 0}",
                           "reward: {terms: [speed]}",
                           "reward: {terms: [speed=a]}",
                           "evaluation: {splits: [train]}",
                           "model: {start: nothing, method: lora}",
                           "model: {start: nothing}\nsft: {enabled: false}",
                           "evaluation: {samples: 4}",
                           "compatibility: {minutes: 0}",
                           "<<: {rl: {kl: 1}}",
                           "rl: {kl: \"unterminated}",
                           "rl: {overlong: 2000}"})
    EXPECT_FALSE(error_of(yaml).message.empty()) << yaml;
  for (const char* yaml : {"", "# nothing", "rl:", "reward: {terms: [speed=0.5, quality=-1]}", "rl: {kl: .5}",
                           "data: {store: }", "rl: &a {kl: 1}\n"})
    EXPECT_EQ(error_of(yaml).message, "") << yaml;
}

TEST(Configuration, TextsAreUtf8AndComeBackAsTheyWere) {
  for (const char* wrong : {"t\xff\xffiny", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "cut\xe2\x82",
                            "\xc2\x9b"
                            "31m",
                            "\x1b[31m", "tab\tbed", "\xe2\x80\xa8"}) {
    Configuration configuration;
    EXPECT_FALSE(configuration.set(std::string("model.start=") + wrong).ok()) << wrong;
  }
  for (const char* right :
       {"",    "tiny", "größe", "日本", "😀", "a: b # c", "- x", "\"quoted\"", "back\\slash",     "null", "true", "~",
        "1e5", "[x]",  "{x}",   "*a",   "&a", "!x",       "%x",  "@x",         " led by a space", "'"}) {
    Configuration configuration, again, from_json;
    ASSERT_TRUE(configuration.set(std::string("model.start=") + right).ok()) << right;
    ASSERT_TRUE(again.merge(configuration.to_yaml(), "printed.yaml", "printed").ok()) << right;
    EXPECT_EQ(again.text("model.start"), right);
    ASSERT_TRUE(from_json.merge(configuration.to_json().dump(), "config.json", "json").ok()) << right;
    EXPECT_EQ(from_json.text("model.start"), right);
  }
}

TEST(Configuration, HostileYamlIsBounded) {
  std::string bomb = "a: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) bomb += fmt::format("a{}: &a{} [*a{}, *a{}]\n", i, i, i - 1, i - 1);
  EXPECT_FALSE(error_of(bomb).message.empty());
  EXPECT_FALSE(error_of("evaluation: {splits: &r [*r]}").message.empty());
  EXPECT_FALSE(error_of(std::string(60'000, '[')).message.empty());
  EXPECT_FALSE(error_of(std::string(60'000, '-')).message.empty());
  std::string dashes, keys;
  for (int i = 0; i < 20'000; ++i) dashes += "- ";
  for (int i = 0; i < 20'000; ++i) keys += "? ";
  EXPECT_FALSE(error_of(dashes).message.empty());
  EXPECT_FALSE(error_of(keys).message.empty());
  EXPECT_FALSE(error_of("rl: " + dashes).message.empty());
  EXPECT_NE(error_of("# " + std::string(70'000, 'x')).message.find("64 KiB"), std::string::npos);
  EXPECT_FALSE(error_of(std::string("rl:\0 x", 6)).message.empty());
  Configuration configuration;
  EXPECT_FALSE(configuration.set("evaluation.splits=" + std::string(50'000, '[')).ok());
  EXPECT_FALSE(configuration.set("data.store=" + std::string(50'000, 'x')).ok());
}

TEST(Configuration, FromNothingIsOverThePresetAndUnderWhatAPersonSets) {
  const Configuration configuration =
      loaded({.preset = "quickstart", .from_nothing = true, .file = {}, .assignments = {"sft.lr=0.5"}});
  EXPECT_EQ(configuration.text("model.start"), "nothing");
  EXPECT_EQ(configuration.origin("model.start"), "--from-nothing");
  EXPECT_EQ(configuration.number("sft.lr"), 0.5);
  EXPECT_EQ(configuration.origin("rl.minutes"), "preset quickstart");
}

TEST(Configuration, KeysThatDifferAreNamed) {
  Configuration a, b;
  EXPECT_TRUE(differing_keys(a, b).empty());
  ASSERT_TRUE(b.set("rl.lr=0.5").ok());
  ASSERT_TRUE(b.set("sft.exam=3").ok());
  EXPECT_EQ(differing_keys(a, b), (std::vector<std::string>{"sft.exam", "rl.lr"}));
}

TEST(Configuration, MissingFilesAndPresetsAreNamed) {
  EXPECT_NE(load_configuration({.preset = "moon", .file = {}, .assignments = {}}).error().advice.find("quickstart"),
            std::string::npos);
  EXPECT_FALSE(load_configuration({.preset = "../presets/laptop", .file = {}, .assignments = {}}).ok());
  EXPECT_FALSE(load_configuration({.preset = "", .file = "/no/such.yaml", .assignments = {}}).ok());
}

}  // namespace
}  // namespace kw
