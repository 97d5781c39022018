#include "app/stages/stage_settings.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace kw {
namespace {

Configuration configured(std::vector<std::string> assignments) {
  auto configuration = load_configuration({.preset = "", .file = {}, .assignments = std::move(assignments)});
  EXPECT_TRUE(configuration.ok()) << to_string(configuration.error());
  return configuration.ok() ? std::move(*configuration) : Configuration();
}

// An option of a command that nobody reads would promise something that does not happen, and a key that is read but
// has no option could not be asked for.
TEST(StageSettings, ACommandReadsTheKeysThatAreItsOptions) {
  const Configuration nothing = configured({"model.start=nothing"});
  const auto read_by = [&](SettingUser user) {
    SettingReader settings(nothing);
    bool made = false;
    switch (user) {
      case SettingUser::sft:
        made = sft_arguments(settings).ok();
        break;
      case SettingUser::gather:
        made = gather_arguments(settings).ok();
        break;
      case SettingUser::rl:
        made = rl_arguments(settings).ok();
        break;
      case SettingUser::evaluate:
        made = evaluation_arguments(settings).ok();
        break;
      case SettingUser::train:
        break;
    }
    EXPECT_TRUE(made);
    return settings.read();
  };
  for (const SettingUser user : {SettingUser::sft, SettingUser::gather, SettingUser::rl, SettingUser::evaluate}) {
    const auto read = read_by(user);
    for (const SettingSection& section : setting_sections())
      for (const Setting& setting : section.settings)
        EXPECT_EQ(is_used_by(setting, user), read.contains(setting.key)) << setting.key << ", " << command_of(user);
  }
}

TEST(StageSettings, AStageAloneIsAllThatIsLeft) {
  const auto rl = stage_alone(configured({}), "rl");
  ASSERT_TRUE(rl.ok());
  EXPECT_TRUE(rl->flag("rl.enabled"));
  for (const char* other : {"sft.enabled", "compatibility.enabled", "evaluation.enabled", "run.report"})
    EXPECT_FALSE(rl->flag(other)) << other;
}

TEST(StageSettings, TrainingOnConversationsIsSupervisedTrainingWithOtherValues) {
  const auto stage =
      compatibility_as_sft(configured({"compatibility.steps=5", "compatibility.lr=0.25", "compatibility.own_share=0.75",
                                       "sft.ramp=9", "sft.drill=0.5", "run.seed=4"}));
  ASSERT_TRUE(stage.ok()) << to_string(stage.error());
  SettingReader settings(*stage);
  const auto sft = sft_arguments(settings);
  ASSERT_TRUE(sft.ok()) << to_string(sft.error());
  EXPECT_EQ(sft->training.steps, 5);
  EXPECT_EQ(sft->training.minutes, 0);
  EXPECT_EQ(sft->training.peak_learning_rate, 0.25);
  EXPECT_EQ(sft->own, 0.75);
  EXPECT_EQ(sft->seed, 5u) << "other lessons than those of stage 1";
  EXPECT_EQ(sft->plan.ramp, 0u);
  EXPECT_EQ(sft->plan.drill, 0);
}

TEST(StageSettings, ShapesAreModelsFromNothingAndPathsAreAbsolute) {
  Configuration configuration = configured({"model.start=tiny-1m", "data.store=here/store"});
  ASSERT_TRUE(settle(configuration).ok());
  EXPECT_EQ(configuration.text("model.start"), "nothing");
  EXPECT_EQ(configuration.text("model.shape"), "tiny-1m");
  EXPECT_TRUE(std::filesystem::path(configuration.text("data.store")).is_absolute());
  Configuration named = configured({"model.start=tiny"});
  ASSERT_TRUE(settle(named).ok());
  EXPECT_EQ(named.text("model.start"), "tiny");
  Configuration run = configured({"model.start=runs/x"});
  ASSERT_TRUE(settle(run).ok());
  EXPECT_TRUE(run.text("model.start").ends_with("/runs/x"));
  EXPECT_TRUE(run.text("model.start").starts_with("/"));
  // A package in the working folder is a file, whatever its name.
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_TRUE(write_file_atomic("agents.kwz", "").ok());
  Configuration package = configured({"model.start=agents.kwz"});
  EXPECT_TRUE(settle(package).ok());
  std::filesystem::current_path(before);
  EXPECT_EQ(package.text("model.start"), std::filesystem::canonical(folder.path()) / "agents.kwz");
}

}  // namespace
}  // namespace kw
