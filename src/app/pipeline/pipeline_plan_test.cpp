#include "app/pipeline/pipeline_plan.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

namespace fs = std::filesystem;

PipelinePlan plan_of(const ConfigurationSources& sources) {
  const auto configuration = load_configuration(sources);
  EXPECT_TRUE(configuration.ok()) << to_string(configuration.error());
  auto plan = pipeline_plan(*configuration, "/runs/mine");
  EXPECT_TRUE(plan.ok()) << to_string(plan.error());
  return plan.ok() ? std::move(*plan) : PipelinePlan();
}

// A key that is read by nobody promises something that does not happen.
TEST(PipelinePlan, EveryKeyOfTheSchemaIsRead) {
  for (const char* preset : {"quickstart", "laptop", "h200"}) {
    const auto configuration = load_configuration({.preset = preset, .file = {}, .assignments = {}});
    ASSERT_TRUE(configuration.ok());
    std::set<std::string, std::less<>> read;
    ASSERT_TRUE(pipeline_plan(*configuration, "/runs/mine", &read).ok());
    for (const SettingSection& section : setting_sections())
      for (const Setting& setting : section.settings) {
        // Which of the two counts depends on the other.
        if (setting.key == "model.shape" && configuration->text("model.start") != "nothing") continue;
        EXPECT_TRUE(read.contains(setting.key)) << setting.key << " has no effect";
      }
  }
}

TEST(PipelinePlan, StagesStartFromTheAgentsOfTheOneBefore) {
  const PipelinePlan plan = plan_of({.preset = "laptop", .file = {}, .assignments = {}});
  EXPECT_EQ(plan.start, "");
  EXPECT_TRUE(plan.vocabulary);
  ASSERT_TRUE(plan.data && plan.sft && plan.gather && plan.compatibility && plan.rl && plan.evaluation);
  EXPECT_EQ(plan.sft->model, "tiny-1m");
  EXPECT_EQ(plan.sft->store, "/runs/mine/store");
  EXPECT_EQ(plan.gather->model, "/runs/mine/sft/agents");
  EXPECT_EQ(plan.compatibility->model, "/runs/mine/sft/agents");
  EXPECT_EQ(plan.compatibility->conversations, plan.gather->store);
  EXPECT_GT(plan.sft->plan.ramp, 0u);
  EXPECT_EQ(plan.compatibility->plan.ramp, 0u) << "easy tasks first, but once";
  EXPECT_EQ(plan.rl->model, "/runs/mine/compatibility/agents");
  EXPECT_EQ(plan.supervised, "/runs/mine/compatibility/agents");
  EXPECT_EQ(plan.last, "/runs/mine/rl/agents");
  EXPECT_EQ(plan.rl->name, "mine/rl");
}

TEST(PipelinePlan, WhatIsSwitchedOffIsNotPlanned) {
  const PipelinePlan plan = plan_of({.preset = "quickstart", .file = {}, .assignments = {"sft.enabled=false"}});
  EXPECT_FALSE(plan.data || plan.sft || plan.gather || plan.compatibility);
  ASSERT_TRUE(plan.rl);
  EXPECT_EQ(plan.rl->model, "tiny");
  EXPECT_EQ(plan.supervised, "");
  const PipelinePlan lessons = plan_of(
      {.preset = "quickstart", .file = {}, .assignments = {"sft.optimise=0", "sft.repair=0", "rl.enabled=false"}});
  EXPECT_FALSE(lessons.data) << "no lesson needs judged kernels";
  EXPECT_EQ(lessons.last, "/runs/mine/sft/agents");
  const PipelinePlan given = plan_of({.preset = "quickstart", .file = {}, .assignments = {"data.store=/stores/mine"}});
  EXPECT_FALSE(given.data);
  EXPECT_EQ(given.sft->store, "/stores/mine");
}

TEST(PipelinePlan, SettingsReachTheirStages) {
  const PipelinePlan plan =
      plan_of({.preset = "quickstart",
               .file = {},
               .assignments = {"rl.algorithm=dapo", "rl.steps=7", "reward.shape=gated", "reward.terms=[speed=0.25]",
                               "reward.gate=never", "curriculum.pass_rate=0.4", "judge.workers=3", "sft.lr=0.125",
                               "evaluation.optimizer_tasks=5", "run.seed=99", "model.rank=4"}});
  EXPECT_EQ(plan.rl->algorithm, "dapo");
  EXPECT_EQ(plan.rl->rl.steps, 7);
  EXPECT_EQ(plan.rl->rl.minutes, 0) << "steps are given";
  EXPECT_EQ(plan.rl->rl.update.clip.high, 0.28);
  EXPECT_EQ(plan.rl->rl.refills, 2);
  EXPECT_EQ(plan.rl->rules.gates.front().pass_rate, 0.4);
  EXPECT_EQ(plan.rl->rl.judge_workers, 3);
  EXPECT_EQ(plan.sft->judge.workers, 3);
  EXPECT_EQ(plan.sft->training.peak_learning_rate, 0.125);
  EXPECT_EQ(plan.sft->seed, 99u);
  EXPECT_EQ(plan.rl->rank, 4);
  EXPECT_EQ(plan.evaluation->optimizer_tasks, 5u);
  ASSERT_TRUE(plan.evaluation->worth);
  EXPECT_FALSE(plan.evaluation->worth->gate);
  EXPECT_EQ(plan.evaluation->worth->name, "gated");
}

TEST(PipelinePlan, WhatCannotBeIsRefused) {
  for (const char* setting : {"data.families=[moon]", "reward.terms=[moon=1]", "reward.terms=[speed=1000]"}) {
    auto configuration = load_configuration({.preset = "quickstart", .file = {}, .assignments = {setting}});
    ASSERT_TRUE(configuration.ok()) << setting;
    EXPECT_FALSE(pipeline_plan(*configuration, "/runs/mine").ok()) << setting;
  }
  const auto nothing =
      load_configuration({.preset = "quickstart",
                          .file = {},
                          .assignments = {"sft.enabled=false", "rl.enabled=false", "evaluation.enabled=false"}});
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(pipeline_plan(*nothing, "/runs/mine").ok());
}

}  // namespace
}  // namespace kw
