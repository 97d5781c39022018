#include "base/config/configuration.h"
#include "base/installed_files.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/config/setting_value.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "base/yaml_depth.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr const char* default_origin = "default";

Position position_of(const YAML::Mark& mark, const std::string& file) {
  return mark.is_null() ? Position{file, 0, 0} : Position{file, mark.line + 1, mark.column + 1};
}

Error at_node(Error error, const YAML::Node& node, const std::string& file) {
  error.where = position_of(node.Mark(), file);
  return error;
}

Result<YAML::Node> parse_yaml(std::string_view yaml, const std::string& file) {
  const Position whole_file{file, 0, 0};
  if (yaml.size() > max_configuration_bytes)
    return Error{"a configuration of more than 64 KiB is none", "", whole_file};
  if (yaml.find('\0') != std::string_view::npos) return Error{"the configuration holds a NUL byte", "", whole_file};
  if (yaml_nested_too_deeply(yaml)) return Error{"the configuration is nested too deeply", "", whole_file};
  // yaml-cpp reports syntax errors by throwing.
  try {
    return YAML::Load(std::string(yaml));
  } catch (const YAML::Exception& problem) {
    return Error{"the YAML is not valid: " + problem.msg, "", position_of(problem.mark, file)};
  }
}

// The nearest key of the same section, or the key of that name in another one.
Error unknown_key(const std::string& key) {
  const std::string section = key.substr(0, key.find('.')), leaf = key.substr(std::min(key.find('.') + 1, key.size()));
  std::vector<std::string> section_names, keys_here, keys_elsewhere;
  for (const SettingSection& one : setting_sections()) {
    section_names.emplace_back(one.name);
    for (const Setting& setting : one.settings) {
      if (one.name == section) keys_here.emplace_back(setting.key);
      if (setting.key.substr(one.name.size() + 1) == leaf) keys_elsewhere.emplace_back(setting.key);
    }
  }
  std::string near;
  if (key.find('.') == std::string::npos) near = keys_elsewhere.empty() ? nearest_name(key, section_names) : "";
  if (near.empty()) near = nearest_name(key, keys_here);
  if (near.empty() && !keys_elsewhere.empty()) near = keys_elsewhere.front();
  if (near.empty() && keys_here.empty()) near = nearest_name(section, section_names);
  return {fmt::format("there is no key '{}'", key.substr(0, 100)),
          near.empty() ? "kernelwright config shows all of them" : "do you mean " + near + "?",
          {}};
}

// Each key of a map once, in order, as text.
Result<std::vector<std::pair<std::string, YAML::Node>>> keys_of(const YAML::Node& map, const std::string& file) {
  std::vector<std::pair<std::string, YAML::Node>> keys;
  std::set<std::string> seen;
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) return at_node({"a key must be a plain word", "", {}}, entry.first, file);
    const std::string& key = entry.first.Scalar();
    if (!seen.insert(key).second)
      return at_node({fmt::format("the key '{}' is there twice", key.substr(0, 100)), "", {}}, entry.first, file);
    keys.emplace_back(key, entry.first);
  }
  return keys;
}

bool is_section(std::string_view name) {
  return std::ranges::any_of(setting_sections(), [&](const SettingSection& section) { return section.name == name; });
}

// The key that the measured one stands for: minutes of the same stage.
std::string minutes_key(std::string_view key) { return std::string(key.substr(0, key.find('.'))) + ".minutes"; }

bool can_be_measured(std::string_view key) {
  return (key.ends_with(".steps") || key == "rl.last_lr") && find_setting(key) != nullptr;
}

Result<std::map<std::string, std::int64_t, std::less<>>> read_measured(const YAML::Node& map, const std::string& file) {
  std::map<std::string, std::int64_t, std::less<>> measured;
  if (map.IsNull()) return measured;
  if (!map.IsMap()) return at_node({"measured holds keys such as sft.steps", "", {}}, map, file);
  KW_TRY(const auto keys, keys_of(map, file));
  for (const auto& [key, key_node] : keys) {
    if (!can_be_measured(key))
      return at_node({fmt::format("'{}' is nothing that is measured", key.substr(0, 100)), "", {}}, key_node, file);
    const Setting* setting = find_setting(key);
    auto value = read_setting(*setting, map[key]);
    if (!value.ok()) return at_node(std::move(value).error(), map[key], file);
    measured[key] = setting->kind == SettingKind::whole ? std::get<std::int64_t>(*value)
                                                        : static_cast<std::int64_t>(std::get<double>(*value));
  }
  return measured;
}

