#include "config/setting_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/nearest_name.h"

namespace kw {
namespace {

constexpr std::size_t max_text_bytes = 4096;
constexpr std::size_t max_list_entries = 256;

std::string shown(const std::string& text) { return "'" + text.substr(0, 80) + "'"; }

template <class Number>
std::optional<Number> parsed(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end) return {};
  return value;
}

Error out_of_range(const Setting& setting, const std::string& text) {
  return {fmt::format("{} is {}, but may be {}", setting.key, text.substr(0, 40), allowed_text(setting)), "", {}};
}

Result<std::string> plain_text(const Setting& setting, const YAML::Node& node) {
  if (!node.IsDefined() || node.IsNull()) return std::string();
  if (!node.IsScalar()) return Error{fmt::format("{} must be a single value", setting.key), "", {}};
  std::string text = node.Scalar();
  if (text.size() > max_text_bytes) return Error{fmt::format("{} is too long", setting.key), "", {}};
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return Error{fmt::format("{} holds control characters", setting.key), "", {}};
  return text;
}

Result<std::string> known_word(const Setting& setting, std::string word) {
  const auto words = words_of(setting);
  if (words.empty() || std::ranges::find(words, word) != words.end()) return word;
  const std::string near = nearest_name(word, words);
  return Error{fmt::format("{} cannot be {}", setting.key, shown(word)),
               near.empty() ? "it may be " + allowed_text(setting) : "do you mean " + near + "?",
               {}};
}

Result<SettingValue> read_list(const Setting& setting, const YAML::Node& node) {
  std::vector<std::string> entries;
  if (!node.IsDefined() || node.IsNull()) return SettingValue(entries);
  if (!node.IsSequence()) return Error{fmt::format("{} must be a list such as [a, b]", setting.key), "", {}};
  if (node.size() > max_list_entries) return Error{fmt::format("{} has too many entries", setting.key), "", {}};
  for (const auto& item : node) {
    KW_TRY(std::string text, plain_text(setting, item));
    if (text.empty()) return Error{fmt::format("{} has an empty entry", setting.key), "", {}};
    KW_TRY(std::string word, known_word(setting, std::move(text)));
    if (std::ranges::find(entries, word) != entries.end())
      return Error{fmt::format("{} names {} twice", setting.key, shown(word)), "", {}};
    entries.push_back(std::move(word));
  }
  return SettingValue(std::move(entries));
}

// Words that YAML readers take for something else, or that hold its punctuation, are quoted.
bool is_plain(const std::string& text) {
  static constexpr std::string_view safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=-";
  return !text.empty() && text.find_first_not_of(safe) == std::string::npos && text.front() != '-' &&
         text.front() != '=' && text != "null" && text != "true" && text != "false" && text != ".";
}

std::string quoted_if_need_be(const std::string& text) {
  if (is_plain(text)) return text;
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Result<SettingValue> read_setting(const Setting& setting, const YAML::Node& node) {
  if (setting.kind == SettingKind::list) return read_list(setting, node);
  KW_TRY(const std::string text, plain_text(setting, node));
  switch (setting.kind) {
    case SettingKind::whole: {
      const auto value = parsed<std::int64_t>(text);
      if (!value) return Error{fmt::format("{} is {}, but must be a whole number", setting.key, shown(text)), "", {}};
      const auto as_number = static_cast<double>(*value);
      if (as_number < setting.least || as_number > setting.most) return out_of_range(setting, text);
      return SettingValue(*value);
    }
    case SettingKind::number: {
      const auto value = parsed<double>(text);
      if (!value || !std::isfinite(*value))
        return Error{fmt::format("{} is {}, but must be a number", setting.key, shown(text)), "", {}};
      if (*value < setting.least || *value > setting.most) return out_of_range(setting, text);
      return SettingValue(*value);
    }
    case SettingKind::flag:
      if (text == "true" || text == "false") return SettingValue(text == "true");
      return Error{fmt::format("{} is {}, but must be true or false", setting.key, shown(text)), "", {}};
    case SettingKind::word: {
      KW_TRY(std::string word, known_word(setting, text));
      return SettingValue(std::move(word));
    }
    default:
      return SettingValue(text);
  }
}

SettingValue setting_from_text(const Setting& setting, std::string_view text) {
  const std::string written(text);
  auto value = read_setting(setting, setting.kind == SettingKind::list ? YAML::Load(written) : YAML::Node(written));
  KW_CHECK(value.ok());
  return std::move(value).value();
}

std::string yaml_text(const SettingValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return quoted_if_need_be(*text);
  std::string text;
  for (const auto& entry : std::get<std::vector<std::string>>(value))
    text += (text.empty() ? "" : ", ") + quoted_if_need_be(entry);
  return "[" + text + "]";
}

nlohmann::ordered_json setting_json(const SettingValue& value) {
  return std::visit([](const auto& held) { return nlohmann::ordered_json(held); }, value);
}

std::string allowed_text(const Setting& setting) {
  if (setting.kind == SettingKind::whole || setting.kind == SettingKind::number)
    return fmt::format("{} to {}", setting.least, setting.most);
  return fmt::format("{}", fmt::join(words_of(setting), ", "));
}

}  // namespace kw
