// Races that matter and races that do not. PTX ISA 9.0, 8.7.1 "Conflict and data-races": two conflicting operations
// race when neither is ordered before the other and they are not both strong. What a racing read gets is then open; a
// kernel is wrong when anything depends on it.

#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

const std::string tile = ".shared .align 16 .b8 tile[4096];\n";
// %r12 = tile + 4 * thread, %r14 = tile + 4 * (threads - 1 - thread), %rd8 = b
const std::string pointers =
    "mov.u32 %r10, tile;\nshl.b32 %r11, %r2, 2;\nadd.s32 %r12, %r10, %r11;\nsub.s32 %r13, %r4, %r2;\nadd.s32 %r13, "
    "%r13, -1;\nshl.b32 %r13, %r13, 2;\nadd.s32 %r14, %r10, %r13;\ncvta.to.global.u64 %rd8, %rd2;\n";

RunResult run(const std::string& body, std::uint32_t threads, std::uint32_t blocks = 1) {
  TestKernel kernel(pointers + body, tile);
  kernel.in_out(std::vector<std::uint32_t>(4096, 0));
  kernel.arguments.block = {threads, 1, 1};
  kernel.arguments.grid = {blocks, 1, 1};
  return kernel.run();
}

// --- what is read and not used

TEST(RacyValues, AReadThatIsNeverUsedIsHarmless) {
  // Read after write, and write after read, in any order of warps.
  EXPECT_TRUE(
      clean(run("st.shared.u32 [%r12], %r2;\nld.shared.u32 %r21, [%r14];\nmov.u32 %r20, 1;\n" + store_r20, 128)));
  EXPECT_TRUE(
      clean(run("ld.shared.u32 %r21, [%r14];\nadd.s32 %r22, %r21, 1;\nst.shared.u32 [%r12], %r22;\nmov.u32 %r20, "
                "1;\n" +
                    store_r20,
                128)));
  // Global memory, other blocks.
  EXPECT_TRUE(
      clean(run("mul.wide.s32 %rd9, %r2, 4;\nadd.s64 %rd10, %rd8, %rd9;\nld.global.u32 %r21, [%rd10+512];\nmov.u32 "
                "%r20, 1;\n" +
                    store_r20,
                64, 4)));
}

TEST(RacyValues, AValueThatIsSelectedAwayIsHarmlessAndOneThatIsChosenIsNot) {
  auto body = [](const std::string& limit) {
    return "st.shared.u32 [%r12], %r2;\nL9:ld.shared.u32 %r21, [%r14];\nsetp.lt.s32 %p1, %r2, " + limit +
           ";\nselp.b32 %r20, %r21, 0, %p1;\n" + store_r20;
  };
  EXPECT_TRUE(clean(run(body("0"), 64)));
  RunResult result = run(body("5"), 64);
  EXPECT_EQ(result.status, RunStatus::race) << describe(result);
}

TEST(RacyValues, OnlyTheElementOfAVectorThatRacesCounts) {
  // Words 0 and 2 of each group of four are written by another thread while a vector of four is read.
  auto body = [](const std::string& used) {
    return "shl.b32 %r30, %r2, 4;\nadd.s32 %r31, %r10, %r30;\nmov.u32 %r32, 3;\nst.shared.u32 [%r31+4], %r32;\nxor.b32 "
           "%r33, %r30, 16;\nadd.s32 %r34, %r10, %r33;\nst.shared.u32 [%r34], %r32;\nL8:ld.shared.v4.u32 {%r21, %r22, "
           "%r23, %r24}, [%r31];\nmov.u32 %r20, " +
           used + ";\n" + store_r20;
  };
  EXPECT_TRUE(clean(run(body("%r22"), 64)));
  EXPECT_EQ(run(body("%r21"), 64).status, RunStatus::race);
}

