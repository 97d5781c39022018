#include "base/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace kw {
namespace {

using namespace std::chrono_literals;

ChildOutcome shell(const std::string& script, const ChildLimits& limits = {}, const std::string& input = "") {
  auto outcome = run_child({{"/bin/sh", "-c", script}, input, "", {}}, limits);
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

// It may stay as a zombie until whoever inherited it looks.
bool ends(int pid) {
  for (const auto deadline = std::chrono::steady_clock::now() + 5min; std::chrono::steady_clock::now() < deadline;) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(file, text) || text.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

TEST(ChildProcess, CollectsBothStreamsAndTheExitCode) {
  const auto outcome = shell("cat; echo bad >&2; exit 3", {}, "hello");
  EXPECT_EQ(outcome.end, ChildEnd::exited);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.output, "hello");
  EXPECT_EQ(outcome.error_output, "bad\n");
  EXPECT_GT(outcome.peak_memory_bytes, 0u);
}

TEST(ChildProcess, PassesLargeInputWithoutDeadlock) {
  const std::string input(3 << 20, 'x');
  EXPECT_EQ(shell("cat", {}, input).output.size(), input.size());
  EXPECT_EQ(shell("true", {}, input).exit_code, 0) << "a child that does not read";
}

TEST(ChildProcess, EndsAtTheDeadlineWithItsWholeGroup) {
  // The sleeper in the background holds the streams open: who waited for it would wait for ever. A slow machine may
  // need more than the first deadline to start it.
  ChildOutcome outcome;
  for (auto wall = 200ms; outcome.output.empty() && wall < 10min; wall *= 2) {
    outcome = shell("sleep 1000000 & echo $!; sleep 1000000", {.wall = wall, .cpu = {}, .memory_bytes = {}});
    EXPECT_EQ(outcome.end, ChildEnd::deadline);
  }
  const int sleeper = std::atoi(outcome.output.c_str());
  ASSERT_GT(sleeper, 0);
  EXPECT_TRUE(ends(sleeper)) << "it lives on";
  const auto silent = shell("exec >&- 2>&-; sleep 1000000", {.wall = 200ms, .cpu = {}, .memory_bytes = {}});
  EXPECT_EQ(silent.end, ChildEnd::deadline) << "closed streams do not hide a running child";
}

TEST(ChildProcess, BoundsOutputCpuTimeAndMemory) {
  const auto flood = shell("yes", {.cpu = {}, .memory_bytes = {}, .output_bytes = 1000});
  EXPECT_EQ(flood.end, ChildEnd::output_limit);
  EXPECT_EQ(flood.output.size(), 1000u);
  const auto busy = shell("while :; do :; done", {.cpu = 1s, .memory_bytes = {}});
  EXPECT_EQ(busy.end, ChildEnd::signalled);
  const auto greedy = shell("head -c 300000000 /dev/zero | tail >/dev/null", {.cpu = {}, .memory_bytes = 100u << 20});
  EXPECT_FALSE(greedy.succeeded());
}

TEST(ChildProcess, SaysWhyAProgramDidNotStart) {
  const auto outcome = run_child({{"/no/such/program"}, "", "", {}});
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("No such file"), std::string::npos);
}

TEST(ChildProcess, SeesItsSignalFolderAndEnvironment) {
  EXPECT_EQ(shell("kill -9 $$").signal_number, SIGKILL);
  const auto outcome = run_child({{"/bin/sh", "-c", "pwd; echo $KW_X"}, "", "/usr", {"KW_X=17"}});
  EXPECT_EQ(outcome->output, "/usr\n17\n");
}

}  // namespace
}  // namespace kw
