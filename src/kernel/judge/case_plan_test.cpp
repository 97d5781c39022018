#include "kernel/judge/case_plan.h"

#include <algorithm>
#include <set>

#include "kernel/judge/judge_test_support.h"
#include "kernel/judge/made_sizes.h"
#include "kernel/judge/run_order.h"

namespace kw {
namespace {

TEST(CasePlan, TriesEveryAllowedKindAtTheLargestDeclaredSize) {
  const Task task = suite_task("softmax");
  std::set<InputKind> allowed;
  for (const InputKind kind : all_input_kinds)
    if (is_allowed(task, kind)) allowed.insert(kind);
  EXPECT_EQ(allowed.size(), 7u);
  std::set<std::set<InputKind>> at_the_smaller;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::set<InputKind> large, small;
    std::size_t ordinary = 0;
    for (const PlannedCase& one : plan_cases(task, seed, seed + 1)) {
      if (one.kind == InputKind::ordinary) {
        ordinary += one.hidden ? 0 : 1;
      } else if (!one.hidden) {
        (one.sizes == task.sizes_small[1] ? large : small).insert(one.kind);
      }
    }
    EXPECT_EQ(large, allowed);
    EXPECT_EQ(small.size(), 4u);
    EXPECT_EQ(ordinary, task.sizes_small.size());
    at_the_smaller.insert(small);
  }
  EXPECT_GE(at_the_smaller.size(), 3u) << "which kinds is a secret";
}

TEST(CasePlan, CasesOfASizeStandTogether) {
  for (const char* name : {"softmax", "histogram", "relu", "matmul", "bit_mix_i32"}) {
    const auto planned = plan_cases(suite_task(name), 1, 2);
    std::set<std::string> ended;
    for (std::size_t i = 1; i < planned.size(); ++i) {
      if (planned[i].sizes == planned[i - 1].sizes) continue;
      ended.insert(to_string(planned[i - 1].sizes));
      EXPECT_FALSE(ended.contains(to_string(planned[i].sizes))) << name;
    }
    EXPECT_GE(planned.size(), 5u) << name;
  }
}

TEST(CasePlan, CountsMoreEqualItemsThanSixteenBitsHold) {
  const auto planned = plan_cases(suite_task("histogram"), 1, 2);
  EXPECT_TRUE(std::any_of(planned.begin(), planned.end(), [](const PlannedCase& one) {
    return one.kind == InputKind::repeated && one.sizes.at("count") > 65'536;
  }));
}

// Each is costly: a task that declares large ones gets the kinds at a smaller one.
TEST(CasePlan, DoesNotTryEveryKindAtAHugeSize) {
  Task task = suite_task("relu");
  task.sizes_small = {{{"n", 7}}, {{"n", 3001}}, {{"n", 1'000'003}}};
  for (const PlannedCase& one : plan_cases(task, 1, 2)) {
    if (one.sizes == task.sizes_small[2]) {
      EXPECT_EQ(one.kind, InputKind::ordinary);
    }
  }
}

TEST(RunOrder, IsDrawnForEachCase) {
  std::set<std::uint64_t> warps, blocks, places;
  int natural = 0, early = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RunOrder order = order_for(seed);
    EXPECT_EQ(order.natural(), order_for(seed).natural());
    natural += order.natural() ? 1 : 0;
    early += order.copies_land_early ? 1 : 0;
    warps.insert(order.warps);
    blocks.insert(order.blocks);
    places.insert(bytes_before_arrays(seed));
    EXPECT_EQ(bytes_before_arrays(seed) % 256, 0u);
  }
  EXPECT_GT(natural, 20);
  EXPECT_LT(natural, 80);
  EXPECT_GT(early, 40);
  EXPECT_GT(warps.size(), 100u);
  EXPECT_GT(blocks.size(), 100u);
  EXPECT_GT(places.size(), 100u);
}

}  // namespace
}  // namespace kw
