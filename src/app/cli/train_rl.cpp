// `train rl`: reinforcement learning of agents on what the judge says of their kernels.

#include "app/cli/command.h"
#include "app/cli/setting_options.h"
#include "app/cli/train_ranks.h"
#include "app/stages/stage_settings.h"
#include "base/interrupt.h"

namespace kw::cli {
namespace {

struct RlCommand {
  std::string out;
  ConfigurationSources sources;
  int ranks = 0;
};

Result<Json> run_rl(const RlCommand& command, Communicator* ranks) {
  KW_TRY(Configuration configuration, load_configuration(command.sources));
  KW_TRY_VOID(settle(configuration));
  KW_TRY(const Configuration stage, stage_alone(std::move(configuration), "rl"));
  SettingReader settings(stage);
  KW_TRY(RlArguments arguments, rl_arguments(settings));
  arguments.out = command.out;
  arguments.rl.ranks = ranks;
  return train_rl(arguments);
}

}  // namespace

void add_train_rl_command(CLI::App& train, Context& context) {
  auto* rl = train.add_subcommand(
      "rl", "Reinforcement learning: the agents talk, the judge pays, the weights move; an existing run is resumed");
  auto command = std::make_shared<RlCommand>();
  rl->add_option("OUT", command->out, "the run's folder: checkpoints, metrics, and `agents` at the end")->required();
  add_setting_options(*rl, SettingUser::rl, command->sources);
  add_ranks_option(*rl, command->ranks);
  add_json_flag(*rl, context);
  rl->footer(
      "Examples:\n"
      "  kernelwright train rl runs/rl --model tiny --minutes 8\n"
      "  kernelwright train rl runs/dapo --model runs/sft/agents --algorithm dapo --steps 50 --kl 0.02");
  rl->callback([&context, command] {
    install_interrupt_handling();
    run_with_ranks(context, command->ranks, [&](Communicator* ranks) -> Result<void> {
      KW_TRY(const Json result, run_rl(*command, ranks));
      if (is_first(ranks)) show_training_result(context, result);
      return {};
    });
  });
}

}  // namespace kw::cli
