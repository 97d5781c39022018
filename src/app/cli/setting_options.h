#pragma once
// Options of a command that are settings: made from the table of settings, so that each has the name, range, default
// and help that a configuration file has.

#include <CLI/CLI.hpp>

#include "base/config/configuration.h"

namespace kw::cli {

// --preset, --config, --set, and an option for each key that the command looks at. They fill `sources`, which must
// outlive the command. Options stand under their sections; `shown` false: the help names them by one line alone.
void add_setting_options(CLI::App& command, SettingUser user, ConfigurationSources& sources, bool shown = true);

// `--lessons generate=0.6,repair=0.4`: shares of the kinds of lessons; those that are not named get none.
void add_lessons_option(CLI::App& command, ConfigurationSources& sources);

}  // namespace kw::cli
