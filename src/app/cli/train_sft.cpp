// `train sft`: supervised training.

#include "app/cli/command.h"
#include "app/cli/setting_options.h"
#include "app/cli/train_ranks.h"
#include "app/stages/stage_settings.h"
#include "base/interrupt.h"

namespace kw::cli {
namespace {

struct SftCommand {
  std::string out;
  std::uint64_t show = 0;
  ConfigurationSources sources;
  int ranks = 0;
};

Result<Json> run_sft(const SftCommand& command, Communicator* ranks) {
  KW_TRY(Configuration configuration, load_configuration(command.sources));
  KW_TRY_VOID(settle(configuration));
  KW_TRY(const Configuration stage, stage_alone(std::move(configuration), "sft"));
  SettingReader settings(stage);
  KW_TRY(SftArguments arguments, sft_arguments(settings));
  arguments.out = command.out;
  arguments.show = command.show;
  arguments.ranks = ranks;
  return train_sft(arguments);
}

}  // namespace

void add_train_sft_command(CLI::App& train, Context& context) {
  auto* sft = train.add_subcommand("sft",
                                   "Supervised training on generated tasks and judged kernels; an existing run is "
                                   "resumed");
  auto command = std::make_shared<SftCommand>();
  sft->add_option("OUT", command->out, "the run's folder: checkpoints, metrics, and `agents` at the end")->required();
  sft->add_option("--show", command->show, "instead of training: so many lessons, the first of them in full");
  add_lessons_option(*sft, command->sources);
  add_setting_options(*sft, SettingUser::sft, command->sources);
  add_ranks_option(*sft, command->ranks);
  add_json_flag(*sft, context);
  sft->footer(
      "Examples:\n"
      "  kernelwright train sft runs/tiny --model tiny-6m --minutes 15\n"
      "  kernelwright train sft runs/smollm2 --model smollm2-135m --method lora --store data/store "
      "--lessons generate=0.6,optimise=0.25,repair=0.15 --lr 1e-3 --minutes 8");
  sft->callback([&context, command] {
    install_interrupt_handling();
    run_with_ranks(context, command->ranks, [&](Communicator* ranks) -> Result<void> {
      KW_TRY(const Json result, run_sft(*command, ranks));
      if (is_first(ranks)) show_training_result(context, result);
      return {};
    });
  });
}

}  // namespace kw::cli
