// CUDA's own rules about exited threads and barriers, and about notes that must not end a run. Each test names the
// rule that it holds the engine to.

#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

const std::string tile = ".shared .align 16 .b8 tile[4096];\n";
// %r12 = tile + 4 * thread, %r10 = tile
const std::string own_word = "mov.u32 %r10, tile;\nshl.b32 %r11, %r2, 2;\nadd.s32 %r12, %r10, %r11;\n";

RunResult run_block_of(const std::string& body, std::uint32_t threads, std::uint32_t blocks = 1) {
  TestKernel kernel(body, tile);
  kernel.output(std::uint64_t{threads} * blocks * 4);
  kernel.arguments.block = {threads, 1, 1};
  kernel.arguments.grid = {blocks, 1, 1};
  return kernel.run();
}

bool has(const RunResult& result, FindingKind kind) {
  for (const EmulatorFinding& finding : result.findings)
    if (finding.kind == kind) return true;
  return false;
}

// PTX ISA 9.0, 9.7.12.7 "exit": barriers that wait for all threads do not wait for those that exit.
// CUDA C++ Programming Guide, "Synchronization Functions": __syncthreads() waits until all non-exited threads reach it.
TEST(BarrierRules, ExitedThreadsAreNotWaitedFor) {
  for (const char* barrier : {"bar.sync 0;", "barrier.sync 0;", "barrier.cta.sync.aligned 0;", "bar.sync 3;"}) {
    // Whole warps (threads 32 and up), and some lanes of a warp (threads 20 and up).
    for (const char* first : {"32", "20"}) {
      std::string body = own_word + "setp.ge.s32 %p1, %r2, " + first +
                         ";\n@%p1 bra $end;\nst.shared.u32 [%r12], %r2;\n" + barrier +
                         "\nld.shared.u32 %r20, [%r10+4];\n" + store_r20 + "$end:\n";
      EXPECT_TRUE(clean(run_block_of(body, 64))) << barrier << " " << first;
    }
  }
}

TEST(BarrierRules, ThreadsMayExitAfterSomeRoundsOfALoop) {
  // Thread t passes the barrier t / 16 + 1 times and then leaves.
  std::string body =
      "shr.u32 %r10, %r2, 4;\n$loop:\nbar.sync 0;\nsetp.eq.s32 %p1, %r10, 0;\n@%p1 bra $end;\nadd.s32 %r10, %r10, -1;\n"
      "bra.uni $loop;\n$end:\n";
  EXPECT_TRUE(clean(run_block_of(body, 128)));
}

TEST(BarrierRules, ThreadsMayDoWhatComesBehindALoopOfBarriersAndExit) {
  // They have been at every barrier that they came to; those of later rounds do not wait for them. Both forms of a
  // loop.
  const char* const test_last =
      "$loop:\nbar.sync 0;\nsetp.eq.s32 %p1, %r10, 0;\nadd.s32 %r10, %r10, -1;\n@!%p1 bra $loop;\n";
  const char* const test_first =
      "$loop:\nsetp.lt.s32 %p1, %r10, 0;\n@%p1 bra $done;\nbar.sync 0;\nadd.s32 %r10, %r10, -1;\nbra.uni "
      "$loop;\n$done:\n";
  for (const char* loop : {test_last, test_first})
    EXPECT_TRUE(clean(run_block_of("shr.u32 %r10, %r2, 4;\nmov.u32 %r20, 1;\n" + std::string(loop) + store_r20, 128)))
        << loop;
}

TEST(BarrierRules, ThreadsMayWriteBeforeTheyLeaveEarly) {
  std::string body = own_word + "mov.u32 %r20, 7;\nsetp.lt.s32 %p1, %r2, 40;\n@%p1 bra $work;\n" + store_r20 +
                     "ret;\n$work:\nst.shared.u32 [%r12], %r2;\nbar.sync 0;\nld.shared.u32 %r20, [%r10+8];\n" +
                     store_r20;
  EXPECT_TRUE(clean(run_block_of(body, 64)));
}

// PTX ISA 9.0, 9.7.13.1 "bar, barrier": in conditional code the condition must be the same for all threads. Threads
// that go on behind the barrier without having been there are found out, even though they then leave.
TEST(BarrierRules, PassingAroundABarrierStaysWrong) {
  std::string body =
      own_word +
      "st.shared.u32 [%r12], %r2;\nsetp.ge.s32 %p1, %r2, 32;\n@%p1 bra $behind;\nL8:bar.sync 0;\n$behind:\n"
      "ld.shared.u32 %r20, [%r12];\n" +
      store_r20;
  RunResult result = run_block_of(body, 64);
  EXPECT_TRUE(finds(result, FindingKind::barrier_divergence, 8));
  EXPECT_NE(result.findings[0].message.find("passed around"), std::string::npos);
  // Lanes of one warp, in a loop: the second half skips the barrier from the second round on.
  std::string loop =
      "mov.u32 %r10, 32;\n$loop:\nsetp.ge.s32 %p1, %r2, %r10;\n@%p1 bra $behind;\nL9:bar.sync 0;\n$behind:\nshr.u32 "
      "%r10, %r10, 1;\nsetp.ne.s32 %p2, %r10, 0;\n@%p2 bra $loop;\n";
  EXPECT_TRUE(has(run_block_of(loop, 32), FindingKind::barrier_divergence));
}

