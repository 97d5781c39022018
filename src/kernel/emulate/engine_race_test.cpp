// Races in shared and global memory, barriers, and warp-wide operations: what must be found and what must not.

#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

// %r12 = tile + 4 * thread, %r14 = tile + 4 * (threads - 1 - thread)
const std::string tile_pointers =
    "mov.u32 %r10, tile;\nshl.b32 %r11, %r2, 2;\nadd.s32 %r12, %r10, %r11;\nsub.s32 %r13, %r4, %r2;\nadd.s32 %r13, "
    "%r13, -1;\n"
    "shl.b32 %r13, %r13, 2;\nadd.s32 %r14, %r10, %r13;\n";
const std::string tile = ".shared .align 16 .b8 tile[4096];\n";

RunResult run_block_of(const std::string& body, std::uint32_t threads, std::uint32_t blocks = 1) {
  TestKernel kernel(body, tile);
  kernel.output(std::uint64_t{threads} * blocks * 4);
  kernel.arguments.block = {threads, 1, 1};
  kernel.arguments.grid = {blocks, 1, 1};
  return kernel.run();
}

// Both ends of a race may be reported, when different warps meet it in different order.
::testing::AssertionResult also_finds(const RunResult& result, FindingKind kind, std::uint32_t line) {
  for (const EmulatorFinding& finding : result.findings) {
    if (finding.kind == kind && finding.line == line) return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "wanted line " << line << ", got " << describe(result);
}

TEST(EngineRaces, SharedReadAfterWriteNeedsABarrier) {
  std::string write = tile_pointers + "st.shared.u32 [%r12], %r2;\n";
  std::string read = "L9:ld.shared.u32 %r20, [%r14];\n" + store_r20;
  EXPECT_TRUE(clean(run_block_of(write + "bar.sync 0;\n" + read, 128)));
  RunResult result = run_block_of(write + read, 128);
  EXPECT_TRUE(also_finds(result, FindingKind::shared_race, 9));
  EXPECT_EQ(result.status, RunStatus::race);
  EXPECT_NE(result.findings[0].message.find("tile"), std::string::npos);
}

TEST(EngineRaces, SharedWriteAfterReadNeedsABarrier) {
  std::string start = tile_pointers + "st.shared.u32 [%r12], %r2;\nbar.sync 0;\nld.shared.u32 %r20, [%r14];\n";
  std::string write = "L11:st.shared.u32 [%r12], 5;\n" + store_r20;
  EXPECT_TRUE(clean(run_block_of(start + "bar.sync 0;\n" + write, 64)));
  EXPECT_TRUE(also_finds(run_block_of(start + write, 64), FindingKind::shared_race, 11));
}

TEST(EngineRaces, WithinAWarpALaneNeedsSyncwarp) {
  std::string write = tile_pointers + "st.shared.u32 [%r12], %r2;\n";
  std::string read = "L9:ld.shared.u32 %r20, [%r14];\n" + store_r20;
  EXPECT_TRUE(clean(run_block_of(write + "bar.warp.sync -1;\n" + read, 32)));
  EXPECT_TRUE(finds(run_block_of(write + read, 32), FindingKind::shared_race, 9));
  // Syncwarp does not order other warps.
  EXPECT_TRUE(also_finds(run_block_of(write + "bar.warp.sync -1;\n" + read, 64), FindingKind::shared_race, 9));
}

TEST(EngineRaces, HalvesOfAWordAreDifferentPlaces) {
  std::string body =
      "mov.u32 %r10, tile;\nshl.b32 %r11, %r2, 1;\nadd.s32 %r12, %r10, %r11;\ncvt.u16.u32 %rs1, %r2;\nst.shared.u16 "
      "[%r12], %rs1;\n"
      "ld.shared.u16 %rs2, [%r12];\ncvt.u32.u16 %r20, %rs2;\n" +
      store_r20;
  EXPECT_TRUE(clean(run_block_of(body, 64)));
}

TEST(EngineRaces, ManyThreadsMayReadAndAtomicsMayMeet) {
  std::string body = tile_pointers +
                     "setp.ne.s32 %p1, %r2, 0;\n@%p1 bra $skip;\nst.shared.u32 [%r10], 0;\n$skip:\nbar.sync 0;\n"
                     "atom.shared.add.u32 %r15, [%r10], 1;\nbar.sync 0;\nld.shared.u32 %r20, [%r10];\n" +
                     store_r20;
  EXPECT_TRUE(clean(run_block_of(body, 128)));
  std::string too_early = tile_pointers +
                          "setp.ne.s32 %p1, %r2, 0;\n@%p1 bra $skip;\nst.shared.u32 [%r10], 0;\n$skip:\nbar.sync 0;\n"
                          "atom.shared.add.u32 %r15, [%r10], 1;\nL30:ld.shared.u32 %r20, [%r10];\n" +
                          store_r20;
  EXPECT_TRUE(also_finds(run_block_of(too_early, 128), FindingKind::shared_race, 30));
}

TEST(EngineRaces, TheSameValueFromManyThreadsIsANote) {
  std::string body =
      tile_pointers + "L5:st.shared.u32 [%r10], 7;\nbar.sync 0;\nld.shared.u32 %r20, [%r10];\n" + store_r20;
  RunResult result = run_block_of(body, 64);
  EXPECT_TRUE(finds(result, FindingKind::same_value_race, 5));
  EXPECT_EQ(result.status, RunStatus::ok);
  std::string different =
      tile_pointers + "L5:st.shared.u32 [%r10], %r2;\nbar.sync 0;\nld.shared.u32 %r20, [%r10];\n" + store_r20;
  EXPECT_EQ(run_block_of(different, 64).status, RunStatus::race);
}

TEST(EngineRaces, BlocksThatWriteTheSameElement) {
  // b[thread] from every block
  std::string body =
      "cvta.to.global.u64 %rd8, %rd2;\nmul.wide.s32 %rd9, %r2, 4;\nadd.s64 %rd10, %rd8, %rd9;\nL6:st.global.u32 "
      "[%rd10], %r3;\n";
  EXPECT_TRUE(clean(run_block_of(body, 64, 1)));
  RunResult result = run_block_of(body, 64, 3);
  EXPECT_TRUE(finds(result, FindingKind::global_race, 6));
  EXPECT_NE(result.findings[0].message.find("another block"), std::string::npos);
}

TEST(EngineRaces, InPlaceStencilOverBlockBorders) {
  // b[i] += b[i + 1]: the last thread of a block reads what the next block writes.
  std::string body =
      "cvta.to.global.u64 %rd8, %rd2;\nmul.wide.s32 %rd9, %r5, 4;\nadd.s64 %rd10, %rd8, %rd9;\nld.global.u32 %r20, "
      "[%rd10];\n"
      "ld.global.u32 %r21, [%rd10+4];\nbar.sync 0;\nadd.s32 %r22, %r20, %r21;\nL8:st.global.u32 [%rd10], %r22;\n";
  TestKernel kernel(body);
  kernel.in_out(std::vector<std::uint32_t>(129, 1));
  kernel.arguments.block = {64, 1, 1};
  EXPECT_TRUE(clean(kernel.run()));
  kernel.arguments.grid = {2, 1, 1};
  EXPECT_TRUE(finds(kernel.run(), FindingKind::global_race, 8));
}

TEST(EngineRaces, TheLastBlockMayReadWhatOthersPublished) {
  // Each block stores b[1 + block], fences, counts; the last one reads them all.
  auto kernel_with = [](const std::string& fence) {
    return "cvta.to.global.u64 %rd8, %rd2;\nmul.wide.s32 %rd9, %r3, 4;\nadd.s64 %rd10, %rd8, %rd9;\nst.global.u32 "
           "[%rd10+4], %r3;\n" +
           fence + "atom.global.add.u32 %r10, [%rd8], 1;\nsetp.ne.s32 %p1, %r10, 3;\n@%p1 bra $end;\n" + fence +
           "L20:ld.global.u32 %r11, [%rd8+4];\nld.global.u32 %r12, [%rd8+8];\nadd.s32 %r13, %r11, %r12;\nst.global.u32 "
           "[%rd8+20], %r13;\n$end:\n";
  };
  for (bool fenced : {true, false}) {
    TestKernel kernel(kernel_with(fenced ? "membar.gl;\n" : ""));
    kernel.in_out(std::vector<std::uint32_t>(6, 0));
    kernel.arguments.block = {1, 1, 1};
    kernel.arguments.grid = {4, 1, 1};
    RunResult result = kernel.run();
    if (fenced)
      EXPECT_TRUE(clean(result));
    else
      EXPECT_TRUE(finds(result, FindingKind::global_race, 20));
  }
}

TEST(EngineRaces, ReleaseAndAcquireOrderBlocks) {
  // Block 0 publishes with a release, block 1 waits with an acquire; relaxed accesses would not do.
  auto body = [](const std::string& load) {
    return "cvta.to.global.u64 %rd8, %rd2;\nsetp.ne.s32 %p1, %r3, 0;\n@%p1 bra $reader;\nst.global.u32 [%rd8+4], 42;\n"
           "red.release.gpu.global.add.s32 [%rd8], 1;\nbra.uni $end;\n$reader:\n" +
           load +
           "setp.eq.s32 %p2, %r10, 0;\n@%p2 bra $reader;\nL30:ld.global.u32 %r11, [%rd8+4];\nst.global.u32 [%rd8+8], "
           "%r11;\n$end:\n";
  };
  TestKernel kernel(body("ld.acquire.gpu.global.u32 %r10, [%rd8];\n"));
  kernel.in_out(std::vector<std::uint32_t>(3, 0));
  kernel.arguments.block = {1, 1, 1};
  kernel.arguments.grid = {2, 1, 1};
  ASSERT_TRUE(clean(kernel.run()));
  EXPECT_EQ(kernel.result<std::uint32_t>(3)[2], 42u);
  TestKernel relaxed(body("ld.relaxed.gpu.global.u32 %r10, [%rd8];\n"));
  relaxed.in_out(std::vector<std::uint32_t>(3, 0));
  relaxed.arguments = kernel.arguments;
  EXPECT_TRUE(finds(relaxed.run(), FindingKind::global_race, 30));
}

TEST(EngineRaces, SecondLaunchSeesTheFirstOnesResults) {
  TestKernel kernel(
      "cvta.to.global.u64 %rd8, %rd2;\nsub.s32 %r10, 63, %r5;\nmul.wide.s32 %rd9, %r10, 4;\nadd.s64 %rd10, %rd8, "
      "%rd9;\n"
      "mul.wide.s32 %rd11, %r5, 4;\nadd.s64 %rd12, %rd8, %rd11;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 st.global.u32 [%rd12], "
      "%r5;\n"
      "@!%p1 ld.global.u32 %r20, [%rd10];\n");
  kernel.output(256);
  kernel.arguments.grid = {2, 1, 1};
  EXPECT_TRUE(clean(kernel.run(0)));
  EXPECT_TRUE(clean(kernel.run(1)));
}

TEST(EngineRaces, ParallelRunsGiveTheSameAnswer) {
  std::string good = "mov.u32 %r20, %r5;\n" + store_r20;
  std::string bad =
      "cvta.to.global.u64 %rd8, %rd2;\nmul.wide.s32 %rd9, %r2, 4;\nadd.s64 %rd10, %rd8, %rd9;\nL6:st.global.u32 "
      "[%rd10], %r3;\n";
  for (int threads : {1, 2, 5}) {
    TestKernel kernel(good);
    kernel.output(4 * 64 * 20);
    kernel.arguments.block = {64, 1, 1};
    kernel.arguments.grid = {20, 1, 1};
    kernel.options.threads = threads;
    RunResult result = kernel.run();
    EXPECT_TRUE(clean(result));
    EXPECT_EQ(result.statistics.blocks, 20u);
    std::vector<std::uint32_t> words = kernel.result<std::uint32_t>(64 * 20);
    for (std::uint32_t i = 0; i < words.size(); ++i) ASSERT_EQ(words[i], i);
    TestKernel racing(bad);
    racing.output(4 * 64);
    racing.arguments.grid = {20, 1, 1};
    racing.options.threads = threads;
    RunResult found = racing.run();
    EXPECT_TRUE(finds(found, FindingKind::global_race, 6));
    EXPECT_EQ(found.findings[0].block[0], 1u);
  }
}

TEST(EngineBarriers, DivergentBarrier) {
  // Half of the threads skip the barrier and go on behind it; that they then leave does not help.
  std::string body =
      "setp.ge.s32 %p1, %r2, 32;\n@%p1 bra $behind;\nL8:bar.sync 0;\n$behind:\nmov.u32 %r20, 1;\n" + store_r20;
  RunResult result = run_block_of(body, 64);
  ASSERT_TRUE(finds(result, FindingKind::barrier_divergence, 8));
  EXPECT_EQ(result.status, RunStatus::synchronization);
  EXPECT_NE(result.findings[0].message.find("passed around"), std::string::npos);
  // Threads that just leave are not waited for; engine_rules_test.cpp has the rule.
  EXPECT_TRUE(clean(run_block_of("setp.ge.s32 %p1, %r2, 32;\n@%p1 bra $end;\nbar.sync 0;\n$end:\n", 64)));
}

TEST(EngineBarriers, TwoDifferentBarriers) {
  std::string body =
      "setp.ge.s32 %p1, %r2, 16;\n@%p1 bra $other;\nL8:bar.sync 0;\nbra.uni $end;\n$other:\nL10:bar.sync 0;\n$end:\n";
  RunResult result = run_block_of(body, 32);
  EXPECT_EQ(result.status, RunStatus::synchronization);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::barrier_divergence);
}

