#include "kernel/emulate/block_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace kw {
namespace {

std::vector<std::uint64_t> all_of(const BlockOrder& order) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < order.size(); ++i) numbers.push_back(order[i]);
  return numbers;
}

TEST(BlockOrder, EveryBlockOnceWhateverTheSeed) {
  for (std::uint64_t count : {0u, 1u, 2u, 3u, 7u, 16u, 17u, 1000u, 4097u}) {
    std::vector<std::uint64_t> ascending(count);
    std::iota(ascending.begin(), ascending.end(), std::uint64_t{0});
    EXPECT_EQ(all_of(BlockOrder(count, 0)), ascending);
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
      std::vector<std::uint64_t> numbers = all_of(BlockOrder(count, seed));
      EXPECT_TRUE(count < 10 || numbers != ascending);
      std::sort(numbers.begin(), numbers.end());
      EXPECT_EQ(numbers, ascending);
    }
  }
}

TEST(BlockOrder, SeedsDifferAndSmallGridsAreReordered) {
  EXPECT_NE(all_of(BlockOrder(1000, 1)), all_of(BlockOrder(1000, 2)));
  int swapped = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) swapped += BlockOrder(2, seed)[0] == 1 ? 1 : 0;
  EXPECT_GT(swapped, 2);
  EXPECT_LT(swapped, 18);
}

TEST(BlockOrder, ChosenBlocksAloneInTheOrderGiven) {
  EXPECT_EQ(all_of(BlockOrder(10, 5, {7, 2, 99, 0})), (std::vector<std::uint64_t>{7, 2, 0}));
}

TEST(BlockOrder, AHugeGridCostsNothing) {
  BlockOrder order(std::uint64_t{1} << 31, 3);
  EXPECT_LT(order[(std::uint64_t{1} << 31) - 1], std::uint64_t{1} << 31);
}

}  // namespace
}  // namespace kw
