// What a run costs is charged to the judgement's budget, and the run ends when that is used up.

#include "kernel/emulate/test_kernel.h"
#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

using std::chrono::hours;

WorkLimits limits(std::uint64_t units, std::uint64_t bytes = std::uint64_t{1} << 30) {
  return {units, bytes, hours(1)};
}

constexpr std::uint64_t plenty = 1'000'000'000;
const std::string store_thread = "mov.u32 %r20, %r5;\n" + store_r20;
const std::string endless = "$AGAIN:\nL4:bra $AGAIN;\n";

TEST(EngineBudget, ChargesInstructionsBlocksAndLaunches) {
  WorkBudget budget(limits(plenty));
  TestKernel kernel(store_thread);
  kernel.options.budget = &budget;
  kernel.arguments.grid = {5, 1, 1};
  kernel.output(5 * 32 * 4);
  const RunResult result = kernel.run();
  EXPECT_TRUE(clean(result));
  EXPECT_EQ(budget.amount_of(WorkKind::launches), 1u);
  EXPECT_EQ(budget.amount_of(WorkKind::blocks), 5u);
  EXPECT_EQ(budget.amount_of(WorkKind::instructions), result.statistics.warp_instructions);
  EXPECT_EQ(budget.memory_left(), budget.limits().held_bytes);  // everything was given back
  EXPECT_GT(budget.most_held_bytes(), 0u);
}

TEST(EngineBudget, SeveralThreadsCostTheSame) {
  std::uint64_t spent[2] = {0, 0};
  for (int threads : {1, 3}) {
    WorkBudget budget(limits(plenty));
    TestKernel kernel(store_thread);
    kernel.options.budget = &budget;
    kernel.options.threads = threads;
    kernel.arguments.grid = {500, 1, 1};
    kernel.output(500 * 32 * 4);
    EXPECT_TRUE(clean(kernel.run()));
    spent[threads == 1 ? 0 : 1] = budget.spent_on(WorkKind::instructions) + budget.spent_on(WorkKind::launches);
  }
  EXPECT_NEAR(static_cast<double>(spent[0]), static_cast<double>(spent[1]), 0.05 * static_cast<double>(spent[0]));
}

TEST(EngineBudget, AnEndlessLoopEndsWithIt) {
  WorkBudget budget(limits(50'000'000));
  TestKernel kernel(endless);
  kernel.options.budget = &budget;
  const RunResult result = kernel.run();
  EXPECT_EQ(result.status, RunStatus::timeout);
  EXPECT_TRUE(finds(result, FindingKind::endless_loop, 4));
  EXPECT_TRUE(budget.exceeded());
  EXPECT_LT(result.statistics.warp_instructions, 50'000'000u);
}

TEST(EngineBudget, AHugeGridIsNotBegun) {
  WorkBudget budget(limits(plenty));
  TestKernel kernel("");
  kernel.options.budget = &budget;
  kernel.limits.warp_instructions = std::int64_t{1} << 60;
  kernel.arguments.grid = {0x7fffffff, 1, 1};
  const RunResult result = kernel.run();
  EXPECT_EQ(result.status, RunStatus::timeout);
  EXPECT_EQ(result.statistics.warp_instructions, 0u);
  ASSERT_TRUE(budget.exceeded());
  EXPECT_NE(budget.exceeded()->message.find("2147483647 blocks"), std::string::npos) << budget.exceeded()->message;
}

TEST(EngineBudget, AGridBeyondTheInstructionsOfALaunchIsNotBegun) {
  TestKernel kernel("");
  kernel.arguments.grid = {0x7fffffff, 1, 1};
  kernel.arguments.block = {1024, 1, 1};
  const RunResult result = kernel.run();
  EXPECT_EQ(result.status, RunStatus::timeout);
  EXPECT_EQ(result.statistics.warp_instructions, 0u);
}

