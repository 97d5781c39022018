#include "app/experiment/definition.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <set>
#include <utility>

#include "app/experiment/bucketing.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "base/yaml_depth.h"

namespace kw {
namespace {

constexpr std::array<std::pair<PromoteWhen, std::string_view>, 3> promote_names = {{
    {PromoteWhen::better, "better"},
    {PromoteWhen::not_worse, "not_worse"},
    {PromoteWhen::by_hand, "by_hand"},
}};
constexpr std::array<std::pair<AnalysisUnit, std::string_view>, 2> unit_names = {{
    {AnalysisUnit::request, "request"},
    {AnalysisUnit::user, "user"},
}};

// For the terminal, for files and for pages: no control characters.
bool is_plain_text(std::string_view text) {
  return !text.empty() && text.size() <= max_experiment_text_bytes &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// One file's parse: every error has the position of the node that it is about.
class DefinitionReader {
 public:
  explicit DefinitionReader(std::string file) : file_(std::move(file)) {}

  Result<ExperimentDefinition> read(const YAML::Node& root) {
    if (!root.IsMap()) return error(root, "an experiment is a map of keys such as name, arms, ramp, guardrails");
    KW_TRY_VOID(check_keys(root, {"name", "salt", "hash_version", "arms", "ramp", "requests_per_stage", "goal",
                                  "promote", "unit", "false_alarm", "guardrails", "outcome_deadline_s"}));
    ExperimentDefinition definition;
    KW_TRY(definition.name, text(root, "name", ""));
    KW_TRY(definition.salt, text(root, "salt", definition.name));
    KW_TRY(const double version, number(root, "hash_version", 2, 1, newest_hash_version));
    if (version != std::floor(version)) return error(root["hash_version"], "hash_version is 1 or 2");
    definition.hash_version = static_cast<int>(version);
    KW_TRY(definition.arms, read_arms(root));
    if (root["ramp"]) {
      KW_TRY(definition.ramp_percent, read_ramp(root["ramp"]));
    }
    KW_TRY(const double requests, number(root, "requests_per_stage", definition.requests_per_stage, 1, 1e6));
    definition.requests_per_stage = static_cast<int>(requests);
    KW_TRY(definition.goal, metric(root, "goal", definition.goal));
    KW_TRY(definition.promote, choice(root, "promote", definition.promote, promote_names));
    KW_TRY(definition.unit, choice(root, "unit", definition.unit, unit_names));
    KW_TRY(definition.false_alarm, number(root, "false_alarm", definition.false_alarm, 0.0001, 0.5));
    KW_TRY(definition.outcome_deadline_s, number(root, "outcome_deadline_s", definition.outcome_deadline_s, 1, 1e6));
    if (root["guardrails"]) {
      KW_TRY(definition.guardrails, read_guardrails(root["guardrails"]));
    }
    return definition;
  }

 private:
  Error error(const YAML::Node& node, std::string message, std::string advice = "") const {
    Position where{file_, 0, 0};
    if (node.IsDefined() && !node.Mark().is_null()) where = {file_, node.Mark().line + 1, node.Mark().column + 1};
    return {std::move(message), std::move(advice), std::move(where)};
  }

  Result<void> check_keys(const YAML::Node& map, std::initializer_list<const char*> known) const {
    const std::vector<std::string> names(known.begin(), known.end());
    std::set<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) return error(entry.first, "a key must be a plain word");
      const std::string& key = entry.first.Scalar();
      if (std::ranges::find(names, key) == names.end()) {
        const std::string near = nearest_name(key, names);
        return error(entry.first, fmt::format("there is no key '{}'", key.substr(0, 80)),
                     near.empty() ? "" : "do you mean " + near + "?");
      }
      if (!seen.insert(key).second) return error(entry.first, fmt::format("the key '{}' is there twice", key));
    }
    return {};
  }

  // An empty default: the key must be there.
  Result<std::string> text(const YAML::Node& map, const char* key, const std::string& otherwise) const {
    const YAML::Node node = map[key];
    if (!node && !otherwise.empty()) return otherwise;
    if (!node) return error(map, fmt::format("'{}' is missing", key));
    if (!node.IsScalar() || !is_plain_text(node.Scalar()))
      return error(node, fmt::format("'{}' is not one line of at most {} bytes", key, max_experiment_text_bytes));
    return node.Scalar();
  }