TEST(RacyValues, TheyAreFollowedThroughMemoryShufflesAndBranches) {
  const std::string racy = "st.shared.u32 [%r12], %r2;\nL9:ld.shared.u32 %r21, [%r14];\n";
  // Through shared memory, behind a barrier.
  EXPECT_EQ(
      run(racy + "st.shared.u32 [%r12+1024], %r21;\nbar.sync 0;\nld.shared.u32 %r20, [%r12+1024];\n" + store_r20, 64)
          .status,
      RunStatus::race);
  // As the address of a load, and as what decides a branch.
  EXPECT_EQ(run(racy + "and.b32 %r22, %r21, 4;\nadd.s32 %r22, %r22, %r10;\nld.shared.u32 %r20, [%r22];\n", 64).status,
            RunStatus::race);
  EXPECT_EQ(
      run(racy + "setp.eq.s32 %p1, %r21, 3;\n@%p1 bra $end;\nmov.u32 %r20, 1;\n" + store_r20 + "$end:\n", 64).status,
      RunStatus::race);
  EXPECT_EQ(run(racy + "shfl.sync.bfly.b32 %r20, %r21, 1, 31, -1;\n" + store_r20, 64).status, RunStatus::race);
  EXPECT_EQ(run(racy + "red.global.add.u32 [%rd8], %r21;\n", 64).status, RunStatus::race);
}

TEST(RacyValues, NeverWrittenIsNotTakenForRacing) {
  // A dead racing read, and an output that nobody has given a value: the second is not blamed on the first.
  TestKernel kernel(
      pointers + "st.shared.u32 [%r12], %r2;\nld.shared.u32 %r21, [%r14];\nmov.u32 %r20, %r41;\n" + store_r20, tile);
  kernel.output(256);
  kernel.arguments.block = {64, 1, 1};
  EXPECT_TRUE(clean(kernel.run()));
  EXPECT_EQ(kernel.undefined_output(256), 256u);
}

// --- what an atomic operation checks
// CUDA C++ Programming Guide, "Atomic Functions": any atomic operation can be made of atomicCAS(); the guide's own loop
// begins with a plain read of the word.

std::string cas_loop(const std::string& space, const std::string& address, const std::string& after) {
  return "ld." + space + ".u32 %r21, [" + address + "];\n$try:\nmov.u32 %r22, %r21;\nadd.s32 %r23, %r22, 3;\natom." +
         space + ".cas.b32 %r21, [" + address + "], %r22, %r23;\nsetp.ne.s32 %p1, %r22, %r21;\n@%p1 bra $try;\n" +
         after;
}

TEST(CompareAndSwap, TheFirstReadOfTheLoopIsAGuess) {
  TestKernel global(pointers + cas_loop("global", "%rd8", ""), tile);
  global.in_out(std::vector<std::uint32_t>(1, 0));
  global.arguments.block = {96, 1, 1};
  global.arguments.grid = {5, 1, 1};
  ASSERT_TRUE(clean(global.run()));
  EXPECT_EQ(global.result<std::uint32_t>(1)[0], 3u * 96 * 5);
  const std::string zero =
      "setp.ne.s32 %p2, %r2, 0;\n@%p2 bra $zeroed;\nst.shared.u32 [%r10], 0;\n$zeroed:\nbar.sync 0;\n";
  const std::string result = "bar.sync 0;\nld.shared.u32 %r20, [%r10];\n" + store_r20;
  EXPECT_TRUE(clean(run(zero + cas_loop("shared", "%r10", result), 96, 2)));
  // Without the barrier the result is read while others still add.
  EXPECT_EQ(run(zero + cas_loop("shared", "%r10", "ld.shared.u32 %r20, [%r10];\n" + store_r20), 96).status,
            RunStatus::race);
}

