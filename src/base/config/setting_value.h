#pragma once
// One value of the configuration: from a YAML node, and as text.

#include <yaml-cpp/yaml.h>

#include <string>

#include "base/config/configuration.h"
#include "base/result.h"

namespace kw {

// Errors say what is wrong with the value; the caller knows where it stands.
Result<SettingValue> read_setting(const Setting& setting, const YAML::Node& node);
// From trusted text, the schema's own.
SettingValue setting_from_text(const Setting& setting, std::string_view text);

// As one writes it in YAML.
std::string yaml_text(const SettingValue& value);
nlohmann::ordered_json setting_json(const SettingValue& value);

// "0 to 1", "ppo, grpo, dapo"; empty: anything.
std::string allowed_text(const Setting& setting);

}  // namespace kw
