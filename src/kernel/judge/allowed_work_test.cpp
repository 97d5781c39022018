#include "kernel/judge/allowed_work.h"

#include "kernel/judge/judge_test_support.h"
#include "kernel/judge/made_sizes.h"

namespace kw {
namespace {

Case case_at(const Sizes& sizes, bool hidden, bool optional) {
  Case one;
  one.sizes = sizes;
  one.hidden = hidden;
  one.optional = optional;
  return one;
}

TEST(AllowedWork, GrowsWithTheNaiveKernel) {
  const Task task = suite_task("matmul");
  const Case one = case_at(task.sizes_small[0], false, false);
  EXPECT_GT(allowed_work(task, one, 1'000'000, false).warp_instructions,
            allowed_work(task, one, 1'000, false).warp_instructions + 60'000'000);
}

TEST(AllowedWork, LeavesOutAnOptionalCaseForEveryone) {
  const Task task = suite_task("matmul");
  const Case optional = case_at({{"m", 128}, {"k", 128}, {"n", 128}}, true, true);
  EXPECT_TRUE(allowed_work(task, optional, 5'000'000, false).left_out);
  EXPECT_FALSE(allowed_work(task, optional, 5'000, false).left_out);
  EXPECT_TRUE(allowed_work(task, optional, 5'000, false).may_give_up);
  EXPECT_FALSE(allowed_work(task, case_at(task.sizes_small[0], false, false), 5'000'000, false).left_out);
}

// Without a naive kernel: a hidden size of any draw allows more than the declared sizes of the same task need.
TEST(AllowedWork, IsMoreAtAHiddenSizeThanAtAnyDeclaredOne) {
  for (const char* name : {"attention", "matmul", "softmax", "conv2d_3x3"}) {
    const Task task = suite_task(name);
    std::int64_t declared = 0;
    for (const Sizes& sizes : task.sizes_small)
      declared = std::max(declared, allowed_work(task, case_at(sizes, false, false), {}, false).warp_instructions);
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      for (const Sizes& sizes : hidden_sizes(task, seed, 2))
        EXPECT_GE(allowed_work(task, case_at(sizes, true, false), {}, false).warp_instructions, declared) << name;
  }
}

TEST(AllowedWork, KnowsWhatCannotBeEmulated) {
  const Task task = suite_task("matmul");
  const Case one = case_at({{"m", 4096}, {"k", 4096}, {"n", 4096}}, false, false);
  EXPECT_TRUE(allowed_work(task, one, {}, false).beyond_us);
  EXPECT_FALSE(allowed_work(task, case_at(task.sizes_small[0], false, false), {}, false).beyond_us);
}

}  // namespace
}  // namespace kw
