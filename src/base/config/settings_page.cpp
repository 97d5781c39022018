#include "base/config/settings_page.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "base/config/setting_value.h"

namespace kw {
namespace {

constexpr std::size_t line_width = 120;

// One entry of a list, its later lines under its text.
std::string entry(std::string_view text) {
  std::string page, line = "- ";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (line.size() + word.size() > line_width) {
      page += line.substr(0, line.size() - 1) + "\n";
      line = "  ";
    }
    line += std::string(word) + " ";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return page + line.substr(0, line.size() - 1) + "\n";
}

std::string kind_text(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::whole:
      return "whole number";
    case SettingKind::number:
      return "number";
    case SettingKind::flag:
      return "true or false";
    case SettingKind::word:
      return "word";
    case SettingKind::text:
      return "text";
    case SettingKind::list:
      return "list";
  }
  return "";
}

// "`--kl` of train rl"
std::string options_text(const Setting& setting) {
  std::vector<std::string> uses;
  for (int user = 1; user < setting_user_count; ++user) {  // 0, `train`, has them all under their full names
    const auto command = static_cast<SettingUser>(user);
    if (!is_used_by(setting, command)) continue;
    const std::string option = "`--" + option_names(setting, command).front() + "`";
    if (!uses.empty() && uses.back().starts_with(option))
      uses.back() += fmt::format(", {}", command_of(command));
    else
      uses.push_back(fmt::format("{} of {}", option, command_of(command)));
  }
  std::string text;
  for (const std::string& use : uses) text += (text.empty() ? "" : ", ") + use;
  return text;
}

std::string setting_entry(const Setting& setting) {
  std::string facts = kind_text(setting);
  if (const std::string allowed = allowed_text(setting); !allowed.empty() && setting.kind != SettingKind::flag)
    facts += ": " + allowed;
  if (!setting.initial.empty() && setting.initial != "[]") facts += fmt::format("; default {}", setting.initial);
  std::string text = fmt::format("`{}`: {} ({})", setting.key, setting.help, facts);
  if (const std::string options = options_text(setting); !options.empty()) text += "; " + options;
  return entry(text + ".");
}

}  // namespace

std::string settings_page() {
  std::string page = std::string(settings_page_begins) + "\n\n";
  page +=
      "Made from the table by `kernelwright config --markdown`. Every key is also an option of `train` by its full "
      "name:\n";
  page += "`rl.kl` is `--rl-kl`.\n";
  for (const SettingSection& section : setting_sections()) {
    page += fmt::format("\n### {}: {}\n\n", section.name, section.help);
    for (const Setting& setting : section.settings) page += setting_entry(setting);
  }
  return page;
}

}  // namespace kw