// The same: a warp's arrival counts as 32 threads, whatever has become of its lanes.
TEST(BarrierRules, WarpsAreCountedWhole) {
  // 48 threads are two warps, 64 threads for the barrier.
  EXPECT_TRUE(clean(run_block_of("bar.sync 1, 64;\n", 48)));
  // Lanes 20 to 31 of the first warp have left.
  std::string left = "add.s32 %r9, %r2, -20;\nsetp.lt.u32 %p1, %r9, 12;\n@%p1 bra $end;\nbar.sync 1, 64;\n$end:\n";
  EXPECT_TRUE(clean(run_block_of(left, 64)));
  // A producer of which only some lanes are left arrives as a whole warp too.
  std::string arrive =
      "setp.ge.s32 %p1, %r2, 32;\n@%p1 bra $consumer;\nsetp.ge.s32 %p2, %r2, 8;\n@%p2 bra $end;\nbar.arrive 2, 64;\n"
      "bra.uni $end;\n$consumer:\nbar.sync 2, 64;\n$end:\n";
  EXPECT_TRUE(clean(run_block_of(arrive, 64)));
  // Warps that have left as a whole do not arrive at a barrier with a number of threads.
  std::string gone = "setp.ge.s32 %p1, %r2, 32;\n@%p1 bra $end;\nL8:bar.sync 1, 64;\n$end:\n";
  EXPECT_TRUE(finds(run_block_of(gone, 64), FindingKind::barrier_deadlock, 8));
  EXPECT_TRUE(finds(run_block_of("L4:bar.sync 1, 48;\n", 64), FindingKind::barrier_divergence, 4));
}

// PTX ISA 9.0, 9.7.13.1, barrier without .aligned: lanes of a warp may come by different ways, but all must come.
TEST(BarrierRules, UnalignedBarriersGatherDivergedLanes) {
  auto body = [](const std::string& other) {
    return "and.b32 %r10, %r2, 1;\nsetp.eq.s32 %p1, %r10, 0;\n@%p1 bra $even;\nL8:barrier.sync 0;\nbra.uni "
           "$end;\n$even:\n" +
           other + "\n$end:\nadd.s32 %r20, %r2, 1;\n" + store_r20;
  };
  EXPECT_TRUE(has(run_block_of(body("add.s32 %r9, %r2, 1;"), 64), FindingKind::barrier_divergence));
}

// CUDA C++ Programming Guide, "Warp Shuffle Functions" and PTX ISA 9.0, 9.7.13.6 "shfl.sync": the named lanes that have
// not exited are waited for; what comes from a lane that has is undefined.
TEST(WarpRules, ExitedLanesAreNotWaitedForAndGiveNoValue) {
  std::string body =
      "setp.ge.s32 %p1, %r2, 16;\n@%p1 bra $end;\nbar.warp.sync -1;\nshfl.sync.idx.b32 %r20, %r2, SOURCE, 31, -1;\n" +
      store_r20 + "$end:\n";
  auto with = [&](const char* source) {
    std::string text = body;
    text.replace(text.find("SOURCE"), 6, source);
    TestKernel kernel(text);
    kernel.output(128);
    EXPECT_TRUE(clean(kernel.run()));
    return kernel.undefined_output(64);
  };
  EXPECT_EQ(with("3"), 0u);
  EXPECT_EQ(with("20"), 64u);
}

// A store of the same value by many threads is a note: it neither ends a run nor counts as a fault.
TEST(NoteRules, SameValueStoresDoNotEndARun) {
  std::string body = own_word +
                     "mov.u32 %r30, 0;\n$loop:\nL9:st.shared.u32 [%r10], 5;\nadd.s32 %r30, %r30, 1;\nsetp.lt.s32 %p1, "
                     "%r30, 400;\n@%p1 bra $loop;\nbar.sync 0;\nld.shared.u32 %r20, [%r10];\n" +
                     store_r20;
  TestKernel kernel(body, tile);
  kernel.limits.faulting_instructions = 1000;
  kernel.output(64 * 4 * 10);
  kernel.arguments.block = {64, 1, 1};
  kernel.arguments.grid = {10, 1, 1};
  RunResult result = kernel.run();
  EXPECT_TRUE(finds(result, FindingKind::same_value_race, 9));
  EXPECT_EQ(result.status, RunStatus::ok);
  EXPECT_EQ(result.findings[0].occurrences, 2u * 400 * 10);
  EXPECT_EQ(kernel.undefined_output(64 * 4 * 10), 0u);
}

TEST(NoteRules, NotesAreCountedApartFromErrors) {
  auto found = [](FindingLog& log, FindingKind kind, std::uint32_t line) {
    PtxOrigin where;
    where.line = line;
    if (!log.admit(kind, where)) return;
    EmulatorFinding finding;
    finding.kind = kind;
    finding.line = line;
    log.add(finding);
  };
  FindingLog log, suspects;
  for (int i = 0; i < 3; ++i) found(log, FindingKind::same_value_race, 4);
  EXPECT_EQ(log.errors(), 0u);
  found(log, FindingKind::global_race, 9);
  found(suspects, FindingKind::global_race, 9);
  found(suspects, FindingKind::shared_race, 7);
  log.take(suspects);
  EXPECT_EQ(log.errors(), 3u);
  EXPECT_EQ(log.occurrences(), 6u);
  ASSERT_EQ(log.findings().size(), 3u);
  EXPECT_EQ(log.findings()[1].occurrences, 2u);
  EXPECT_TRUE(log.has(FindingKind::shared_race));
}

TEST(NoteRules, ARunThatIsCutShortSaysSo) {
  // b has one word: all other threads write outside of it.
  TestKernel kernel(store_r20);
  kernel.limits.faulting_instructions = 10;
  kernel.output(4);
  kernel.arguments.grid = {40, 1, 1};
  RunResult result = kernel.run();
  EXPECT_EQ(result.status, RunStatus::fault);
  EXPECT_TRUE(has(result, FindingKind::out_of_bounds));
  EXPECT_TRUE(has(result, FindingKind::cut_short)) << describe(result);
}

}  // namespace
}  // namespace kw