TEST(EngineBarriers, DeadlockSaysWhoWaits) {
  std::string body =
      "setp.ge.s32 %p1, %r2, 32;\n@%p1 bra $other;\nL8:bar.sync 1, 64;\nbra.uni $end;\n$other:\nL10:bar.sync 2, "
      "64;\n$end:\n";
  RunResult result = run_block_of(body, 64);
  EXPECT_TRUE(finds(result, FindingKind::barrier_deadlock, 8));
  EXPECT_NE(result.findings[0].message.find("32 threads wait at barrier 2"), std::string::npos) << describe(result);
}

TEST(EngineBarriers, NamedBarriersWithCountsAndArrive) {
  // Warp 0 writes and arrives, warp 1 waits and reads.
  std::string body = tile_pointers +
                     "mov.u32 %r20, 0;\nsetp.ge.s32 %p1, %r2, 32;\n@%p1 bra $consumer;\nst.shared.u32 [%r12], "
                     "%r2;\nbar.arrive 3, 64;\n"
                     "bra.uni $end;\n$consumer:\nbar.sync 3, 64;\nld.shared.u32 %r20, [%r14];\n$end:\n" +
                     store_r20;
  TestKernel kernel(body, tile);
  kernel.output(256);
  kernel.arguments.block = {64, 1, 1};
  ASSERT_TRUE(clean(kernel.run()));
  std::vector<std::uint32_t> words = kernel.result<std::uint32_t>(64);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(words[i], i < 32 ? 0 : 63 - i);
}

