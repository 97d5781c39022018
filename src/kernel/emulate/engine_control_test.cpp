// Control flow: divergence, loops, calls, exits.

#include <numeric>

#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

std::vector<std::uint32_t> run_to_words(TestKernel& kernel, std::size_t count, std::uint32_t n = 0) {
  kernel.output(count * 4);
  RunResult result = kernel.run(n);
  EXPECT_TRUE(clean(result));
  EXPECT_EQ(kernel.undefined_output(count * 4), 0u);
  return kernel.result<std::uint32_t>(count);
}

TEST(EngineControl, AddsVectors) {
  TestKernel kernel(
      "setp.ge.s32 %p1, %r5, %r1;\n@%p1 bra $end;\n"
      "cvta.to.global.u64 %rd3, %rd1;\nmul.wide.s32 %rd4, %r5, 4;\nadd.s64 %rd5, %rd3, %rd4;\nld.global.f32 %f1, "
      "[%rd5];\n"
      "add.f32 %f2, %f1, 0f3F800000;\ncvta.to.global.u64 %rd6, %rd2;\nadd.s64 %rd7, %rd6, %rd4;\nst.global.f32 [%rd7], "
      "%f2;\n$end:\n");
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0f);
  kernel.input(values);
  kernel.output(4000);
  kernel.arguments.grid = {8, 1, 1};
  kernel.arguments.block = {128, 1, 1};
  RunResult result = kernel.run(1000);
  ASSERT_TRUE(clean(result));
  std::vector<float> sums = kernel.result<float>(1000);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(sums[i], static_cast<float>(i) + 1);
  EXPECT_EQ(result.statistics.blocks, 8u);
  EXPECT_EQ(kernel.undefined_output(4000), 0u);
}

TEST(EngineControl, NestedDivergenceReconverges) {
  // r20 = (lane & 1) ? ((lane & 2) ? 30 : 20) : 10, then the active mask where all paths have met again.
  TestKernel kernel(
      "and.b32 %r10, %r2, 1;\nsetp.eq.s32 %p1, %r10, 0;\n@%p1 bra $even;\n"
      "and.b32 %r11, %r2, 2;\nsetp.eq.s32 %p2, %r11, 0;\n@%p2 bra $two;\nmov.u32 %r20, 30;\nbra.uni $join1;\n"
      "$two:\nmov.u32 %r20, 20;\n$join1:\nbra.uni $join;\n$even:\nmov.u32 %r20, 10;\n$join:\nactivemask.b32 %r21;\n"
      "add.s32 %r20, %r20, %r21;\n" +
      store_r20);
  std::vector<std::uint32_t> words = run_to_words(kernel, 32);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], ((lane & 1) == 0 ? 10u : (lane & 2) == 0 ? 20u : 30u) + 0xffffffffu);
}

TEST(EngineControl, LoopsWithDifferentTripCountsReconverge) {
  // Sum of 1 .. lane, then the active mask behind the loop.
  TestKernel kernel(
      "mov.u32 %r20, 0;\nmov.u32 %r10, 0;\n$loop:\nsetp.ge.u32 %p1, %r10, %r2;\n@%p1 bra $done;\nadd.s32 %r10, %r10, "
      "1;\n"
      "add.s32 %r20, %r20, %r10;\nbra.uni $loop;\n$done:\nactivemask.b32 %r21;\nadd.s32 %r20, %r20, %r21;\n" +
      store_r20);
  std::vector<std::uint32_t> words = run_to_words(kernel, 32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], lane * (lane + 1) / 2 + 0xffffffffu);
}

TEST(EngineControl, LanesThatExitEarlyLeaveTheOthersRunning) {
  TestKernel kernel("mov.u32 %r20, 1;\n" + store_r20 + "setp.lt.u32 %p1, %r2, 10;\n@%p1 exit;\nmov.u32 %r20, 2;\n" +
                    store_r20);
  std::vector<std::uint32_t> words = run_to_words(kernel, 32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], lane < 10 ? 1u : 2u);
}

TEST(EngineControl, BranchTable) {
  TestKernel kernel(
      "and.b32 %r10, %r2, 3;\nts: .branchtargets $c0, $c1, $c2, $c1;\nbrx.idx %r10, ts;\n$c0:\nmov.u32 %r20, "
      "100;\nbra.uni $end;\n"
      "$c1:\nmov.u32 %r20, 101;\nbra.uni $end;\n$c2:\nmov.u32 %r20, 102;\n$end:\n" +
      store_r20);
  std::vector<std::uint32_t> words = run_to_words(kernel, 32);
  const std::uint32_t expected[4] = {100, 101, 102, 101};
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], expected[lane & 3]);
}

