// Asynchronous copies: groups, waits, and what may not be touched while a copy is under way. The rules are those of the
// PTX ISA 9.0, 9.7.9.25.1 (completion of asynchronous copies) and 9.7.9.25.3.1 to .3 (cp.async, commit_group,
// wait_group).
#include <algorithm>
#include <numeric>

#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

// Lanes below 16 commit two groups, the others one; then all wait until at most one group is under way. `place` is what
// the lower lanes read afterwards.
std::string two_groups(const std::string& place) {
  return "mov.u32 %r10, tile;\nshl.b32 %r11, %r2, 2;\nadd.u32 %r12, %r10, %r11;\nmul.wide.u32 %rd10, %r2, 4;\nadd.s64 "
         "%rd11, %rd1, %rd10;\n"
         "cp.async.ca.shared.global [%r12], [%rd11], 4;\ncp.async.commit_group;\nsetp.ge.u32 %p1, %r2, 16;\n@%p1 bra "
         "$WAIT;\n"
         "cp.async.ca.shared.global [%r12+128], [%rd11], 4;\ncp.async.commit_group;\n$WAIT:\ncp.async.wait_group 1;\n"
         "mov.u32 %r20, 1;\n@!%p1 ld.shared.u32 %r20, [%r12" +
         place + "];\n" + store_r20;
}

struct Outcome {
  RunResult run;
  std::vector<std::uint32_t> values;
};
Outcome outcome(const std::string& body, bool early, std::uint32_t threads = 32) {
  TestKernel kernel(body, ".shared .align 16 .b8 tile[4096];\n");
  std::vector<std::uint32_t> numbers(1024);
  std::iota(numbers.begin(), numbers.end(), 100u);
  kernel.input(numbers);
  kernel.output(std::uint64_t{threads} * 4);
  kernel.arguments.block = {threads, 1, 1};
  kernel.options.copies_land_early = early;
  Outcome result;
  result.run = kernel.run();
  result.values = kernel.result<std::uint32_t>(threads);
  return result;
}

// %r12: the thread's word of the tile, %rd11: its word of the input.
const std::string places =
    "mov.u32 %r10, tile;\nshl.b32 %r11, %r2, 2;\nadd.u32 %r12, %r10, %r11;\nmul.wide.u32 %rd10, %r2, 4;\n"
    "add.s64 %rd11, %rd1, %rd10;\n";
const std::string copy = "L3:cp.async.ca.shared.global [%r12], [%rd11], 4;\n";
const std::string commit = "cp.async.commit_group;\n";
const std::string wait = "cp.async.wait_group 0;\n";
const std::string barrier = "bar.sync 0;\n";
const std::string load = "L7:ld.shared.u32 %r20, [%r12];\n";
// The word of the neighbour thread, in the next warp for the last lane.
const std::string load_neighbour =
    "add.u32 %r13, %r2, 1;\nrem.u32 %r13, %r13, %r4;\nshl.b32 %r13, %r13, 2;\nadd.u32 %r13, %r10, %r13;\n"
    "L7:ld.shared.u32 %r20, [%r13];\n";

// Wrong however the copy lands.
void expect_found(const std::string& body, FindingKind kind, std::uint32_t line, std::uint32_t threads = 64) {
  for (const bool early : {false, true})
    EXPECT_TRUE(finds(outcome(places + body + store_r20, early, threads).run, kind, line)) << body;
}
// The same where both of two threads may be blamed, depending on who comes first.
void expect_race(const std::string& body, std::uint32_t line) {
  for (const bool early : {false, true}) {
    const RunResult run = outcome(places + body + store_r20, early, 64).run;
    EXPECT_EQ(run.status, RunStatus::race) << body;
    EXPECT_TRUE(std::any_of(run.findings.begin(), run.findings.end(), [&](const EmulatorFinding& finding) {
      return finding.kind == FindingKind::shared_race && finding.line == line;
    })) << describe(run);
  }
}
void expect_right(const std::string& body, std::uint32_t offset, std::uint32_t threads = 64) {
  for (const bool early : {false, true}) {
    const Outcome made = outcome(places + body + store_r20, early, threads);
    EXPECT_TRUE(clean(made.run)) << body;
    for (std::uint32_t thread = 0; thread < threads; ++thread)
      EXPECT_EQ(made.values[thread], 100 + (thread + offset) % threads) << body;
  }
}