// What the file says of its preset; empty: nothing.
Result<std::string> preset_in(std::string_view yaml, const std::string& file) {
  KW_TRY(const YAML::Node root, parse_yaml(yaml, file));
  if (!root.IsMap()) return std::string();
  const YAML::Node preset = root["preset"];
  if (!preset || preset.IsNull()) return std::string();
  if (!preset.IsScalar()) return at_node({"the preset must be a name", "", {}}, preset, file);
  return preset.Scalar();
}

Result<void> merge_preset(Configuration& configuration, const std::string& name) {
  KW_TRY(const auto names, preset_file_names());
  if (std::ranges::find(names, name) == names.end())
    return Error{fmt::format("there is no preset '{}'", name.substr(0, 80)),
                 fmt::format("there are {}", fmt::join(names, ", ")),
                 {}};
  KW_TRY(const fs::path folder, presets_folder());
  const fs::path file = folder / (name + ".yaml");
  KW_TRY(const std::string yaml, read_file(file, max_configuration_bytes));
  KW_TRY(const std::string inner, preset_in(yaml, file.string()));
  if (!inner.empty()) return Error{"a preset cannot be based on another one", "", {file.string(), 0, 0}};
  configuration.set_preset(name);
  return configuration.merge(yaml, file.string(), "preset " + name);
}

Result<void> merge_from_nothing(Configuration& configuration) {
  KW_TRY(const fs::path folder, presets_folder());
  const fs::path file = folder / "with" / "from-nothing.yaml";
  KW_TRY(const std::string yaml, read_file(file, max_configuration_bytes));
  return configuration.merge(yaml, file.string(), "--from-nothing");
}

// A run that is repeated takes as many steps as it took, unless it is told anew how long to take.
Result<void> take_over_measured(Configuration& configuration, const std::vector<std::string>& assignments) {
  for (const auto& [key, value] : configuration.take_measured()) {
    const std::string steps = key + "=", minutes = minutes_key(key) + "=";  // clang 14 captures no binding
    const auto sets = [&](const std::string& assignment) {
      return assignment.starts_with(steps) || assignment.starts_with(minutes);
    };
    if (std::ranges::any_of(assignments, sets)) continue;
    KW_TRY_VOID(configuration.set(fmt::format("{}={}", key, value), "measured"));
  }
  return {};
}

}  // namespace

Configuration::Configuration() {
  for (const SettingSection& section : setting_sections())
    for (const Setting& setting : section.settings)
      entries_[std::string(setting.key)] = {setting_from_text(setting, setting.initial), default_origin};
}

Result<void> Configuration::merge(std::string_view yaml, const std::string& file, const std::string& origin) {
  KW_TRY(const YAML::Node root, parse_yaml(yaml, file));
  if (root.IsNull()) return {};
  if (!root.IsMap()) return at_node({"a configuration is a map of sections such as sft and rl", "", {}}, root, file);
  KW_TRY(const auto sections, keys_of(root, file));
  for (const auto& [name, section_key] : sections) {
    // What a run's agents have seen is a fact about them (app/stages), no setting.
    if (name == "preset" || name == "learned_from") continue;
    if (name == "measured") {
      KW_TRY(measured_, read_measured(root[name], file));
      continue;
    }
    if (!is_section(name)) return at_node(unknown_key(name), section_key, file);
    const YAML::Node section = root[name];
    if (section.IsNull()) continue;
    if (!section.IsMap()) return at_node({fmt::format("{} is a section with keys in it", name), "", {}}, section, file);
    KW_TRY(const auto keys, keys_of(section, file));
    for (const auto& [leaf, leaf_key] : keys) {
      const std::string key = name + "." + leaf;
      const Setting* setting = find_setting(key);
      if (setting == nullptr) return at_node(unknown_key(key), leaf_key, file);
      auto value = read_setting(*setting, section[leaf]);
      if (!value.ok()) return at_node(std::move(value).error(), section[leaf], file);
      entries_[key] = {std::move(*value), origin};
    }
  }
  return {};
}

