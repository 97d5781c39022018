// kernelwright config: the configuration that `train` would use, with what each key means.

#include "base/config/configuration.h"

#include <iostream>

#include "app/cli/command.h"

namespace kw::cli {

void add_config_command(CLI::App& app, Context& context) {
  auto* config =
      app.add_subcommand("config", "The configuration of a training run: every key with its value and meaning");
  auto sources = std::make_shared<ConfigurationSources>();
  add_json_flag(*config, context);
  config->add_option("--preset", sources->preset, "quickstart, laptop or h200");
  config->add_option("--config", sources->file, "a YAML file, or config.json of a run");
  config->add_option("--set", sources->assignments, "KEY=VALUE; may be repeated")->expected(1)->take_all();
  config->footer(
      "Examples:\n"
      "  kernelwright config --preset laptop > my.yaml     a file to change\n"
      "  kernelwright config --config my.yaml --set rl.kl=0.01 --set rl.algorithm=dapo");
  config->callback([&context, sources] {
    const auto configuration = load_configuration(*sources);
    if (!configuration.ok()) return fail(context, configuration.error());
    if (context.json)
      print_json(configuration->to_json());
    else
      std::cout << configuration->to_yaml();
  });
}

}  // namespace kw::cli
