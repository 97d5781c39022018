// `train gather`: conversations of the agents about training tasks, into a store; what stage 1.5 learns from.

#include <fmt/format.h>

#include <iostream>

#include "app/cli/command.h"
#include "app/cli/model_load.h"
#include "app/stages/gather_run.h"
#include "base/interrupt.h"

namespace kw::cli {

void add_train_gather_command(CLI::App& train, Context& context) {
  auto* command = train.add_subcommand(
      "gather", "Lets the agents talk about training tasks and keeps the conversations; resumes where it was stopped");
  auto arguments = std::make_shared<GatherArguments>();
  command->add_option("STORE", arguments->store, "SQLite file")->required();
  command->add_option("--model", arguments->model, "tiny, smollm2, or a folder of agents")->capture_default_str();
  command->add_option("--tasks", arguments->tasks, "how many")->capture_default_str();
  command->add_option("--first", arguments->first, "index of the first task in the stream");
  command->add_option("--seed", arguments->seed, "of tasks and samples")->capture_default_str();
  command->add_option("--turns", arguments->turns)->capture_default_str()->check(CLI::Range(1, 5));
  command->add_option("--samples", arguments->samples, "answers of each turn")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_option("--temperature", arguments->temperature)->capture_default_str();
  command->add_option("--answer-tokens", arguments->answer_tokens, "longest answer")->capture_default_str();
  command->add_option("--judge-workers", arguments->judge.workers, "0: one for each core");
  add_device_option(*command, arguments->device);
  add_json_flag(*command, context);
  command->footer("Example:\n  kernelwright train gather runs/talk.db --model tiny --tasks 200");
  command->callback([&context, arguments] {
    install_interrupt_handling();
    const auto result = gather(*arguments);
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
