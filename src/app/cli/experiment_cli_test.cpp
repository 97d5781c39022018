// `experiment` as a person or a script uses it, beside a service that serves users.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "app/experiment/live_experiment.h"
#include "base/child_process.h"
#include "base/file.h"

namespace kw {
namespace {

using Json = nlohmann::json;

ChildOutcome run_experiment(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {KW_PROGRAM, "experiment"});
  auto outcome = run_child({arguments, "", "", {}}, {.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}});
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

// A candidate that is never correct, until it is rolled back.
void serve_users(const std::string& file) {
  auto store = ExperimentStore::open(file);
  ASSERT_TRUE(store.ok());
  auto live = LiveExperiment::open(*store, "night");
  ASSERT_TRUE(live.ok());
  for (int user = 0; user < 200 && is_active(live->standing().state); ++user) {
    const ExperimentRequest request{"user-" + std::to_string(user), ""};
    const auto assigned = live->expose(std::span(&request, 1), user);
    ASSERT_TRUE(assigned.ok());
    Outcome outcome;
    outcome.compiled = outcome.correct = assigned->front().arm == 0;
    const RequestOutcome judged{assigned->front().exposure, outcome};
    ASSERT_TRUE(live->conclude(std::span(&judged, 1), user).ok());
  }
  EXPECT_EQ(live->standing().state, ExperimentState::rolled_back);
}

TEST(ExperimentCommand, CreatesShowsPromotesAndAborts) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "experiments.db").string(), file = (folder.path() / "night.yaml").string();
  const auto write = [&](const std::string& name) {
    std::ofstream(file) << "name: " << name
                        << "\narms: [{name: control, agents: weights/tiny}, {name: candidate, agents: runs/night}]\n"
                           "ramp: [100]\n";
  };
  EXPECT_EQ(run_experiment({"list", "--store", store}).exit_code, 2) << "there is no store";
  write("night");
  const auto created = run_experiment({"create", file, "--store", store});
  ASSERT_EQ(created.exit_code, 0) << created.error_output;
  EXPECT_EQ(created.output, "night is a draft\n");
  EXPECT_EQ(run_experiment({"create", file, "--store", store}).exit_code, 2) << "the name is taken";
  EXPECT_EQ(run_experiment({"start", "night", "--store", store}).output, "night is running\n");
  serve_users(store);

  const auto status = run_experiment({"status", "night", "--store", store, "--json"});
  ASSERT_EQ(status.exit_code, 0) << status.error_output;
  const Json report = Json::parse(status.output);
  EXPECT_EQ(report["state"], "rolled back");
  EXPECT_EQ(report["everybody_gets"], "control");
  EXPECT_EQ(report["arms"][1]["metrics"]["correct"], 0.0);
  EXPECT_EQ(report["audit"].size(), 3u);
  EXPECT_EQ(report["audit"][2]["actor"], "controller");
  EXPECT_EQ(report["requests_without_outcome"], 0);
  const auto shown = run_experiment({"status", "night", "--store", store});
  EXPECT_NE(shown.output.find("night: rolled back, everybody gets control"), std::string::npos) << shown.output;
  EXPECT_NE(shown.output.find("candidate is worse than correct allows"), std::string::npos) << shown.output;
  EXPECT_EQ(run_experiment({"promote", "night", "candidate", "--store", store}).exit_code, 2) << "it is over";

  write("day");
  EXPECT_EQ(run_experiment({"create", file, "--start", "--store", store}).output, "day is running\n");
  EXPECT_EQ(run_experiment({"promote", "day", "nobody", "--store", store}).exit_code, 2);
  EXPECT_EQ(run_experiment({"promote", "day", "candidate", "--reason", "cheaper", "--store", store}).output,
            "day is promoted\n");
  EXPECT_EQ(run_experiment({"abort", "day", "--reason", "dearer", "--store", store}).output, "day is aborted\n");
  const auto list = run_experiment({"list", "--store", store, "--json"});
  ASSERT_EQ(list.exit_code, 0) << list.error_output;
  const Json listed = Json::parse(list.output)["experiments"];
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[1]["state"], "aborted");

  std::ofstream(file) << "name: x\narms: 3\n";
  const auto wrong = run_experiment({"create", file, "--store", store});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.error_output.find("night.yaml:2:7: 'arms' is not a list"), std::string::npos) << wrong.error_output;
}

TEST(ExperimentCommand, SimulatesReproducibly) {
  const auto first = run_experiment({"simulate", "--experiments", "3", "--seed", "2", "--json"});
  const auto again = run_experiment({"simulate", "--experiments", "3", "--seed", "2", "--json"});
  EXPECT_EQ(first.output, again.output);
  EXPECT_GE(Json::parse(first.output)["scenarios"].size(), 10u);
}

}  // namespace
}  // namespace kw