TEST(EngineAsync, WaitingForAllButOneGroupLandsTheFirst) {
  for (const bool early : {false, true}) {
    const Outcome first = outcome(two_groups(""), early);
    EXPECT_TRUE(clean(first.run));
    for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(first.values[lane], lane < 16 ? 100 + lane : 1);
  }
}

TEST(EngineAsync, TheOpenGroupOfAThreadIsNotThere) {
  for (const bool early : {false, true}) EXPECT_EQ(outcome(two_groups("+128"), early).run.status, RunStatus::race);
}

TEST(EngineAsync, AThreadReadsItsOwnCopyAfterTheWait) { expect_right(copy + commit + wait + load, 0); }
TEST(EngineAsync, WaitAllNeedsNoCommit) { expect_right(copy + "cp.async.wait_all;\n" + load, 0); }
TEST(EngineAsync, OthersReadAfterWaitAndBarrier) { expect_right(copy + commit + wait + barrier + load_neighbour, 1); }

TEST(EngineAsync, OwnReadBeforeTheWait) { expect_found(copy + commit + load + wait, FindingKind::shared_race, 7); }
TEST(EngineAsync, AWaitForGroupsLeavesOutWhatIsNotCommitted) {
  expect_found(copy + wait + load, FindingKind::shared_race, 7);
}
TEST(EngineAsync, ABarrierIsNoWait) {
  expect_found(copy + commit + barrier + load_neighbour, FindingKind::shared_race, 7);
}
TEST(EngineAsync, AWaitIsNoBarrier) { expect_race(copy + commit + wait + load_neighbour, 7); }
TEST(EngineAsync, AWaitAfterTheBarrierIsTooLate) { expect_race(copy + commit + barrier + wait + load_neighbour, 7); }
TEST(EngineAsync, TooManyGroupsMayStillBeUnderWay) {
  expect_found(copy + commit + "cp.async.wait_group 1;\n" + load, FindingKind::shared_race, 7);
}
TEST(EngineAsync, AnEmptyGroupCounts) {
  expect_right(copy + commit + commit + "cp.async.wait_group 1;\n" + load, 0);
  expect_found(copy + commit + commit + "cp.async.wait_group 2;\n" + load, FindingKind::shared_race, 7);
}

TEST(EngineAsync, WritingToADestinationUnderWay) {
  expect_found(copy + commit + "L5:st.shared.u32 [%r12], %r2;\n" + wait + "ld.shared.u32 %r20, [%r12];\n",
               FindingKind::shared_race, 5);
  expect_found(copy + commit + "L5:atom.shared.add.u32 %r14, [%r12], 1;\n" + wait + "ld.shared.u32 %r20, [%r12];\n",
               FindingKind::shared_race, 5);
}

TEST(EngineAsync, TwoCopiesUnderWayToOnePlace) {
  expect_found(
      copy + "L4:cp.async.ca.shared.global [%r12], [%rd11+4], 4;\n" + commit + wait + "ld.shared.u32 %r20, [%r12];\n",
      FindingKind::shared_race, 4);
  // Groups do not order them either: only a wait does.
  expect_found(copy + commit + "L4:cp.async.ca.shared.global [%r12], [%rd11+4], 4;\n" + commit + wait +
                   "ld.shared.u32 %r20, [%r12];\n",
               FindingKind::shared_race, 4);
  expect_found(copy + "L4:cp.async.ca.shared.global [%r12], [%rd11], 4;\n" + commit + wait + load,
               FindingKind::same_value_race, 4);
}
TEST(EngineAsync, AWaitBetweenTwoCopiesToOnePlace) {
  expect_right("cp.async.ca.shared.global [%r12], [%rd11+4], 4;\n" + commit + wait + copy + commit + wait + load, 0);
}

