#include "app/pipeline/pipeline_plan.h"

#include <fmt/format.h>

namespace kw {
namespace {

namespace fs = std::filesystem;

class Planner {
 public:
  Planner(Configuration configuration, const fs::path& folder, std::set<std::string, std::less<>>* read)
      : configuration_(std::move(configuration)), folder_(folder), name_(folder.filename().string()), read_(read) {}

  Result<PipelinePlan> plan() {
    KW_TRY_VOID(settle(configuration_));
    SettingReader settings(configuration_);
    const bool from_nothing = settings.text("model.start") == "nothing";
    if (!from_nothing) plan_.start = settings.text("model.start");
    plan_.last = plan_.start;
    plan_.report = settings.flag("run.report");
    const bool with_sft = settings.flag("sft.enabled");
    const bool with_compatibility = settings.flag("compatibility.enabled") && with_sft;
    const bool with_rl = settings.flag("rl.enabled"), with_evaluation = settings.flag("evaluation.enabled");
    note(settings);
    // What is switched off is planned too: values that cannot be are refused whoever would have used them.
    KW_TRY_VOID(plan_sft(with_sft, from_nothing));
    KW_TRY_VOID(plan_compatibility(with_compatibility));
    KW_TRY_VOID(plan_rl(with_rl));
    KW_TRY_VOID(plan_evaluation(with_evaluation));
    if (!plan_.sft && !plan_.rl && !plan_.evaluation)
      return Error{"there is nothing to do: sft, rl and evaluation are all switched off", "", {}};
    return std::move(plan_);
  }

 private:
  Result<void> plan_sft(bool wanted, bool from_nothing) {
    KW_TRY(Configuration stage, stage_alone(configuration_, "sft"));
    SettingReader settings(stage);
    KW_TRY(StoreOptions store, store_options(settings));
    store.folder = folder_ / "store";
    const std::string given = settings.text("data.store");
    KW_TRY(SftArguments sft, sft_arguments(settings));
    note(settings);
    const bool judged_lessons = sft.plan.share[1] + sft.plan.share[2] + sft.plan.share[3] > 0;
    if (judged_lessons && given.empty()) {
      KW_TRY_VOID(stage.set("data.store=" + store.folder.string(), "the run"));
      KW_TRY_VOID(configuration_.set("data.store=" + store.folder.string(), "the run"));
      if (wanted) plan_.data = store;
    }
    plan_.judge = sft.judge;
    if (!wanted) return {};
    SettingReader with_store(stage);
    KW_TRY(plan_.sft, sft_arguments(with_store));
    if (!judged_lessons) plan_.sft->store.clear();
    plan_.vocabulary = from_nothing;
    plan_.sft->out = (folder_ / "sft").string();
    plan_.sft->name = name_ + "/sft";
    plan_.last = plan_.supervised = (folder_ / "sft" / "agents").string();
    return {};
  }

  Result<void> plan_compatibility(bool wanted) {
    Configuration stage = configuration_;
    if (wanted) KW_TRY_VOID(stage.set("model.start=" + plan_.last, "the run"));
    SettingReader settings(stage);
    KW_TRY(GatherArguments gather, gather_arguments(settings));
    for (const char* key : {"steps", "minutes", "lr", "own_share"})
      settings.value(fmt::format("compatibility.{}", key));
    note(settings);
    if (!wanted) return {};
    gather.store = (folder_ / "compatibility" / "conversations.db").string();
    KW_TRY(Configuration training, compatibility_as_sft(std::move(stage)));
    KW_TRY_VOID(training.set("sft.conversations=" + gather.store, "the run"));
    SettingReader training_settings(training);
    KW_TRY(plan_.compatibility, sft_arguments(training_settings));
    plan_.compatibility->store = plan_.sft->store;
    plan_.compatibility->out = (folder_ / "compatibility").string();
    plan_.compatibility->name = name_ + "/compatibility";
    plan_.gather = std::move(gather);
    plan_.last = plan_.supervised = (folder_ / "compatibility" / "agents").string();
    return {};
  }

  Result<void> plan_rl(bool wanted) {
    KW_TRY(Configuration stage, stage_alone(configuration_, "rl"));
    if (wanted) KW_TRY_VOID(stage.set("model.start=" + plan_.last, "the run"));
    SettingReader settings(stage);
    KW_TRY(RlArguments rl, rl_arguments(settings));
    note(settings);
    if (!wanted) return {};
    rl.out = (folder_ / "rl").string();
    rl.name = name_ + "/rl";
    plan_.rl = std::move(rl);
    plan_.last = (folder_ / "rl" / "agents").string();
    return {};
  }

  Result<void> plan_evaluation(bool wanted) {
    SettingReader settings(configuration_);
    KW_TRY(EvaluateArguments evaluation, evaluation_arguments(settings));
    note(settings);
    if (wanted) plan_.evaluation = std::move(evaluation);
    return {};
  }

  void note(const SettingReader& settings) {
    if (read_ != nullptr) read_->insert(settings.read().begin(), settings.read().end());
  }

  Configuration configuration_;
  fs::path folder_;
  std::string name_;
  std::set<std::string, std::less<>>* read_;
  PipelinePlan plan_;
};

}  // namespace

Result<PipelinePlan> pipeline_plan(Configuration configuration, const fs::path& folder,
                                   std::set<std::string, std::less<>>* read) {
  return Planner(std::move(configuration), folder, read).plan();
}

}  // namespace kw
