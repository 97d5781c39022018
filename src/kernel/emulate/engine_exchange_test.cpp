// Shuffles, votes, match, redux, against the definitions written out lane by lane.

#include "kernel/emulate/test_kernel.h"

namespace kw {
namespace {

std::vector<std::uint32_t> run_warp_kernel(const std::string& body) {
  TestKernel kernel(body + store_r20);
  kernel.output(128);
  EXPECT_TRUE(clean(kernel.run()));
  return kernel.result<std::uint32_t>(32);
}

// value = 100 + lane; the predicate result is added as 1000.
std::vector<std::uint32_t> shuffle(const std::string& mode, int b, int c) {
  return run_warp_kernel("add.s32 %r10, %r2, 100;\nshfl.sync." + mode + ".b32 %r20|%p1, %r10, " + std::to_string(b) +
                         ", " + std::to_string(c) + ", -1;\nselp.b32 %r21, 1000, 0, %p1;\nadd.s32 %r20, %r20, %r21;\n");
}

TEST(EngineExchange, ShuffleModes) {
  std::vector<std::uint32_t> up = shuffle("up", 3, 0), down = shuffle("down", 5, 31),
                             butterfly = shuffle("bfly", 16, 31), index = shuffle("idx", 7, 31);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(up[lane], lane >= 3 ? 1100 + lane - 3 : 100 + lane);
    EXPECT_EQ(down[lane], lane + 5 <= 31 ? 1100 + lane + 5 : 100 + lane);
    EXPECT_EQ(butterfly[lane], 1100 + (lane ^ 16));
    EXPECT_EQ(index[lane], 1107u);
  }
}

TEST(EngineExchange, ShuffleInSegmentsOfEight) {
  // width 8: c = ((32 - 8) << 8) | 31, for up | 0
  std::vector<std::uint32_t> down = shuffle("down", 3, 0x181f), up = shuffle("up", 2, 0x1800),
                             index = shuffle("idx", 5, 0x181f);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    std::uint32_t within = lane % 8;
    EXPECT_EQ(down[lane], within + 3 < 8 ? 1100 + lane + 3 : 100 + lane);
    EXPECT_EQ(up[lane], within >= 2 ? 1100 + lane - 2 : 100 + lane);
    EXPECT_EQ(index[lane], 1100 + lane - within + 5);
  }
}

TEST(EngineExchange, ReductionTreeOverTheWarp) {
  std::string body = "mov.u32 %r20, %r2;\n";
  for (int offset : {16, 8, 4, 2, 1})
    body += "shfl.sync.bfly.b32 %r21, %r20, " + std::to_string(offset) + ", 31, -1;\nadd.s32 %r20, %r20, %r21;\n";
  EXPECT_EQ(run_warp_kernel(body), std::vector<std::uint32_t>(32, 496));
}

TEST(EngineExchange, LanesOfAMaskComeTogetherBeforeTheyExchange) {
  // The halves of the warp take different ways and meet in the same shuffle.
  std::vector<std::uint32_t> words = run_warp_kernel(
      "setp.lt.s32 %p1, %r2, 16;\nmov.u32 %r10, 5;\n@%p1 bra $low;\nmov.u32 %r10, 9;\nbra.uni $join;\n$low:\nadd.s32 "
      "%r10, %r10, 1;\n$join:\n"
      "shfl.sync.bfly.b32 %r20, %r10, 16, 31, -1;\n");
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], lane < 16 ? 9u : 6u);
}

TEST(EngineExchange, LanesThatHaveLeftGiveUndefinedValues) {
  TestKernel kernel("setp.ge.s32 %p1, %r2, 16;\n@%p1 bra $end;\nshfl.sync.down.b32 %r20, %r2, 4, 31, -1;\n" +
                    store_r20 + "$end:\n");
  kernel.output(64);
  kernel.run();
  EXPECT_EQ(kernel.undefined_output(64), 16u);  // lanes 12 .. 15
}

