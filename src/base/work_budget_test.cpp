#include "base/work_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace kw {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

WorkLimits limits(std::uint64_t units, std::uint64_t bytes = 1 << 20, milliseconds wall = hours(1)) {
  return {units, bytes, wall};
}

TEST(WorkBudget, SpendsUpToItsLimitAndNoFurther) {
  WorkBudget budget(limits(100));
  EXPECT_TRUE(budget.charge(WorkKind::blocks, 1, 60));
  EXPECT_TRUE(budget.charge(WorkKind::launches, 1, 40));
  EXPECT_EQ(budget.left(), 0u);
  EXPECT_FALSE(budget.exceeded());
  EXPECT_FALSE(budget.charge(WorkKind::blocks, 1, 1));
  EXPECT_EQ(budget.spent(), 100u);
  EXPECT_EQ(budget.spent_on(WorkKind::blocks), 60u);
  EXPECT_EQ(budget.amount_of(WorkKind::blocks), 1u);
  ASSERT_TRUE(budget.exceeded());
  EXPECT_EQ(budget.exceeded()->what, ExceededLimit::What::work);
}

TEST(WorkBudget, StaysExceeded) {
  WorkBudget budget(limits(100));
  EXPECT_FALSE(budget.charge(WorkKind::blocks, 2'000'000'000, ~std::uint64_t{0}));
  EXPECT_TRUE(budget.stopped());
  EXPECT_FALSE(budget.charge(WorkKind::blocks, 1, 1));
  EXPECT_FALSE(budget.hold(1));
  EXPECT_FALSE(budget.may_go_on());
}

TEST(WorkBudget, NamesWhatWasWantedAndWhatItWentInto) {
  WorkBudget budget(limits(10'000'000));
  EXPECT_TRUE(budget.charge(WorkKind::memory_bytes, 123'456, 9'000'000));
  EXPECT_FALSE(budget.charge(WorkKind::blocks, 77, 3'000'000));
  const std::string message = budget.exceeded()->message;
  for (const char* part : {"10 million", "9 million", "77 blocks", "3 million", "123456 bytes"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_FALSE(budget.exceeded()->advice.empty());
}

TEST(WorkBudget, RefusesBeforeAnythingIsSpent) {
  WorkBudget budget(limits(100));
  EXPECT_TRUE(budget.affords(WorkKind::blocks, 10, 100));
  EXPECT_EQ(budget.spent(), 0u);
  EXPECT_FALSE(budget.affords(WorkKind::blocks, 11, 101));
  EXPECT_TRUE(budget.exceeded());
}

TEST(WorkBudget, MemoryIsGivenBack) {
  WorkBudget budget(limits(100, 1000));
  {
    HeldMemory held(&budget);
    EXPECT_TRUE(held.add(600));
    EXPECT_TRUE(held.add(400));
    HeldMemory moved = std::move(held);
  }
  EXPECT_TRUE(budget.hold(1000));
  EXPECT_EQ(budget.most_held_bytes(), 1000u);
  EXPECT_FALSE(budget.hold(1));
  EXPECT_EQ(budget.exceeded()->what, ExceededLimit::What::memory);
}

TEST(WorkBudget, WithoutABudgetMemoryIsFree) {
  HeldMemory held;
  EXPECT_TRUE(held.add(~std::uint64_t{0}));
}

TEST(WorkBudget, TheClockIsTheLastResort) {
  WorkBudget budget(limits(100, 1000, milliseconds(-1)));
  EXPECT_TRUE(budget.charge(WorkKind::blocks, 1, 1));  // too little to look at the clock
  EXPECT_FALSE(budget.may_go_on());
  EXPECT_EQ(budget.exceeded()->what, ExceededLimit::What::wall_clock);
  EXPECT_EQ(budget.wall_left().count(), 0);
}

TEST(WorkBudget, ForgivenTimeDoesNotCount) {
  WorkBudget budget(limits(100, 1000, milliseconds(-1)));
  budget.forgive(hours(1));
  EXPECT_TRUE(budget.may_go_on());
  EXPECT_GT(budget.wall_left().count(), 0);
}

TEST(WorkBudget, LooksAtTheClockWhileItIsSpent) {
  WorkBudget budget(limits(1'000'000'000, 1000, milliseconds(-1)));
  EXPECT_FALSE(budget.charge(WorkKind::blocks, 1, 100'000'000));
  EXPECT_EQ(budget.exceeded()->what, ExceededLimit::What::wall_clock);
}

TEST(WorkBudget, ManyThreadsSpendItOnce) {
  WorkBudget budget(limits(100'000));
  std::atomic<std::uint64_t> done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (budget.charge(WorkKind::instructions, 1, 7)) done += 7;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done.load(), budget.spent());
  EXPECT_LE(budget.spent(), 100'000u);
  EXPECT_GT(budget.spent(), 100'000u - 7u);
}

}  // namespace
}  // namespace kw
