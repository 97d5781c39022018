#include "base/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace kw {
namespace {

using namespace std::chrono_literals;

ChildOutcome shell(const std::string& script, const ChildLimits& limits = {}, const std::string& input = "") {
  auto outcome = run_child({{"/bin/sh", "-c", script}, input, "", {}}, limits);
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
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
  const auto outcome = shell("sleep 100 & sleep 100", {.wall = 200ms, .cpu = {}, .memory_bytes = {}});
  EXPECT_EQ(outcome.end, ChildEnd::deadline);
  EXPECT_LT(outcome.wall_s, 5);
  const auto silent = shell("exec >&- 2>&-; sleep 100", {.wall = 200ms, .cpu = {}, .memory_bytes = {}});
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