const char* const fibonacci =
    ".func (.param .b32 out) fib(.param .b32 in)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<9>;\nld.param.u32 %r8, [in];\n"
    "setp.lt.s32 %p1, %r8, 2;\n@%p1 bra $leaf;\nadd.s32 %r4, %r8, -1;\n{\n.param .b32 param0;\nst.param.b32 "
    "[param0+0], %r4;\n"
    ".param .b32 retval0;\ncall.uni (retval0), fib, (param0);\nld.param.b32 %r5, [retval0+0];\n}\nadd.s32 %r6, %r8, "
    "-2;\n{\n"
    ".param .b32 param0;\nst.param.b32 [param0+0], %r6;\n.param .b32 retval0;\ncall.uni (retval0), fib, (param0);\n"
    "ld.param.b32 %r7, [retval0+0];\n}\nadd.s32 %r8, %r7, %r5;\n$leaf:\nst.param.b32 [out+0], %r8;\nret;\n}\n";

TEST(EngineControl, RecursionWithDifferentDepthsInEachLane) {
  TestKernel kernel(
      "and.b32 %r10, %r2, 7;\n{\n.param .b32 param0;\nst.param.b32 [param0+0], %r10;\n.param .b32 retval0;\n"
      "call.uni (retval0), fib, (param0);\nld.param.b32 %r20, [retval0+0];\n}\n" +
          store_r20,
      fibonacci);
  std::vector<std::uint32_t> words = run_to_words(kernel, 32);
  const std::uint32_t expected[8] = {0, 1, 1, 2, 3, 5, 8, 13};
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], expected[lane & 7]);
}

TEST(EngineControl, EndlessRecursionIsAStackOverflow) {
  TestKernel kernel("{\ncall.uni down, ();\n}\n", ".func down()\n{\n.loc 1 5 1\ncall.uni down, ();\nret;\n}\n");
  kernel.output(4);
  RunResult result = kernel.run();
  EXPECT_TRUE(finds(result, FindingKind::stack_overflow, 5));
  EXPECT_EQ(result.status, RunStatus::fault);
}

TEST(EngineControl, CallsThroughPointers) {
  TestKernel kernel(
      "and.b32 %r10, %r2, 1;\nsetp.eq.s32 %p1, %r10, 0;\nmov.u64 %rd10, one;\nmov.u64 %rd11, two;\nselp.b64 %rd12, "
      "%rd10, %rd11, %p1;\n"
      "{\n.param .b32 retval0;\nproto: .callprototype (.param .b32 _) _ ();\ncall (retval0), %rd12, (), proto;\n"
      "ld.param.b32 %r20, [retval0+0];\n}\n" +
          store_r20,
      ".func (.param .b32 out) one()\n{\nst.param.b32 [out+0], 1;\nret;\n}\n.func (.param .b32 out) "
      "two()\n{\nst.param.b32 [out+0], 2;\nret;\n}\n");
  std::vector<std::uint32_t> words = run_to_words(kernel, 32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], 1 + (lane & 1));
}

TEST(EngineControl, SpinLockBetweenLanesOfAWarpMakesProgress) {
  // Every lane takes the lock, adds one without atomics, and lets go.
  TestKernel kernel(
      "cvta.to.global.u64 %rd3, %rd2;\n$try:\natom.global.cas.b32 %r10, [%rd3], 0, 1;\nsetp.ne.s32 %p1, %r10, 0;\n@%p1 "
      "bra $try;\n"
      "membar.gl;\nld.volatile.global.u32 %r11, [%rd3+4];\nadd.s32 %r11, %r11, 1;\nst.volatile.global.u32 [%rd3+4], "
      "%r11;\nmembar.gl;\n"
      "atom.global.exch.b32 %r12, [%rd3], 0;\n");
  kernel.in_out(std::vector<std::uint32_t>{0, 0});
  kernel.arguments.grid = {3, 1, 1};
  kernel.arguments.block = {64, 1, 1};
  ASSERT_TRUE(clean(kernel.run()));
  EXPECT_EQ(kernel.result<std::uint32_t>(2)[1], 3u * 64);
}

TEST(EngineControl, BlocksThatWaitForEachOtherMakeProgress) {
  // Block 0 waits for a flag that the last block sets.
  TestKernel kernel(
      "cvta.to.global.u64 %rd3, %rd2;\nsetp.ne.s32 %p1, %r3, 0;\n@%p1 bra $set;\n$wait:\nld.volatile.global.u32 %r10, "
      "[%rd3];\n"
      "setp.eq.s32 %p2, %r10, 0;\n@%p2 bra $wait;\nbra.uni $end;\n$set:\nsetp.ne.s32 %p3, %r3, 2;\n@%p3 bra $end;\n"
      "st.volatile.global.u32 [%rd3], 1;\n$end:\n");
  kernel.in_out(std::vector<std::uint32_t>{0});
  kernel.arguments.grid = {3, 1, 1};
  kernel.arguments.block = {1, 1, 1};
  EXPECT_TRUE(clean(kernel.run()));
}

TEST(EngineControl, EndlessLoopIsATimeoutWithItsLine) {
  TestKernel kernel("L4:$loop:\nadd.s32 %r10, %r2, 1;\nbra.uni $loop;\n");
  kernel.limits.warp_instructions = 10'000;
  RunResult result = kernel.run();
  EXPECT_TRUE(finds(result, FindingKind::endless_loop, 4));
  EXPECT_EQ(result.status, RunStatus::timeout);
}

