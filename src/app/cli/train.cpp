// `train`: from data to a report in one command. Its stages are commands of their own: sft, gather, rl.

#include <fmt/format.h>

#include <iostream>

#include "app/cli/command.h"
#include "app/cli/setting_options.h"
#include "app/cli/train_ranks.h"
#include "app/pipeline/pipeline.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/run_log/run_log.h"
#include "base/table.h"
#include "model/distributed/slots.h"

namespace kw::cli {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  std::string run;
  ConfigurationSources sources;
  bool skip_sft = false, skip_rl = false, resume = false;
  double minutes = 0;
  int ranks = 0;

  bool says_how() const {
    return !sources.preset.empty() || !sources.file.empty() || !sources.assignments.empty() || sources.from_nothing ||
           skip_sft || skip_rl || minutes > 0;
  }
};

// The training stages share the minutes as the configuration does.
Result<void> scale_minutes(Configuration& configuration, double minutes) {
  const std::vector<std::string> stages = {"sft", "compatibility", "rl"};
  double all = 0;
  for (const std::string& stage : stages)
    if (configuration.flag(stage + ".enabled")) all += configuration.number(stage + ".minutes");
  if (all <= 0) return Error{"no stage has minutes that could be changed", "", {}};
  for (const std::string& stage : stages) {
    const double scaled = configuration.number(stage + ".minutes") * minutes / all;
    KW_TRY_VOID(configuration.set(fmt::format("{}.minutes={}", stage, scaled), "--minutes"));
  }
  return {};
}

Result<Configuration> configuration_for(const TrainArguments& arguments) {
  ConfigurationSources sources = arguments.sources;
  if (arguments.skip_sft) sources.assignments.emplace_back("sft.enabled=false");
  if (arguments.skip_rl) sources.assignments.emplace_back("rl.enabled=false");
  KW_TRY(Configuration configuration, load_configuration(sources));
  if (arguments.minutes > 0) {
    KW_TRY_VOID(scale_minutes(configuration, arguments.minutes));
    KW_TRY_VOID(configuration.complete());
  }
  return configuration;
}

fs::path folder_for(const TrainArguments& arguments) {
  if (!arguments.run.empty()) {
    // A name alone is one of the runs' folder, as for `runs show`.
    std::error_code ignored;
    const fs::path run = arguments.run;
    return run.has_parent_path() || fs::exists(run, ignored) ? run : runs_folder() / run;
  }
  return runs_folder() / (arguments.sources.preset.empty() ? "train" : arguments.sources.preset);
}

Result<PipelineOutcome> train(const TrainArguments& arguments, const fs::path& folder, Communicator* ranks) {
  PipelineHooks hooks;
  hooks.ranks = ranks;
  if (arguments.resume || !arguments.says_how()) {
    KW_TRY(auto stored, run_configuration(folder));
    if (!stored && arguments.resume) return Error{"there is no run to resume in " + folder.string(), "", {}};
    if (!stored) return Error{"no configuration given", "--preset quickstart, laptop or h200, or --config FILE", {}};
    if (!arguments.says_how()) return run_pipeline(folder, *stored, hooks);
  }
  KW_TRY(Configuration configuration, configuration_for(arguments));
  // So that whoever resumes the run, with as many ranks or without any, takes the same steps.
  if (ranks != nullptr && configuration.whole("run.slots") == 0)
    KW_TRY_VOID(configuration.set(fmt::format("run.slots={}", usual_slots), "--ranks"));
  return run_pipeline(folder, configuration, hooks);
}

void show_outcome(Context& context, const PipelineOutcome& outcome, const fs::path& folder) {
  if (context.json) {
    print_json(kw::to_json(outcome));
  } else if (!outcome.interrupted) {
    Table stages({"stage", "took"}, {Align::left, Align::right});
    for (const StageRecord& stage : outcome.record.stages) stages.add({stage.name, duration_text(stage.seconds)});
    std::cout << "\n" << stages.text() << "\n";
    if (!outcome.outcome.empty()) std::cout << outcome_text(outcome.outcome) << "\n";
    std::cout << "The agents are in " << outcome.agents << "\n";
    if (fs::exists(folder / "report.html")) std::cout << "The report is " << (folder / "report.html").string() << "\n";
    std::cout << fmt::format("kernelwright optimize softmax --model {} shows them at work\n", folder.string());
  }
  if (!outcome.interrupted) return;
  std::cerr << fmt::format("stopped; kernelwright train --resume {} resumes it\n", folder.string());
  context.exit_code = exit_interrupted;
}

}  // namespace

void show_training_result(Context& context, const Json& result) {
  if (context.json) {
    print_json(result);
  } else {
    Table table({"", ""}, {Align::left, Align::right});
    for (const auto& [name, value] : result.items())
      table.add({name, value.is_number_float() ? fmt::format("{:.4g}", value.get<double>())
                       : value.is_string()     ? value.get<std::string>()
                                               : value.dump()});
    std::cout << table.text();
  }
  if (result.at("interrupted").get<bool>()) context.exit_code = exit_interrupted;
}

void add_train_command(CLI::App& app, Context& context) {
  auto* train_command = app.add_subcommand(
      "train",
      "Teaches agents to write kernels: data, supervised training, reinforcement learning, evaluation, report");
  add_train_sft_command(*train_command, context);
  add_train_gather_command(*train_command, context);
  add_train_rl_command(*train_command, context);
  auto arguments = std::make_shared<TrainArguments>();
  train_command->add_option("RUN", arguments->run,
                            "the run's folder, or its name in runs/ [the preset's]; an existing run is resumed");
  add_setting_options(*train_command, SettingUser::train, arguments->sources, false);
  train_command
      ->add_option("--minutes", arguments->minutes, "for all training stages together, instead of the preset's")
      ->check(CLI::Range(0.01, 1e5));
  train_command->add_flag("--from-nothing", arguments->sources.from_nothing,
                          "a new model instead of the preset's start");
  train_command->add_flag("--skip-sft", arguments->skip_sft, "sft.enabled=false");
  train_command->add_flag("--skip-rl", arguments->skip_rl, "rl.enabled=false");
  train_command->add_flag("--resume", arguments->resume, "resume RUN as it was configured; an error if there is none");
  add_ranks_option(*train_command, arguments->ranks);
  add_json_flag(*train_command, context);
  train_command->footer(
      "Every key of `kernelwright config` is an option too: rl.kl is --rl-kl, sft.lr is --sft-lr.\n\n"
      "Examples:\n"
      "  kernelwright train --preset quickstart                     ten minutes on two cores\n"
      "  kernelwright train my-run --preset laptop --minutes 20     an hour's recipe in a third of the time\n"
      "  kernelwright train dapo --preset quickstart --algorithm dapo --set rl.lr=2e-4\n"
      "  kernelwright train big --preset laptop --ranks 4           four processes that train together\n"
      "  kernelwright train --resume my-run                         after Ctrl-C, or a power cut\n"
      "  kernelwright evaluate my-run                               what its agents can do");
  train_command->callback([&context, arguments, train_command] {
    if (!train_command->get_subcommands().empty()) return;
    install_interrupt_handling();
    const fs::path folder = folder_for(*arguments);
    run_with_ranks(context, arguments->ranks, [&](Communicator* ranks) -> Result<void> {
      KW_TRY(const PipelineOutcome outcome, train(*arguments, folder, ranks));
      if (is_first(ranks)) show_outcome(context, outcome, folder);
      return {};
    });
  });
}

}  // namespace kw::cli