TEST(EngineExchange, LanesThatNeverComeAreFound) {
  // Lanes 16 .. 31 wait at the barrier of the block instead.
  TestKernel kernel(
      "setp.ge.s32 %p1, %r2, 16;\n@%p1 bra $end;\nL5:shfl.sync.down.b32 %r20, %r2, 4, 31, -1;\n$end:\nL7:bar.sync "
      "0;\n");
  RunResult result = kernel.run();
  EXPECT_TRUE(finds(result, FindingKind::warp_sync_divergence, 5));
  EXPECT_EQ(result.status, RunStatus::synchronization);
}

TEST(EngineExchange, AMaskMustNameTheCaller) {
  TestKernel kernel("L5:bar.warp.sync 255;\n");
  EXPECT_TRUE(finds(kernel.run(), FindingKind::warp_sync_mask, 5));
}

TEST(EngineExchange, Votes) {
  std::vector<std::uint32_t> words = run_warp_kernel(
      "and.b32 %r10, %r2, 1;\nsetp.eq.s32 %p1, %r10, 1;\nvote.sync.ballot.b32 %r20, %p1, -1;\nvote.sync.any.pred %p2, "
      "%p1, -1;\n"
      "vote.sync.all.pred %p3, %p1, -1;\nvote.sync.uni.pred %p4, %p1, -1;\nselp.b32 %r11, 1, 0, %p2;\nselp.b32 %r12, "
      "2, 0, %p3;\n"
      "selp.b32 %r13, 4, 0, %p4;\nadd.s32 %r20, %r20, %r11;\nadd.s32 %r20, %r20, %r12;\nadd.s32 %r20, %r20, %r13;\n");
  EXPECT_EQ(words, std::vector<std::uint32_t>(32, 0xaaaaaaaau + 1));
}

TEST(EngineExchange, Match) {
  std::vector<std::uint32_t> any = run_warp_kernel("and.b32 %r10, %r2, 3;\nmatch.any.sync.b32 %r20, %r10, -1;\n");
  std::vector<std::uint32_t> all = run_warp_kernel(
      "mov.u32 %r10, 3;\nmatch.all.sync.b32 %r20|%p1, %r10, -1;\nmatch.all.sync.b32 %r21|%p2, %r2, -1;\nselp.b32 %r22, "
      "7, %r20, %p2;\n"
      "selp.b32 %r20, %r22, 0, %p1;\nadd.s32 %r20, %r20, %r21;\n");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(any[lane], 0x11111111u << (lane & 3));
    EXPECT_EQ(all[lane], 0xffffffffu);
  }
}

TEST(EngineExchange, Redux) {
  std::vector<std::uint32_t> words = run_warp_kernel(
      "sub.s32 %r10, %r2, 10;\nredux.sync.add.s32 %r11, %r10, -1;\nredux.sync.min.s32 %r12, %r10, "
      "-1;\nredux.sync.max.u32 %r13, %r10, -1;\n"
      "redux.sync.xor.b32 %r14, %r2, -1;\nadd.s32 %r20, %r11, %r12;\nadd.s32 %r20, %r20, %r13;\nadd.s32 %r20, %r20, "
      "%r14;\n");
  // sum 176, smallest -10, largest unsigned -1, xor of 0 .. 31 is 0
  EXPECT_EQ(words, std::vector<std::uint32_t>(32, 176u - 10u - 1u));
}

TEST(EngineExchange, PartOfAWarp) {
  TestKernel kernel("activemask.b32 %r10;\nshfl.sync.idx.b32 %r11, %r2, 5, 31, %r10;\nadd.s32 %r20, %r10, %r11;\n" +
                    store_r20);
  kernel.output(4 * 40);
  kernel.arguments.block = {40, 1, 1};
  ASSERT_TRUE(clean(kernel.run()));
  std::vector<std::uint32_t> words = kernel.result<std::uint32_t>(40);
  EXPECT_EQ(words[0], 0xffffffffu + 5);
  EXPECT_EQ(words[39], 0xffu + 37);
}

}  // namespace
}  // namespace kw