TEST(EngineBudget, SharedAndLocalMemoryOfBlocksCosts) {
  const auto spent = [](const std::string& body, const std::string& declarations, std::uint32_t dynamic) {
    WorkBudget budget(limits(plenty));
    TestKernel kernel(body, declarations);
    kernel.options.budget = &budget;
    kernel.arguments.dynamic_shared_bytes = dynamic;
    kernel.arguments.grid = {10, 1, 1};
    EXPECT_TRUE(clean(kernel.run()));
    return budget.spent_on(WorkKind::blocks);
  };
  const std::uint64_t plain = spent("", "", 0);
  const std::string shared = ".extern .shared .align 16 .b8 room[];\n";
  EXPECT_GT(spent("mov.u64 %rd5, room;\n", shared, 200 << 10), plain + 10 * (200 << 10) / 10);
  EXPECT_GT(spent(".local .align 4 .b8 stack[65536];\nmov.u64 %rd5, stack;\n", "", 0), plain + 10 * 65536 * 32 / 8);
}

TEST(EngineBudget, WithoutMemoryForABlockNothingRuns) {
  WorkBudget budget(limits(plenty, 1 << 20));
  TestKernel kernel(".local .align 4 .b8 stack[65536];\nmov.u64 %rd5, stack;\n");
  kernel.options.budget = &budget;
  EXPECT_EQ(kernel.run().status, RunStatus::timeout);
  ASSERT_TRUE(budget.exceeded());
  EXPECT_EQ(budget.exceeded()->what, ExceededLimit::What::memory);
  EXPECT_EQ(budget.memory_left(), budget.limits().held_bytes);
}

TEST(EngineBudget, RaceEntriesAreHeldAndGivenBack) {
  WorkBudget budget(limits(plenty));
  TestKernel kernel(store_thread);
  kernel.options.budget = &budget;
  kernel.output(16 << 20);
  EXPECT_TRUE(clean(kernel.run()));
  EXPECT_GE(budget.most_held_bytes(), 2u * (16 << 20));
  EXPECT_EQ(budget.memory_left(), budget.limits().held_bytes);
}

TEST(DeviceMemoryBudget, ChargesWhatTheHostMoves) {
  WorkBudget budget(limits(plenty));
  {
    DeviceMemory memory({}, &budget);
    const std::uint64_t a = memory.allocate(1 << 20, "a", MemoryAccessRight::read_write).value();
    const std::uint64_t b = memory.allocate(1 << 20, "b", MemoryAccessRight::read_write).value();
    EXPECT_EQ(budget.amount_of(WorkKind::allocations), 2u);
    EXPECT_GE(budget.limits().held_bytes - budget.memory_left(), 4u << 20);  // each byte with its shadow
    EXPECT_TRUE(memory.fill(a, 0, 1 << 20).ok());
    EXPECT_TRUE(memory.copy(b, a, 1 << 20).ok());
    EXPECT_TRUE(memory.poison(a, 1 << 20).ok());
    EXPECT_EQ(budget.amount_of(WorkKind::memory_bytes), 3u << 20);
    EXPECT_TRUE(memory.free(a).ok());
    EXPECT_LT(budget.limits().held_bytes - budget.memory_left(), 3u << 20);
  }
  EXPECT_EQ(budget.memory_left(), budget.limits().held_bytes);
}

TEST(DeviceMemoryBudget, RefusesWhatDoesNotFitBeforeItIsAllocated) {
  WorkBudget budget(limits(plenty, 100 << 20));
  DeviceMemory memory({}, &budget);
  EXPECT_FALSE(memory.allocate(60 << 20, "a", MemoryAccessRight::read_write).ok());
  EXPECT_TRUE(budget.exceeded());
}

TEST(DeviceMemoryBudget, PagesOfAMappingCostWhenTheyAreWritten) {
  WorkBudget budget(limits(plenty));
  TestKernel kernel("mul.wide.u32 %rd20, %r2, 4096;\nadd.s64 %rd21, %rd1, %rd20;\nst.global.u32 [%rd21], %r2;\n");
  kernel.memory = DeviceMemory({}, &budget);
  kernel.set_a(kernel.memory.allocate_untouched(256 << 20, "output y", MemoryAccessRight::read_write).value());
  const std::uint64_t before = budget.memory_left();
  kernel.options.budget = &budget;
  kernel.options.profiling = true;
  EXPECT_EQ(kernel.run().status, RunStatus::ok);
  EXPECT_EQ(before - budget.memory_left(), 32 * LazyPages::page_bytes);
  kernel.memory.discard_writes();
  EXPECT_EQ(before, budget.memory_left());
}

}  // namespace
}  // namespace kw
