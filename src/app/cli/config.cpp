// kernelwright config: the configuration that `train` would use, with what each key means.

#include "base/config/configuration.h"

#include <iostream>

#include "app/cli/command.h"
#include "app/cli/setting_options.h"
#include "base/config/settings_page.h"

namespace kw::cli {

void add_config_command(CLI::App& app, Context& context) {
  auto* config =
      app.add_subcommand("config", "The configuration of a training run: every key with its value and meaning");
  auto sources = std::make_shared<ConfigurationSources>();
  add_json_flag(*config, context);
  add_setting_options(*config, SettingUser::train, *sources, false);
  auto markdown = std::make_shared<bool>(false);
  config->add_flag("--markdown", *markdown, "the table of all keys instead, as in docs/configuration.md");
  config->footer(
      "Examples:\n"
      "  kernelwright config --preset laptop > my.yaml     a file to change\n"
      "  kernelwright config --config my.yaml --set rl.kl=0.01 --set rl.algorithm=dapo\n"
      "  kernelwright config --preset quickstart --rl-kl 0.01                          every key is an option, too");
  config->callback([&context, sources, markdown] {
    if (*markdown) {
      std::cout << settings_page();
      return;
    }
    const auto configuration = load_configuration(*sources);
    if (!configuration.ok()) return fail(context, configuration.error());
    if (context.json)
      print_json(configuration->to_json());
    else
      std::cout << configuration->to_yaml();
  });
}

}  // namespace kw::cli
