#pragma once
// The configuration of a training run: defaults, over them a preset, over it a YAML file, over it single settings.
// Every key is known and every value within its range, or there is no configuration but an error that says where.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/config/schema.h"
#include "base/result.h"

namespace kw {

inline constexpr std::size_t max_configuration_bytes = std::size_t{64} << 10;

using SettingValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::string>>;

class Configuration {
 public:
  Configuration();  // the defaults

  // Values of a YAML text over those that are there; `origin` is shown beside them. JSON is YAML too, so config.json of
  // a run can be given. The key `preset` is left to load_configuration().
  Result<void> merge(std::string_view yaml, const std::string& file, const std::string& origin);
  // "rl.kl=0.01"
  Result<void> set(std::string_view assignment, const std::string& origin = "--set");
  // The value of another key of the same kind and range.
  void copy_value(std::string_view from, std::string_view to, const std::string& origin);
  // What minutes came to in the run that this is the configuration of: "sft.steps", 812. It changes nothing here;
  // whoever loads config.json to repeat the run gets these values (load_configuration).
  void note_measured(std::string_view key, std::int64_t value);
  const std::map<std::string, std::int64_t, std::less<>>& measured() const { return measured_; }
  std::map<std::string, std::int64_t, std::less<>> take_measured() { return std::exchange(measured_, {}); }

  // Fills in what the algorithm changes among the defaults and looks at values together. load_configuration() did it.
  Result<void> complete();

  // The key must be one of the schema and of this kind; word and text are both texts.
  std::int64_t whole(std::string_view key) const;
  double number(std::string_view key) const;
  bool flag(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  const std::vector<std::string>& list(std::string_view key) const;

  const std::string& preset() const { return preset_; }  // empty: none
  void set_preset(std::string name) { preset_ = std::move(name); }
  const SettingValue& value(std::string_view key) const;
  // "default", "default of dapo", "preset laptop", "my.yaml", "--set"
  const std::string& origin(std::string_view key) const;
  nlohmann::ordered_json to_json() const;
  // Every key with its help; read again, it gives the same configuration.
  std::string to_yaml() const;

  friend bool operator==(const Configuration& a, const Configuration& b);

 private:
  struct Entry {
    SettingValue value;
    std::string origin;
  };
  std::string preset_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::int64_t, std::less<>> measured_;
};

// Whose values differ; the preset's name and what was measured do not count.
std::vector<std::string> differing_keys(const Configuration& a, const Configuration& b);

struct ConfigurationSources {
  std::string preset;          // overrides the file's
  bool from_nothing = false;   // over the preset, under the file: a model and vocabulary from nothing
  std::filesystem::path file;  // may be empty; of config.json also what was measured, unless minutes or steps are set
  std::vector<std::string> assignments;
};
Result<Configuration> load_configuration(const ConfigurationSources& sources);

// Files of presets/ without their ending.
Result<std::vector<std::string>> preset_file_names();
// KERNELWRIGHT_PRESETS, or presets/ beside the program or above it.
Result<std::filesystem::path> presets_folder();

}  // namespace kw