TEST(CompareAndSwap, WideAndHalfWords) {
  std::string wide =
      "ld.global.u64 %rd20, [%rd8];\n$try:\nmov.u64 %rd21, %rd20;\nmov.b64 %fd1, %rd21;\nadd.f64 %fd2, %fd1, "
      "0d3FF0000000000000;\nmov.b64 %rd22, %fd2;\natom.global.cas.b64 %rd20, [%rd8], %rd21, %rd22;\nsetp.ne.s64 %p1, "
      "%rd21, %rd20;\n@%p1 bra $try;\n";
  EXPECT_TRUE(clean(run(wide, 64, 3)));
  // Each thread adds to one half of a word: the guess is the word, read as two halves.
  std::string halves =
      "ld.global.u32 %r21, [%rd8];\nand.b32 %r30, %r2, 1;\nshl.b32 %r30, %r30, 4;\nshl.b32 %r31, 65535, %r30;\n$try:\n"
      "mov.u32 %r22, %r21;\nshr.u32 %r23, %r22, %r30;\nadd.s32 %r23, %r23, 1;\nshl.b32 %r23, %r23, %r30;\nand.b32 "
      "%r23, "
      "%r23, %r31;\nnot.b32 %r24, %r31;\nand.b32 %r24, %r24, %r22;\nor.b32 %r23, %r23, %r24;\natom.global.cas.b32 "
      "%r21, "
      "[%rd8], %r22, %r23;\nsetp.ne.s32 %p1, %r22, %r21;\n@%p1 bra $try;\n";
  EXPECT_TRUE(clean(run(halves, 64, 3)));
}

TEST(CompareAndSwap, AGuessMayDecideWhetherTheWordIsUpdatedAtAll) {
  // if (value > *most) atomicMax(most, value)
  std::string filter =
      "ld.global.u32 %r21, [%rd8];\nsetp.le.s32 %p1, %r5, %r21;\n@%p1 bra $end;\nred.global.max.s32 [%rd8], "
      "%r5;\n$end:\n";
  EXPECT_TRUE(clean(run(filter, 64, 3)));
  // if (*count > 5) b[1 + i] = 1: a decision about something else.
  std::string other =
      "red.global.add.u32 [%rd8], 1;\nld.global.u32 %r21, [%rd8];\nsetp.le.s32 %p1, %r21, 5;\n@%p1 bra "
      "$end;\nmul.wide.s32 "
      "%rd9, %r5, 4;\nadd.s64 %rd10, %rd8, %rd9;\nst.global.u32 [%rd10+4], 1;\n$end:\n";
  EXPECT_EQ(run(other, 64, 3).status, RunStatus::race);
}

TEST(CompareAndSwap, AnAccumulatorThatIsReadAsAResultIsARace) {
  std::string body =
      "red.global.add.u32 [%rd8], 1;\nL7:ld.global.u32 %r20, [%rd8];\nmul.wide.s32 %rd9, %r5, 4;\nadd.s64 %rd10, %rd8, "
      "%rd9;\nst.global.u32 [%rd10+4], %r20;\n";
  EXPECT_EQ(run(body, 64, 3).status, RunStatus::race);
  EXPECT_EQ(run(body, 64, 1).status, RunStatus::race);
  // A guess that is stored as a result, whether the swap went well or not.
  std::string stored =
      "ld.global.u32 %r21, [%rd8];\nadd.s32 %r22, %r21, 1;\nmul.wide.s32 %rd9, %r5, 4;\nadd.s64 %rd10, "
      "%rd8, %rd9;\nst.global.u32 [%rd10+4], %r21;\natom.global.cas.b32 %r23, [%rd8], %r21, %r22;\n";
  EXPECT_EQ(run(stored, 64, 3).status, RunStatus::race);
  // Mixed with a plain store of another thread it is no guess any more.
  std::string mixed =
      "setp.ne.s32 %p3, %r5, 70;\n@%p3 bra $loop;\nst.global.u32 [%rd8], 9;\n$loop:\n" + cas_loop("global", "%rd8", "");
  EXPECT_EQ(run(mixed, 64, 3).status, RunStatus::race);
}

// --- volatile accesses
// PTX ISA 9.0, 8.4 "Operation types": volatile operations are strong, like relaxed ones: they do not race with each
// other, and order nothing without fences.

