// `runs` and `config` as a person or a script uses them.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/file.h"
#include "base/run_log/run_log.h"

namespace kw {
namespace {

using Json = nlohmann::json;

ChildOutcome run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), KW_PROGRAM);
  auto outcome = run_child({arguments, "", "", {}}, {.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}});
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

void make_run(const std::filesystem::path& runs, const std::string& name, double rate, bool finish) {
  RunLogOptions options;
  options.folder = runs / name;
  options.name = name;
  options.kind = "sft";
  options.configuration = {{"sft", {{"lr", rate}, {"steps", 20}}}};
  auto log = RunLog::open(options);
  ASSERT_TRUE(log.ok()) << to_string(log.error());
  for (int step = 0; step < 20; ++step)
    ASSERT_TRUE((*log)->metrics(step, {{"sft/loss", std::exp(-step * rate)}, {"perf/tokens_per_s", 100}}).ok());
  if (!finish) return;
  ASSERT_TRUE((*log)->finish("done", {{"loss", 0.5}}).ok());
}

TEST(RunsCommand, ListsShowsAndCompares) {
  const TemporaryFolder runs;
  const std::string folder = runs.path().string();
  make_run(runs.path(), "slow", 0.1, true);
  make_run(runs.path(), "fast", 0.2, false);

  const auto list = run({"runs", "list", "--folder", folder, "--json"});
  ASSERT_EQ(list.exit_code, 0) << list.error_output;
  const Json listed = Json::parse(list.output)["runs"];
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0]["status"], "done");
  EXPECT_EQ(listed[1]["status"], "stopped") << "it never said that it was done, and nobody writes it";
  EXPECT_EQ(listed[1]["last_step"], 19);

  const auto show = run({"runs", "show", "slow", "--folder", folder, "--json", "--steps"});
  ASSERT_EQ(show.exit_code, 0) << show.error_output;
  const Json shown = Json::parse(show.output);
  EXPECT_EQ(shown["configuration"]["sft"]["lr"], 0.1);
  EXPECT_EQ(shown["metrics"]["sft/loss"]["steps"].size(), 20u);
  EXPECT_EQ(shown["metrics"]["sft/loss"]["first"], 1.0);

  const auto compare = run({"runs", "compare", "slow", "fas", "--folder", folder, "--json"});
  ASSERT_EQ(compare.exit_code, 0) << compare.error_output;
  const Json compared = Json::parse(compare.output);
  EXPECT_EQ(compared["configuration"].size(), 1u) << "only what differs";
  EXPECT_TRUE(compared["configuration"].contains("sft.lr"));

  for (const char* command : {"list", "show", "compare"}) {
    std::vector<std::string> arguments = {"runs", command, "--folder", folder};
    if (std::string(command) != "list") arguments.push_back("slow");
    if (std::string(command) == "compare") arguments.push_back("fast");
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.error_output;
    EXPECT_NE(outcome.output.find("sft/loss"), std::string::npos) << outcome.output;
  }
  EXPECT_EQ(run({"runs", "show", "nope", "--folder", folder}).exit_code, 2);
  EXPECT_EQ(run({"runs", "show", "slow", "--metric", "nope", "--folder", folder}).exit_code, 2);
  EXPECT_EQ(run({"runs", "list", "--folder", folder + "/nowhere"}).exit_code, 2);
  EXPECT_EQ(run({"runs", "compare", "slow", "--folder", folder}).exit_code, 2);
}

TEST(ConfigCommand, PrintsWhatReadsBack) {
  const TemporaryFolder folder;
  const auto printed = run({"config", "--preset", "laptop", "--set", "rl.kl=0.01"});
  ASSERT_EQ(printed.exit_code, 0) << printed.error_output;
  EXPECT_NE(printed.output.find("kl: 0.01 "), std::string::npos);
  const std::string file = (folder.path() / "my.yaml").string();
  std::ofstream(file) << printed.output;
  const auto again = run({"config", "--config", file, "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.error_output;
  EXPECT_EQ(Json::parse(again.output),
            Json::parse(run({"config", "--preset", "laptop", "--set", "rl.kl=0.01", "--json"}).output));

  std::ofstream(file) << "rl:\n  algoritm: ppo\n";
  const auto wrong = run({"config", "--config", file});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.error_output.find("my.yaml:2:3: there is no key 'rl.algoritm' (do you mean rl.algorithm?)"),
            std::string::npos)
      << wrong.error_output;
}

TEST(ReportCommand, WritesARunAsAPage) {
  const TemporaryFolder runs;
  make_run(runs.path(), "slow", 0.1, true);
  make_run(runs.path(), "fast", 0.2, true);
  const auto named = run({"report", "slo", "--folder", runs.path().string(), "--json"});
  ASSERT_EQ(named.exit_code, 0) << named.error_output;
  EXPECT_EQ(Json::parse(named.output)["report"], (runs.path() / "slow" / "report.html").string());
  const std::string out = (runs.path() / "page.html").string();
  const auto folder = run({"report", (runs.path() / "fast").string(), "--out", out});
  ASSERT_EQ(folder.exit_code, 0) << folder.error_output;
  EXPECT_EQ(folder.output, out + "\n");
  const auto page = read_file(out);
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page->find("Supervised training: loss"), std::string::npos);
  EXPECT_EQ(run({"report", "nothing", "--folder", runs.path().string()}).exit_code, 2);
  EXPECT_EQ(run({"report", runs.path().string()}).exit_code, 2) << "it holds runs and is none";
}

}  // namespace
}  // namespace kw