  Result<double> number(const YAML::Node& node, std::string_view what, double lowest, double highest) const {
    double value = 0;
    if (!node.IsScalar() || !YAML::convert<double>::decode(node, value) || !(value >= lowest && value <= highest))
      return error(node, fmt::format("{} is not a number from {} to {}", what, lowest, highest));
    return value;
  }

  Result<double> number(const YAML::Node& map, const char* key, double otherwise, double lowest, double highest) const {
    const YAML::Node node = map[key];
    if (!node) return otherwise;
    return number(node, fmt::format("'{}'", key), lowest, highest);
  }

  template <class Value, std::size_t Count>
  Result<Value> choice(const YAML::Node& map, const char* key, Value otherwise,
                       const std::array<std::pair<Value, std::string_view>, Count>& names) const {
    const YAML::Node node = map[key];
    if (!node) return otherwise;
    std::string all;
    for (const auto& [value, name] : names) {
      if (node.IsScalar() && node.Scalar() == name) return value;
      all += (all.empty() ? "" : ", ") + std::string(name);
    }
    return error(node, fmt::format("'{}' is none of {}", key, all));
  }

  Result<Metric> metric(const YAML::Node& map, const char* key, Metric otherwise) const {
    const YAML::Node node = map[key];
    if (!node) return otherwise;
    if (const auto found = node.IsScalar() ? metric_named(node.Scalar()) : std::nullopt) return *found;
    std::string all;
    for (const auto& one : all_metrics()) all += (all.empty() ? "" : ", ") + std::string(one.name);
    return error(node, fmt::format("'{}' is no metric", key), "the metrics are " + all);
  }

  Result<std::vector<ExperimentArm>> read_arms(const YAML::Node& root) const {
    const YAML::Node list = root["arms"];
    if (!list || !list.IsSequence() || list.size() < 2 || list.size() > max_arms)
      return error(list ? list : root, fmt::format("'arms' is not a list of 2 to {} sets of agents", max_arms),
                   "the first is the control");
    std::vector<ExperimentArm> arms;
    std::size_t weighted = 0;
    double sum = 0;
    for (const auto& node : list) {
      if (!node.IsMap()) return error(node, "an arm is a map of name, agents and weight");
      KW_TRY_VOID(check_keys(node, {"name", "agents", "weight"}));
      ExperimentArm arm;
      KW_TRY(arm.name, text(node, "name", ""));
      KW_TRY(arm.agents, text(node, "agents", ""));
      KW_TRY(arm.weight, number(node, "weight", 1.0 / static_cast<double>(list.size()), 0.01, 0.99));
      if (std::ranges::any_of(arms, [&](const ExperimentArm& other) { return other.name == arm.name; }))
        return error(node, fmt::format("two arms are called '{}'", arm.name));
      weighted += node["weight"].IsDefined();
      sum += arm.weight;
      arms.push_back(std::move(arm));
    }
    if (weighted != 0 && weighted != arms.size()) return error(list, "either all arms have a weight or none");
    if (std::abs(sum - 1) > 1e-6) return error(list, fmt::format("the weights add up to {}, not to 1", sum));
    return arms;
  }

  Result<std::vector<double>> read_ramp(const YAML::Node& list) const {
    if (!list.IsSequence() || list.size() == 0 || list.size() > max_ramp_stages)
      return error(list, fmt::format("'ramp' is not a list of 1 to {} percentages", max_ramp_stages));
    std::vector<double> ramp;
    for (const auto& node : list) {
      KW_TRY(const double percent, number(node, "a stage of the ramp", 0.1, 100));
      if (!ramp.empty() && percent <= ramp.back())
        return error(node, "a stage of the ramp is not above the one before it");
      ramp.push_back(percent);
    }
    return ramp;
  }

