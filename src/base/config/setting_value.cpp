#include "base/config/setting_value.h"

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

// UTF-8 without control characters: what YAML and JSON give back as it was, and a terminal shows as it is.
bool is_printable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xC2 && lead < 0xE0 ? 2
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    if (length == 0 || length > text.size() - at) return false;
    std::uint32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3F);
    }
    const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    const bool control =
        code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 || code == 0xFEFF;
    if (too_long || surrogate || control || code > 0x10FFFF) return false;
    at += length;
  }
  return true;
}

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
  if (!is_printable(text))
    return Error{fmt::format("{} is not UTF-8, or holds control characters", setting.key), "", {}};
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
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
