#include "app/cli/setting_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/config/setting_value.h"
#include "base/nearest_name.h"

namespace kw::cli {
namespace {

std::string option_text(const Setting& setting, SettingUser user, bool negated) {
  std::string names;
  for (const std::string& name : option_names(setting, user)) {
    names += fmt::format("{}--{}", names.empty() ? "" : ",", name);
    if (negated) names += fmt::format(",!--no-{}", name);
  }
  return names;
}

std::string help_of(const Setting& setting) {
  std::string help(setting.help);
  if (const std::string allowed = allowed_text(setting); !allowed.empty()) help += fmt::format(" [{}]", allowed);
  if (!setting.initial.empty() && setting.initial != "[]") help += fmt::format(" (default {})", setting.initial);
  return help;
}

CLI::Option* add_setting(CLI::App& command, const Setting& setting, SettingUser user, ConfigurationSources& sources) {
  const std::string key(setting.key);
  const auto assign = [&sources, key](const std::string& value) { sources.assignments.push_back(key + "=" + value); };
  if (setting.kind == SettingKind::flag)
    return command.add_flag_function(
        option_text(setting, user, true), [assign](std::int64_t times) { assign(times > 0 ? "true" : "false"); },
        help_of(setting));
  const std::string names = option_text(setting, user, false);
  if (setting.kind == SettingKind::list)
    return command
        .add_option_function<std::vector<std::string>>(
            names,
            [assign](const std::vector<std::string>& values) { assign(fmt::format("{}", fmt::join(values, ","))); },
            help_of(setting))
        ->delimiter(',')
        ->expected(1)
        ->take_all();
  return command.add_option_function<std::string>(names, assign, help_of(setting));
}

const char* type_of(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::whole:
      return "WHOLE";
    case SettingKind::number:
      return "NUMBER";
    case SettingKind::word:
      return "WORD";
    case SettingKind::list:
      return "LIST";
    case SettingKind::flag:
    case SettingKind::text:
      break;
  }
  return "TEXT";
}

}  // namespace

void add_setting_options(CLI::App& command, SettingUser user, ConfigurationSources& sources, bool shown) {
  command.add_option("--preset", sources.preset, "quickstart, laptop or h200");
  command.add_option("--config", sources.file, "a YAML file, or config.json of a run");
  command
      .add_option("--set", sources.assignments,
                  "KEY=VALUE (kernelwright config); may be repeated; --rl-kl 0.01 is the same as --set rl.kl=0.01")
      ->expected(1)
      ->take_all();
  for (const SettingSection& section : setting_sections())
    for (const Setting& setting : section.settings) {
      if (!is_used_by(setting, user)) continue;
      CLI::Option* option = add_setting(command, setting, user, sources);
      option->group(shown ? std::string(section.help) : "");
      if (setting.kind != SettingKind::flag) option->type_name(type_of(setting));
    }
}

void add_lessons_option(CLI::App& command, ConfigurationSources& sources) {
  static const std::vector<std::string> kinds = {"generate", "optimise", "repair", "report"};
  const auto assign = [&sources](const std::vector<std::string>& shares) {
    for (const std::string& kind : kinds) sources.assignments.push_back("sft." + kind + "=0");
    for (const std::string& share : shares) {
      const std::size_t sign = std::min(share.find('='), share.size());
      const std::string kind = share.substr(0, sign);
      if (std::ranges::find(kinds, kind) == kinds.end())
        throw CLI::ValidationError("--lessons", fmt::format("there is no kind of lesson '{}': {}", kind.substr(0, 80),
                                                            fmt::join(kinds, ", ")));
      sources.assignments.push_back("sft." + kind + (sign == share.size() ? "=1" : share.substr(sign)));
    }
  };
  command
      .add_option_function<std::vector<std::string>>("--lessons", assign,
                                                     "KIND=SHARE of generate, optimise, repair, report; the others 0")
      ->delimiter(',')
      ->expected(1)
      ->take_all();
}

}  // namespace kw::cli