Result<void> Configuration::set(std::string_view assignment, const std::string& origin) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    return Error{fmt::format("'{}' sets nothing", assignment.substr(0, 100)), "write --set rl.kl=0.01", {}};
  const std::string key(assignment.substr(0, equals));
  const Setting* setting = find_setting(key);
  if (setting == nullptr) return unknown_key(key);
  std::string_view written = assignment.substr(equals + 1);
  // Texts are taken as they are; lists may be written without their brackets.
  YAML::Node node;
  if (setting->kind == SettingKind::list) {
    const bool bare = !written.starts_with('[');
    KW_TRY(node, parse_yaml(bare ? "[" + std::string(written) + "]" : std::string(written), ""));
  } else {
    node = YAML::Node(std::string(written));
  }
  KW_TRY(SettingValue value, read_setting(*setting, node));
  entries_[key] = {std::move(value), origin};
  return {};
}

void Configuration::copy_value(std::string_view from, std::string_view to, const std::string& origin) {
  KW_CHECK(find_setting(from) != nullptr && find_setting(to) != nullptr &&
           find_setting(from)->kind == find_setting(to)->kind);
  entries_.find(to)->second = {value(from), origin};
}

void Configuration::note_measured(std::string_view key, std::int64_t value) {
  KW_CHECK(can_be_measured(key));
  measured_[std::string(key)] = value;
}

Result<void> Configuration::complete() {
  const std::string algorithm = text("rl.algorithm");
  for (const AlgorithmDefault& change : algorithm_defaults()) {
    Entry& entry = entries_.find(change.key)->second;
    if (change.algorithm == algorithm && entry.origin == default_origin)
      entry = {setting_from_text(*find_setting(change.key), change.value), "default of " + algorithm};
  }
  const auto refuse = [](const std::string& message, const std::string& advice) { return Error{message, advice, {}}; };
  const bool from_nothing = text("model.start") == "nothing";
  for (const char* stage : {"sft", "compatibility", "rl"}) {
    const std::string name = stage;
    if (flag(name + ".enabled") && whole(name + ".steps") == 0 && number(name + ".minutes") == 0)
      return refuse(name + " has neither steps nor minutes", "give one of them, or " + name + ".enabled: false");
  }
  if (flag("sft.enabled") &&
      number("sft.generate") + number("sft.optimise") + number("sft.repair") + number("sft.report") <= 0)
    return refuse("sft has no lessons", "give sft.generate, sft.optimise, sft.repair or sft.report a share");
  if (flag("rl.enabled")) {
    if (algorithm != "ppo" && whole("rl.group") < 2)
      return refuse("rl.group is 1, but " + algorithm + " compares conversations about a task with each other",
                    "at least 2, or rl.algorithm: ppo");
    if (algorithm == "ppo" && text("rl.credit") == "leave_one_out")
      return refuse("PPO compares with its critic, not with other conversations", "rl.credit: later");
    if (whole("rl.overlong") > whole("rl.answer_tokens"))
      return refuse("rl.overlong is longer than rl.answer_tokens", "");
  }
  if (from_nothing && text("model.method") != "full" && text("model.method") != "auto")
    return refuse("a model from nothing has no base for adapters", "model.method: full");
  if (from_nothing && !flag("sft.enabled"))
    return refuse("a model from nothing must be taught first", "sft.enabled: true, or another model.start");
  if (flag("evaluation.enabled")) {
    if (list("evaluation.splits").empty())
      return refuse("evaluation.splits is empty", "name composition, novel or suite, or evaluation.enabled: false");
    if (whole("evaluation.samples") > 1 && number("evaluation.temperature") == 0)
      return refuse("with evaluation.temperature 0 all evaluation.samples are the same", "one sample, or 0.8");
  }
  for (const std::string& weight : list("reward.terms")) {
    const std::size_t equals = weight.find('=');
    char* end = nullptr;
    const std::string written = equals == std::string::npos ? "" : weight.substr(equals + 1);
    (void)std::strtod(written.c_str(), &end);
    if (equals == 0 || written.empty() || *end != '\0')
      return refuse(fmt::format("'{}' in reward.terms is no weight", weight.substr(0, 80)), "write speed=0.5");
  }
  return {};
}

const SettingValue& Configuration::value(std::string_view key) const {
  const auto entry = entries_.find(key);
  KW_CHECK(entry != entries_.end());
  return entry->second.value;
}

const std::string& Configuration::origin(std::string_view key) const {
  const auto entry = entries_.find(key);
  KW_CHECK(entry != entries_.end());
  return entry->second.origin;
}

