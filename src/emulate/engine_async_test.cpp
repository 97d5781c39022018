// Groups of asynchronous copies when the lanes of a warp take different ways.
#include <numeric>

#include "emulate/test_kernel.h"

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
  std::uint64_t undefined_bytes;
  std::vector<std::uint32_t> values;
};
Outcome outcome(const std::string& place) {
  TestKernel kernel(two_groups(place), ".shared .align 16 .b8 tile[256];\n");
  std::vector<std::uint32_t> numbers(32);
  std::iota(numbers.begin(), numbers.end(), 100u);
  kernel.input(numbers);
  kernel.output(128);
  kernel.run();
  return {kernel.undefined_output(128), kernel.result<std::uint32_t>(32)};
}

TEST(EngineAsync, WaitingForAllButOneGroupLandsTheFirst) {
  const Outcome first = outcome("");
  EXPECT_EQ(first.undefined_bytes, 0u);
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(first.values[lane], lane < 16 ? 100 + lane : 1);
}

TEST(EngineAsync, TheOpenGroupOfAThreadIsNotThere) { EXPECT_EQ(outcome("+128").undefined_bytes, 16u * 4); }

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