  Result<std::vector<Guardrail>> read_guardrails(const YAML::Node& list) const {
    if (!list.IsSequence() || list.size() == 0 || list.size() > metric_count)
      return error(list, fmt::format("'guardrails' is not a list of 1 to {} metrics", metric_count));
    std::vector<Guardrail> guardrails;
    for (const auto& node : list) {
      if (!node.IsMap() || !node["metric"]) return error(node, "a guardrail is a map of metric, tolerance and margin");
      KW_TRY_VOID(check_keys(node, {"metric", "tolerance", "margin"}));
      Guardrail guardrail;
      KW_TRY(guardrail.metric, metric(node, "metric", guardrail.metric));
      const bool ratio = describe(guardrail.metric).kind == MetricKind::ratio;
      const double highest = ratio ? largest_ratio - 1.5 : 0.9;  // what can be told from "any change at all"
      KW_TRY(guardrail.tolerance, number(node, "tolerance", ratio ? 0.1 : 0.01, 0, highest));
      KW_TRY(guardrail.margin, number(node, "margin", ratio ? 0.25 : 0.05, 0.001, highest));
      if (guardrail.margin <= guardrail.tolerance) return error(node, "the margin is not above the tolerance");
      for (const auto& other : guardrails)
        if (other.metric == guardrail.metric) return error(node, "the metric has a guardrail already");
      guardrails.push_back(guardrail);
    }
    return guardrails;
  }

  std::string file_;
};

}  // namespace

std::vector<Guardrail> ExperimentDefinition::default_guardrails() {
  return {{Metric::error, 0.01, 0.05}, {Metric::correct, 0.01, 0.05}, {Metric::latency, 0.1, 0.25}};
}

std::string_view to_string(PromoteWhen promote) {
  return std::ranges::find(promote_names, promote, &std::pair<PromoteWhen, std::string_view>::first)->second;
}

std::string_view to_string(AnalysisUnit unit) {
  return std::ranges::find(unit_names, unit, &std::pair<AnalysisUnit, std::string_view>::first)->second;
}

Result<ExperimentDefinition> parse_experiment(std::string_view yaml, const std::string& file) {
  const Position whole_file{file, 0, 0};
  if (yaml.size() > max_definition_bytes) return Error{"an experiment of more than 64 KiB is none", "", whole_file};
  if (yaml.find('\0') != std::string_view::npos) return Error{"the experiment holds a NUL byte", "", whole_file};
  if (yaml_nested_too_deeply(yaml)) return Error{"the experiment is nested too deeply", "", whole_file};
  // yaml-cpp reports by throwing.
  try {
    return DefinitionReader(file).read(YAML::Load(std::string(yaml)));
  } catch (const YAML::Exception& problem) {
    Position where = whole_file;
    if (!problem.mark.is_null()) where = {file, problem.mark.line + 1, problem.mark.column + 1};
    return Error{"the YAML is not valid: " + problem.msg, "", std::move(where)};
  }
}

Result<ExperimentDefinition> load_experiment(const std::filesystem::path& file) {
  KW_TRY(const std::string yaml, read_file(file, max_definition_bytes));
  return parse_experiment(yaml, file.string());
}

nlohmann::ordered_json to_json(const ExperimentDefinition& definition) {
  nlohmann::ordered_json arms = nlohmann::ordered_json::array(), guardrails = nlohmann::ordered_json::array();
  for (const auto& arm : definition.arms)
    arms.push_back({{"name", arm.name}, {"agents", arm.agents}, {"weight", arm.weight}});
  for (const auto& guardrail : definition.guardrails)
    guardrails.push_back({{"metric", describe(guardrail.metric).name},
                          {"tolerance", guardrail.tolerance},
                          {"margin", guardrail.margin}});
  return {{"name", definition.name},
          {"salt", definition.salt},
          {"hash_version", definition.hash_version},
          {"arms", std::move(arms)},
          {"ramp", definition.ramp_percent},
          {"requests_per_stage", definition.requests_per_stage},
          {"goal", describe(definition.goal).name},
          {"promote", to_string(definition.promote)},
          {"unit", to_string(definition.unit)},
          {"false_alarm", definition.false_alarm},
          {"guardrails", std::move(guardrails)},
          {"outcome_deadline_s", definition.outcome_deadline_s}};
}

}  // namespace kw
