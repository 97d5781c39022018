// `train gather`: conversations of the agents about training tasks, into a store; what stage 1.5 learns from.

#include <fmt/format.h>

#include <iostream>

#include "app/cli/command.h"
#include "app/cli/setting_options.h"
#include "app/stages/stage_settings.h"
#include "base/interrupt.h"

namespace kw::cli {
namespace {

struct GatherCommand {
  std::string store;
  ConfigurationSources sources;
};

Result<Json> run_gather(const GatherCommand& command) {
  KW_TRY(Configuration configuration, load_configuration(command.sources));
  KW_TRY_VOID(settle(configuration));
  SettingReader settings(configuration);
  KW_TRY(GatherArguments arguments, gather_arguments(settings));
  arguments.store = command.store;
  return gather(arguments);
}

}  // namespace

void add_train_gather_command(CLI::App& train, Context& context) {
  auto* gather = train.add_subcommand(
      "gather", "Lets the agents talk about training tasks and keeps the conversations; an existing store is resumed");
  auto command = std::make_shared<GatherCommand>();
  gather->add_option("STORE", command->store, "SQLite file")->required();
  add_setting_options(*gather, SettingUser::gather, command->sources);
  add_json_flag(*gather, context);
  gather->footer("Example:\n  kernelwright train gather runs/talk.db --model tiny --tasks 200");
  gather->callback([&context, command] {
    install_interrupt_handling();
    const auto result = run_gather(*command);
    if (!result.ok()) return fail(context, result.error());
    if (context.json) {
      print_json(*result);
    } else {
      std::cout << fmt::format("{} conversations, {} of {} answers worked\n", result->at("conversations").dump(),
                               result->at("worked").dump(), result->at("answers").dump());
    }
    if (result->at("interrupted").get<bool>()) context.exit_code = exit_interrupted;
  });
}

}  // namespace kw::cli