TEST(EngineControl, TrapAndUnknownInstructions) {
  TestKernel trap("L3:setp.eq.s32 %p1, %r2, 7;\n@%p1 trap;\n");
  EXPECT_TRUE(finds(trap.run(), FindingKind::trap, 3));
  TestKernel unknown("L9:wgmma.fence.sync.aligned;\n");
  RunResult result = unknown.run();
  EXPECT_TRUE(finds(result, FindingKind::unsupported, 9));
  EXPECT_EQ(result.status, RunStatus::unsupported);
  EXPECT_EQ(result.unsupported, "wgmma.fence.sync.aligned");
  TestKernel not_reached("setp.gt.s32 %p1, %r2, 99;\n@%p1 wgmma.fence.sync.aligned;\n");
  EXPECT_TRUE(clean(not_reached.run()));
}

// A call of a function of the device's library, at line 6, with two arguments and a result.
std::string library_call(const std::string& name) {
  return "{\n.param .b64 param0;\nst.param.b64 [param0+0], %rd1;\n.param .b64 param1;\nst.param.b64 [param1+0], "
         "%rd1;\n.param .b32 retval0;\nL6:call.uni (retval0), " +
         name + ", (param0, param1);\nld.param.b32 %r20, [retval0+0];\n}\n";
}
std::string library_function(const std::string& name) {
  return ".extern .func (.param .b32 r) " + name + "(.param .b64 a, .param .b64 b);\n";
}

TEST(EngineControl, DeviceCallsAreRejected) {
  RunResult result = TestKernel(library_call("malloc"), library_function("malloc")).run();
  EXPECT_TRUE(finds(result, FindingKind::device_call, 6));
  EXPECT_EQ(result.status, RunStatus::rejected);
}

TEST(EngineControl, PrintingDoesNothingAndGivesNothing) {
  const std::string print = library_function("vprintf");
  EXPECT_TRUE(clean(TestKernel(library_call("vprintf"), print).run()));
  // What printf returns would tell an emulator from a GPU.
  TestKernel uses(
      library_call("vprintf") + "L9:setp.eq.s32 %p1, %r20, 0;\n@%p1 bra $end;\nadd.s32 %r41, %r2, 1;\n$end:\n", print);
  EXPECT_EQ(uses.run().status, RunStatus::uninitialised);
}

TEST(EngineControl, AFloodOfOutputIsRejected) {
  const auto prints = [](int times) {
    TestKernel kernel("mov.u32 %r30, 0;\n$loop:\n" + library_call("vprintf") +
                          "add.s32 %r30, %r30, 1;\nsetp.lt.s32 %p1, %r30, " + std::to_string(times) +
                          ";\n@%p1 bra $loop;\n",
                      library_function("vprintf"));
    kernel.arguments.block = {32, 1, 1};
    return kernel.run();
  };
  EXPECT_TRUE(clean(prints(256)));
  const RunResult flood = prints(257);
  EXPECT_TRUE(finds(flood, FindingKind::device_call, 6));
  EXPECT_EQ(flood.status, RunStatus::rejected);
}

TEST(EngineControl, AFailedAssertionIsATrapAtItsLine) {
  TestKernel kernel("setp.ne.s32 %p1, %r2, 7;\n@%p1 bra $end;\n" + library_call("__assertfail") + "$end:\n",
                    library_function("__assertfail"));
  const RunResult result = kernel.run();
  EXPECT_TRUE(finds(result, FindingKind::trap, 6));
  EXPECT_EQ(result.status, RunStatus::fault);
}

TEST(EngineControl, UninitialisedBranch) {
  TestKernel kernel("L6:setp.eq.s32 %p1, %r40, 7;\nL7:@%p1 bra $end;\nadd.s32 %r41, %r2, 1;\n$end:\n");
  RunResult result = kernel.run();
  EXPECT_TRUE(finds(result, FindingKind::uninitialised_branch, 7));
  EXPECT_EQ(result.status, RunStatus::uninitialised);
  // false and undefined is false
  TestKernel harmless(
      "setp.eq.s32 %p1, %r40, 7;\nsetp.gt.s32 %p2, %r2, 99;\nand.pred %p3, %p1, %p2;\n@%p3 bra $end;\nadd.s32 %r41, "
      "%r2, 1;\n$end:\n");
  EXPECT_TRUE(clean(harmless.run()));
}

TEST(EngineControl, LaunchesThatTheDriverWouldRefuse) {
  TestKernel kernel("add.s32 %r10, %r2, 1;\n");
  kernel.arguments.block = {1025, 1, 1};
  EXPECT_EQ(kernel.run().status, RunStatus::launch_error);
  kernel.arguments.block = {32, 1, 1};
  kernel.arguments.grid = {0, 1, 1};
  EXPECT_EQ(kernel.run().status, RunStatus::launch_error);
  kernel.arguments.grid = {1, 1, 1};
  kernel.arguments.dynamic_shared_bytes = 300 << 10;
  EXPECT_EQ(kernel.run().status, RunStatus::launch_error);
}

}  // namespace
}  // namespace kw