TEST(EngineAsync, ACopyToWhatOthersStillRead) {
  expect_race("st.shared.u32 [%r12], %r2;\n" + barrier + load_neighbour + copy + commit + wait, 3);
}

TEST(EngineAsync, ChangingTheSourceBeforeTheWait) {
  const std::string from_output =
      "add.s64 %rd12, %rd2, %rd10;\nst.global.u32 [%rd12], %r2;\n"
      "L3:cp.async.ca.shared.global [%r12], [%rd12], 4;\n" +
      commit;
  const std::string change = "mov.u32 %r15, 777;\nst.global.u32 [%rd12], %r15;\n";
  const std::string end = "ld.shared.u32 %r20, [%r12];\nadd.u32 %r20, %r20, 100;\n";
  expect_right(from_output + wait + change + end, 0);
  expect_found(from_output + change + wait + end, FindingKind::global_race, 3);
}

TEST(EngineAsync, TheRestOfADestinationIsZero) {
  const std::string of_16 = "shl.b32 %r16, %r2, 4;\nadd.u32 %r16, %r10, %r16;\n";
  const std::string sum =
      "ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r16];\nadd.u32 %r21, %r21, %r22;\nadd.u32 %r21, %r21, %r23;\n"
      "add.u32 %r20, %r20, %r21;\n";
  const auto zero_fill = [&](const std::string& size) {
    return of_16 + "mul.wide.u32 %rd13, %r2, 16;\nadd.s64 %rd13, %rd1, %rd13;\nmov.u32 %r17, " + size +
           ";\nL3:cp.async.cg.shared.global [%r16], [%rd13], 16, %r17;\n" + commit + wait + sum;
  };
  for (const bool early : {false, true}) {
    const Outcome one = outcome(places + zero_fill("4") + store_r20, early);
    EXPECT_TRUE(clean(one.run));
    const Outcome none = outcome(places + zero_fill("0") + store_r20, early);
    EXPECT_TRUE(clean(none.run));
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(one.values[lane], 100 + 4 * lane);
      EXPECT_EQ(none.values[lane], 0u);
    }
  }
  // More than is copied: undefined behaviour.
  expect_found(zero_fill("20"), FindingKind::out_of_bounds, 3, 32);
}

TEST(EngineAsync, AnIgnoredSourceIsNotRead) {
  // Far outside of the input.
  const std::string body =
      "add.s64 %rd13, %rd11, 1073741824;\nsetp.eq.u32 %p2, %r2, %r2;\n"
      "cp.async.ca.shared.global [%r12], [%rd13], 4, %p2;\n" +
      commit + wait + load + "add.u32 %r20, %r20, 100;\nadd.u32 %r20, %r20, %r2;\n";
  expect_right(body, 0);
}

TEST(EngineAsync, ASourceThatIsNotAligned) {
  expect_found(
      "shl.b32 %r16, %r2, 4;\nadd.u32 %r16, %r10, %r16;\nmov.u32 %r17, 8;\n"
      "L3:cp.async.cg.shared.global [%r16], [%rd1+8], 16, %r17;\nmov.u32 %r20, 0;\n",
      FindingKind::misaligned, 3, 32);
}

TEST(EngineAsync, WhatNobodyReadsNeedsNoWait) { expect_right(copy + "add.u32 %r20, %r2, 100;\n", 0); }

TEST(EngineAsync, AThreadThatHasLeftDoesNotWait) {
  // The second warp copies and leaves; the first reads after a barrier that counts those who are left.
  expect_found("setp.lt.u32 %p1, %r2, 32;\n@%p1 bra $READ;\n" + copy + commit +
                   "bar.arrive 1, 64;\nexit;\n$READ:\nbar.sync 1, 64;\nL7:ld.shared.u32 %r20, [%r12+128];\n",
               FindingKind::shared_race, 7);
}