TEST(VolatileAccesses, WarpsMayWaitForAFlagInSharedMemory) {
  auto body = [](const std::string& writer_fence, const std::string& reader_fence) {
    return "setp.ne.s32 %p3, %r2, 0;\n@%p3 bra $zeroed;\nst.shared.u32 [%r10], 0;\n$zeroed:\nbar.sync 0;\nmov.u32 "
           "%r20, "
           "0;\nsetp.lt.s32 %p1, %r2, 32;\n@!%p1 bra $set;\n$wait:\nld.volatile.shared.u32 %r21, [%r10];\nsetp.eq.s32 "
           "%p2, "
           "%r21, 0;\n@%p2 bra $wait;\n" +
           reader_fence +
           "L30:ld.shared.u32 %r20, [%r10+4];\nbra.uni $end;\n$set:\nsetp.ne.s32 %p4, %r2, 32;\n@%p4 bra "
           "$end;\nst.shared.u32 [%r10+4], 42;\n" +
           writer_fence + "st.volatile.shared.u32 [%r10], 1;\n$end:\n" + store_r20;
  };
  EXPECT_TRUE(clean(run(body("membar.cta;\n", "membar.cta;\n"), 64)));
  EXPECT_EQ(run(body("membar.cta;\n", ""), 64).status, RunStatus::race);
  EXPECT_EQ(run(body("", ""), 64).status, RunStatus::race);
}

// PTX ISA 9.0, 8.8 "Release and acquire patterns".
TEST(VolatileAccesses, ReleaseAndAcquireNeedNoFences) {
  auto body = [](const std::string& store, const std::string& load) {
    return "setp.ne.s32 %p1, %r3, 0;\n@%p1 bra $reader;\nst.global.u32 [%rd8+4], 42;\n" + store +
           ".gpu.global.u32 [%rd8], 1;\nbra.uni $end;\n$reader:\n" + load +
           ".gpu.global.u32 %r10, [%rd8];\nsetp.eq.s32 %p2, %r10, 0;\n@%p2 bra $reader;\nL30:ld.global.u32 %r11, "
           "[%rd8+4];\nst.global.u32 [%rd8+8], %r11;\n$end:\n";
  };
  EXPECT_TRUE(clean(run(body("st.release", "ld.acquire"), 1, 2)));
  EXPECT_EQ(run(body("st.relaxed", "ld.acquire"), 1, 2).status, RunStatus::race);
  EXPECT_EQ(run(body("st.release", "ld.relaxed"), 1, 2).status, RunStatus::race);
}

// CUDA C++ Programming Guide, "Independent Thread Scheduling": code that takes a warp's lockstep for granted is wrong.
TEST(VolatileAccesses, LanesOfAWarpNeedSyncwarp) {
  auto step = [](const std::string& sync) {
    return "st.volatile.shared.u32 [%r12], %r2;\nst.volatile.shared.u32 [%r12+128], 1;\nbar.warp.sync "
           "-1;\nld.volatile.shared.u32 %r21, [%r12];\nld.volatile.shared.u32 %r22, [%r12+64];\nadd.s32 %r21, %r21, "
           "%r22;\n" +
           sync + "st.volatile.shared.u32 [%r12], %r21;\n" + sync + "ld.volatile.shared.u32 %r20, [%r12];\n" +
           store_r20;
  };
  EXPECT_TRUE(clean(run(step("bar.warp.sync -1;\n"), 32)));
  EXPECT_EQ(run(step(""), 32).status, RunStatus::race);
}

TEST(VolatileAccesses, AMessageBetweenBlocksNeedsFencesOnBothSides) {
  auto body = [](const std::string& writer_fence, const std::string& reader_fence) {
    return "setp.ne.s32 %p1, %r3, 0;\n@%p1 bra $reader;\nst.global.u32 [%rd8+4], 42;\n" + writer_fence +
           "st.volatile.global.u32 [%rd8], 1;\nbra.uni $end;\n$reader:\nld.volatile.global.u32 %r10, "
           "[%rd8];\nsetp.eq.s32 "
           "%p2, %r10, 0;\n@%p2 bra $reader;\n" +
           reader_fence + "L30:ld.global.u32 %r11, [%rd8+4];\nst.global.u32 [%rd8+8], %r11;\n$end:\n";
  };
  EXPECT_TRUE(clean(run(body("membar.gl;\n", "membar.gl;\n"), 1, 2)));
  EXPECT_EQ(run(body("membar.gl;\n", ""), 1, 2).status, RunStatus::race);
  // Everything that a block did before its last release may be read, nothing that it did later.
  EXPECT_EQ(run(body("", "membar.gl;\n"), 1, 2).status, RunStatus::race);
  EXPECT_EQ(run(body("", ""), 1, 2).status, RunStatus::race);
}

}  // namespace
}  // namespace kw