std::int64_t Configuration::whole(std::string_view key) const { return std::get<std::int64_t>(value(key)); }
double Configuration::number(std::string_view key) const { return std::get<double>(value(key)); }
bool Configuration::flag(std::string_view key) const { return std::get<bool>(value(key)); }
const std::string& Configuration::text(std::string_view key) const { return std::get<std::string>(value(key)); }
const std::vector<std::string>& Configuration::list(std::string_view key) const {
  return std::get<std::vector<std::string>>(value(key));
}

nlohmann::ordered_json Configuration::to_json() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!preset_.empty()) json["preset"] = preset_;
  for (const SettingSection& section : setting_sections())
    for (const Setting& setting : section.settings)
      json[std::string(section.name)][std::string(setting.key.substr(section.name.size() + 1))] =
          setting_json(value(setting.key));
  for (const auto& [key, value] : measured_) json["measured"][key] = value;
  return json;
}

std::string Configuration::to_yaml() const {
  std::string yaml;
  if (!preset_.empty()) yaml += "preset: " + preset_ + "\n\n";
  for (const SettingSection& section : setting_sections()) {
    yaml += fmt::format("# {}\n{}:\n", section.help, section.name);
    for (const Setting& setting : section.settings) {
      std::string line =
          fmt::format("  {}: {}", setting.key.substr(section.name.size() + 1), yaml_text(value(setting.key)));
      line += std::string(line.size() < 34 ? 34 - line.size() : 1, ' ');
      const std::string allowed = allowed_text(setting);
      line += fmt::format(" # {}", setting.help);
      if (!allowed.empty()) line += fmt::format(" [{}]", allowed);
      if (origin(setting.key) != default_origin) line += fmt::format(" ({})", origin(setting.key));
      yaml += line + "\n";
    }
    yaml += "\n";
  }
  yaml.pop_back();
  return yaml;
}

// Judges elsewhere prove that they judge alike; where they are, and where their secret lies, may change while a run is
// interrupted.
static bool is_place_of_judges(std::string_view key, const Configuration& a, const Configuration& b) {
  if (key == "judge.secret_file") return true;
  const auto elsewhere = [&](const Configuration& one) { return one.text(key).find(':') != std::string::npos; };
  return key == "judge.on" && elsewhere(a) && elsewhere(b);
}

std::vector<std::string> differing_keys(const Configuration& a, const Configuration& b) {
  std::vector<std::string> keys;
  for (const SettingSection& section : setting_sections())
    for (const Setting& setting : section.settings)
      if (a.value(setting.key) != b.value(setting.key) && !is_place_of_judges(setting.key, a, b))
        keys.emplace_back(setting.key);
  return keys;
}

bool operator==(const Configuration& a, const Configuration& b) {
  return a.preset_ == b.preset_ && std::ranges::equal(a.entries_, b.entries_, [](const auto& one, const auto& other) {
           return one.first == other.first && one.second.value == other.second.value;
         });
}

Result<fs::path> presets_folder() {
  return find_installed({"presets", "KERNELWRIGHT_PRESETS", "quickstart.yaml", "the presets were"});
}

Result<std::vector<std::string>> preset_file_names() {
  KW_TRY(const fs::path folder, presets_folder());
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure); !failure && entry != fs::directory_iterator();
       entry.increment(failure))
    if (entry->path().extension() == ".yaml") names.push_back(entry->path().stem().string());
  if (failure) return Error{"cannot list " + folder.string() + ": " + failure.message(), "", {}};
  std::ranges::sort(names);
  return names;
}

Result<Configuration> load_configuration(const ConfigurationSources& sources) {
  Configuration configuration;
  std::string yaml, preset = sources.preset;
  const std::string file = sources.file.string();
  if (!sources.file.empty()) {
    KW_TRY(yaml, read_file(sources.file, max_configuration_bytes));
    KW_TRY(std::string named, preset_in(yaml, file));
    if (preset.empty()) preset = std::move(named);
  }
  if (!preset.empty()) KW_TRY_VOID(merge_preset(configuration, preset));
  if (sources.from_nothing) KW_TRY_VOID(merge_from_nothing(configuration));
  if (!sources.file.empty()) KW_TRY_VOID(configuration.merge(yaml, file, sources.file.filename().string()));
  KW_TRY_VOID(take_over_measured(configuration, sources.assignments));
  for (const auto& assignment : sources.assignments) KW_TRY_VOID(configuration.set(assignment));
  KW_TRY_VOID(configuration.complete());
  return configuration;
}

}  // namespace kw