// Stages of a ring of buffers: round r computes with what was copied `stages - 1` rounds ago.
std::string pipeline(int stages, int groups_left, bool barrier_at_end) {
  const std::string ring = std::to_string(stages);
  const std::string issue =
      "setp.ge.u32 %p3, %r30, 16;\n@%p3 bra $SKIP_NAME;\nrem.u32 %r31, %r30, " + ring +
      ";\nmad.lo.u32 %r32, %r31, 256, %r12;\nmul.wide.u32 %rd20, %r30, 4;\nadd.s64 %rd21, %rd11, %rd20;\n"
      "L3:cp.async.ca.shared.global [%r32], [%rd21], 4;\n$SKIP_NAME:\ncp.async.commit_group;\n";
  const auto issued = [&](const std::string& name) {
    std::string text = issue;
    for (std::size_t at = text.find("NAME"); at != std::string::npos; at = text.find("NAME")) text.replace(at, 4, name);
    return text;
  };
  std::string text = "mov.u32 %r20, 0;\n";
  for (int stage = 0; stage < stages - 1; ++stage)
    text += "mov.u32 %r30, " + std::to_string(stage) + ";\n" + issued("FIRST" + std::to_string(stage));
  text += "mov.u32 %r33, 0;\n$ROUND:\nadd.u32 %r30, %r33, " + std::to_string(stages - 1) + ";\n" + issued("LOOP") +
          "cp.async.wait_group " + std::to_string(groups_left) + ";\nbar.sync 0;\nrem.u32 %r34, %r33, " + ring +
          ";\nadd.u32 %r35, %r2, 1;\nrem.u32 %r35, %r35, %r4;\nshl.b32 %r35, %r35, 2;\nadd.u32 %r35, %r35, %r10;\n"
          "mad.lo.u32 %r35, %r34, 256, %r35;\nL7:ld.shared.u32 %r36, [%r35];\nadd.u32 %r20, %r20, %r36;\n" +
          (barrier_at_end ? "bar.sync 0;\n" : "") +
          "add.u32 %r33, %r33, 1;\nsetp.lt.u32 %p4, %r33, 16;\n@%p4 bra $ROUND;\n";
  return text;
}

TEST(EngineAsync, PipelinesOfSeveralStages) {
  for (const int stages : {2, 3, 4}) {
    for (const bool early : {false, true}) {
      const Outcome right = outcome(places + pipeline(stages, stages - 1, true) + store_r20, early, 64);
      EXPECT_TRUE(clean(right.run)) << stages;
      for (std::uint32_t thread = 0; thread < 64; ++thread)
        EXPECT_EQ(right.values[thread], 16 * (100 + (thread + 1) % 64) + 120) << stages;
      // One group too many may be under way; and the buffer that others still read is filled again.
      EXPECT_EQ(outcome(places + pipeline(stages, stages, true) + store_r20, early, 64).run.status, RunStatus::race);
      EXPECT_EQ(outcome(places + pipeline(stages, stages - 1, false) + store_r20, early, 64).run.status,
                RunStatus::race);
    }
  }
}

TEST(EngineAsync, ManyPendingCopiesAreLandedEarly) {
  TestKernel kernel(
      "mov.u32 %r10, tile;\nshl.b32 %r11, %r2, 2;\nadd.u32 %r12, %r10, %r11;\nmul.wide.u32 %rd10, %r2, 4;\nadd.s64 "
      "%rd11, %rd1, %rd10;\n"
      "mov.u32 %r13, 0;\n$LOOP:\ncp.async.ca.shared.global [%r12], [%rd11], 4;\nadd.u32 %r13, %r13, 1;\nsetp.lt.u32 "
      "%p1, %r13, 10000;\n"
      "@%p1 bra $LOOP;\ncp.async.wait_all;\nld.shared.u32 %r20, [%r12];\n" +
          store_r20,
      ".shared .align 16 .b8 tile[128];\n");
  kernel.input(std::vector<std::uint32_t>(32, 9));
  kernel.output(128);
  kernel.run();
  EXPECT_EQ(kernel.result<std::uint32_t>(32), std::vector<std::uint32_t>(32, 9));
}

}  // namespace
}  // namespace kw