TEST(EngineBarriers, Reductions) {
  TestKernel kernel(
      "setp.lt.s32 %p1, %r2, 40;\nbar.red.popc.u32 %r10, 0, %p1;\nbar.red.and.pred %p2, 0, %p1;\nbar.red.or.pred %p3, "
      "0, !%p1;\n"
      "selp.b32 %r11, 1000, 0, %p2;\nselp.b32 %r12, 2000, 0, %p3;\nadd.s32 %r20, %r10, %r11;\nadd.s32 %r20, %r20, "
      "%r12;\n" +
      store_r20);
  kernel.output(256);
  kernel.arguments.block = {64, 1, 1};
  ASSERT_TRUE(clean(kernel.run()));
  EXPECT_EQ(kernel.result<std::uint32_t>(64), std::vector<std::uint32_t>(64, 2040));
}

TEST(EngineBarriers, LoopsOfBarriersInAnyWarpOrder) {
  // Each thread passes its value to its neighbour, ten times.
  std::string body =
      tile_pointers +
      "mov.u32 %r20, %r2;\nmov.u32 %r30, 0;\nadd.s32 %r31, %r2, 1;\nrem.u32 %r31, %r31, %r4;\nshl.b32 %r31, %r31, 2;\n"
      "add.s32 %r32, %r10, %r31;\n$loop:\nst.shared.u32 [%r12], %r20;\nbar.sync 0;\nld.shared.u32 %r20, "
      "[%r32];\nbar.sync 0;\n"
      "add.s32 %r30, %r30, 1;\nsetp.lt.s32 %p1, %r30, 10;\n@%p1 bra $loop;\n" +
      store_r20;
  for (std::uint64_t seed : {0u, 1u, 2u}) {
    TestKernel kernel(body, tile);
    kernel.output(4 * 160);
    kernel.arguments.block = {160, 1, 1};
    kernel.options.warp_order_seed = seed;
    ASSERT_TRUE(clean(kernel.run()));
    std::vector<std::uint32_t> words = kernel.result<std::uint32_t>(160);
    for (std::uint32_t i = 0; i < 160; ++i) EXPECT_EQ(words[i], (i + 10) % 160);
  }
}

// Many threads that set the same flag do nothing wrong, however many they are.
TEST(EngineRaces, NotesDoNotEndTheRun) {
  TestKernel kernel("st.global.u32 [%rd1], 7;\nmov.u32 %r20, %r5;\n" + store_r20);
  kernel.set_a(kernel.memory.allocate(4, "scratch", MemoryAccessRight::read_write).value());
  kernel.arguments.grid = {200, 1, 1};
  kernel.limits.faulting_instructions = 10;
  kernel.output(200 * 32 * 4);
  const RunResult result = kernel.run();
  EXPECT_EQ(result.status, RunStatus::ok) << describe(result);
  EXPECT_FALSE(result.findings.empty());
  EXPECT_EQ(kernel.undefined_output(200 * 32 * 4), 0u);
}

}  // namespace
}  // namespace kw
