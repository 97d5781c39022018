#pragma once
// Every key that training and evaluation can be configured with: its type, range, default, one line of help, and who
// looks at it. This table is all there is: YAML files, --set, options of commands, config.json of a run and
// docs/configuration.md are made from it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

enum class SettingKind : std::uint8_t {
  whole,   // a whole number
  number,  // finite
  flag,    // true or false
  word,    // one of `words`
  text,
  list,  // of plain words: [a, b]
};

struct Setting {
  std::string_view key;  // "rl.kl"
  SettingKind kind = SettingKind::text;
  std::string_view initial;  // the default, as one writes it in YAML
  std::string_view help;
  double least = 0, most = 0;   // of whole and number
  std::string_view words = {};  // of word, and of list unless empty: "ppo grpo"
};

struct SettingSection {
  std::string_view name;
  std::string_view help;
  std::span<const Setting> settings;
};

// A command whose options are settings. `train` is the whole pipeline and has them all.
enum class SettingUser : std::uint8_t { train, sft, gather, rl, evaluate };
inline constexpr int setting_user_count = 5;
std::string_view command_of(SettingUser user);  // "train rl"

// In the order in which they are printed.
std::span<const SettingSection> setting_sections();

// nullptr: there is no such key.
const Setting* find_setting(std::string_view key);
bool is_used_by(const Setting& setting, SettingUser user);
// How the command's option is called, the usual name first: {"kl", "rl-kl"} of `train rl`. No dashes before it.
std::vector<std::string> option_names(const Setting& setting, SettingUser user);
std::vector<std::string> words_of(const Setting& setting);

// What an algorithm changes among the defaults: {"dapo", "rl.clip_high", "0.28"}. What a person sets stays.
struct AlgorithmDefault {
  std::string_view algorithm, key, value;
};
std::span<const AlgorithmDefault> algorithm_defaults();

}  // namespace kw
