#include "app/experiment/definition.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

constexpr const char* shortest = R"(
name: tiny-v2
arms:
  - {name: control, agents: weights/tiny}
  - {name: candidate, agents: runs/night/agents}
)";

constexpr const char* everything = R"(
name: tiny-v2
salt: pepper
hash_version: 1
arms:
  - {name: control, agents: weights/tiny, weight: 0.5}
  - {name: night, agents: runs/night/agents, weight: 0.3}
  - {name: day, agents: runs/day/agents, weight: 0.2}
ramp: [2, 100]
requests_per_stage: 50
goal: speedup
promote: not_worse
unit: request
false_alarm: 0.1
outcome_deadline_s: 60
guardrails:
  - {metric: correct, tolerance: 0, margin: 0.1}
  - {metric: tokens, tolerance: 0.5, margin: 1}
)";

std::string error_of(const std::string& yaml) {
  const auto definition = parse_experiment(yaml, "e.yaml");
  return definition.ok() ? "" : to_string(definition.error());
}

TEST(Definition, HasDefaultsForAllButNameAndArms) {
  const auto definition = parse_experiment(shortest, "e.yaml");
  ASSERT_TRUE(definition.ok()) << to_string(definition.error());
  EXPECT_EQ(definition->salt, "tiny-v2");
  EXPECT_EQ(definition->arms[1].weight, 0.5);
  EXPECT_EQ(definition->ramp_percent, (std::vector<double>{1, 5, 25, 50, 100}));
  ASSERT_EQ(definition->guardrails.size(), 3u);
  EXPECT_EQ(definition->guardrails, ExperimentDefinition::default_guardrails());
}

TEST(Definition, ReadsBackFromItsJson) {
  for (const char* yaml : {shortest, everything}) {
    const auto definition = parse_experiment(yaml, "e.yaml");
    ASSERT_TRUE(definition.ok()) << to_string(definition.error());
    const auto again = parse_experiment(to_json(*definition).dump(), "e.json");
    ASSERT_TRUE(again.ok()) << to_string(again.error());
    EXPECT_EQ(*again, *definition);
  }
  const auto definition = parse_experiment(everything, "e.yaml");
  EXPECT_EQ(definition->goal, Metric::speedup);
  EXPECT_EQ(definition->promote, PromoteWhen::not_worse);
  EXPECT_EQ(definition->unit, AnalysisUnit::request);
  EXPECT_EQ(definition->guardrails[1].margin, 1);
}

TEST(Definition, WhatIsWrongIsNamedWithItsPlace) {
  const std::string arms = "arms: [{name: a, agents: x}, {name: b, agents: y}]\n";
  const std::string good = "name: n\n" + arms;
  ASSERT_EQ(error_of(good), "");
  EXPECT_EQ(error_of(good + "rampe: [1]\n"), "e.yaml:3:1: there is no key 'rampe' (do you mean ramp?)");
  EXPECT_EQ(error_of(good + "ramp: [1, 50, 50]\n"), "e.yaml:3:15: a stage of the ramp is not above the one before it");
  const std::pair<std::string, std::string> wrong[] = {
      {"", "is a map of keys"},
      {"[1, 2]", "is a map of keys"},
      {arms, "'name' is missing"},
      {"name: n\n", "'arms' is not a list of 2 to 8"},
      {"name: n\narms: [{name: a, agents: x}]\n", "'arms' is not a list of 2 to 8"},
      {"name: n\narms: [{name: a, agents: x}, {name: a, agents: y}]\n", "two arms are called 'a'"},
      {"name: n\narms: [{name: a, agents: x, weight: 0.5}, {name: b, agents: y}]\n", "all arms have a weight or none"},
      {"name: n\narms: [{name: a, agents: x, weight: 0.5}, {name: b, agents: y, weight: 0.4}]\n", "add up to 0.9"},
      {"name: n\narms: [{name: a, agents: x, weight: .nan}, {name: b, agents: y, weight: 0.5}]\n", "'weight' is not"},
      {"name: \"a\\nb\"\n" + arms, "'name' is not one line"},
      {"name: " + std::string(300, 'n') + "\n" + arms, "'name' is not one line"},
      {good + "name: again\n", "the key 'name' is there twice"},
      {good + "hash_version: 3\n", "'hash_version' is not a number from 1 to 2"},
      {good + "hash_version: 1.5\n", "hash_version is 1 or 2"},
      {good + "ramp: []\n", "'ramp' is not a list"},
      {good + "ramp: [101]\n", "from 0.1 to 100"},
      {good + "requests_per_stage: 0\n", "'requests_per_stage'"},
      {good + "goal: happiness\n", "the metrics are error, compile, correct"},
      {good + "promote: soon\n", "none of better, not_worse, by_hand"},
      {good + "false_alarm: 0\n", "'false_alarm'"},
      {good + "guardrails: []\n", "'guardrails' is not a list"},
      {good + "guardrails: [{metric: correct, tolerance: 0.1, margin: 0.1}]\n", "margin is not above the tolerance"},
      {good + "guardrails: [{metric: correct}, {metric: correct}]\n", "has a guardrail already"},
      {good + "guardrails: [{tolerance: 0.1}]\n", "a guardrail is a map"},
      {good + "? [a]\n: b\n", "a key must be a plain word"},
      {good + "ramp: [1\n", "the YAML is not valid"},
      {good + std::string(1, '\0'), "NUL byte"},
      {std::string(1000, '['), "nested too deeply"},
      {std::string(max_definition_bytes + 1, ' '), "more than 64 KiB"}};
  for (const auto& [yaml, message] : wrong)
    EXPECT_NE(error_of(yaml).find(message), std::string::npos) << yaml.substr(0, 200) << "\n-> " << error_of(yaml);
}

}  // namespace
}  // namespace kw
