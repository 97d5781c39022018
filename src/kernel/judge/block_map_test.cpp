#include "kernel/judge/block_map.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

constexpr std::uint64_t output = 1 << 20;

// A launch whose block `number` stores where `places` says.
template <class Places>
BlockMap::Skim skim_of(Places places, int* looked_at = nullptr) {
  return [places, looked_at](const std::vector<std::uint64_t>& blocks) {
    std::map<std::uint64_t, BlockFootprint> seen;
    for (const std::uint64_t block : blocks) {
      BlockFootprint footprint;
      footprint.stored = places(block);
      footprint.warp_instructions = 10;
      join_ranges(footprint.stored);
      seen[block] = footprint;
      if (looked_at != nullptr) ++*looked_at;
    }
    return std::optional(seen);
  };
}

BlockMap learned(std::array<std::uint32_t, 3> grid, const BlockMap::Skim& skim, std::uint64_t bytes) {
  BlockMap map(grid, {{output, output + bytes}});
  Random random(3);
  map.learn(skim, random);
  return map;
}

TEST(BlockMap, FindsTheBlockOfAnElementAmongMillions) {
  int looked_at = 0;
  const auto skim = skim_of(
      [](std::uint64_t block) {
        return std::vector<AddressRange>{{output + block * 1024, output + (block + 1) * 1024}};
      },
      &looked_at);
  const BlockMap map = learned({4'000'000, 1, 1}, skim, 4'096'000'000);
  EXPECT_EQ(map.about(output), BlockMap::Knowledge::known);
  EXPECT_EQ(map.writers(output + 3'999'999ull * 1024 + 5, 16).blocks, std::vector<std::uint64_t>{3'999'999});
  EXPECT_EQ(map.writers(output, 16).blocks, std::vector<std::uint64_t>{0});
  EXPECT_LE(looked_at, 6);
}

TEST(BlockMap, KnowsTilesOfRows) {
  // Tiles of 8 rows and 16 columns of floats in a matrix of 1024 columns, x along the columns.
  const auto skim = skim_of([](std::uint64_t block) {
    std::vector<AddressRange> rows;
    const std::uint64_t x = block % 64, y = block / 64;
    for (std::uint64_t row = 0; row < 8; ++row) {
      const std::uint64_t begin = output + ((y * 8 + row) * 1024 + x * 16) * 4;
      rows.push_back({begin, begin + 64});
    }
    return rows;
  });
  const BlockMap map = learned({64, 100, 1}, skim, 800 * 1024 * 4);
  EXPECT_EQ(map.writers(output + (333 * 1024 + 700) * 4, 16).blocks,
            std::vector<std::uint64_t>{(333 / 8) * 64 + 700 / 16});
}

TEST(BlockMap, KnowsLoopsThatGoRoundTheGrid) {
  const auto skim = skim_of([](std::uint64_t block) {
    std::vector<AddressRange> rounds;
    for (std::uint64_t i = block; i < 1000; i += 132) rounds.push_back({output + i * 256, output + (i + 1) * 256});
    return rounds;
  });
  // Blocks with a round less than others do not fit the pattern; then all are looked at.
  BlockMap map = learned({132, 1, 1}, skim, 256'000);
  EXPECT_TRUE(map.learn_everything(skim, 1e6));
  EXPECT_EQ(map.writers(output + 777 * 256 + 3, 16).blocks, std::vector<std::uint64_t>{777 % 132});
}

// Columns that are no multiple of the tile: the last block of each row has less to do, wherever learning begins.
TEST(BlockMap, IsNotConfusedByBlocksAtAnEdge) {
  const auto skim = skim_of([](std::uint64_t block) {
    std::vector<AddressRange> rows;
    const std::uint64_t x = block % 4, y = block / 4 % 7, image = block / 28;
    for (std::uint64_t row = y * 8; row < std::min<std::uint64_t>(y * 8 + 8, 50); ++row) {
      const std::uint64_t begin = output + ((image * 50 + row) * 56 + x * 16) * 4;
      rows.push_back({begin, begin + std::min<std::uint64_t>(16, 56 - x * 16) * 4});
    }
    return rows;
  });
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    BlockMap map({4, 7, 512}, {{output, output + 512 * 50 * 56 * 4}});
    Random random(seed);
    map.learn(skim, random);
    const auto writers = map.writers(output + ((100 * 50 + 33) * 56 + 20) * 4, 16).blocks;
    EXPECT_EQ(std::count(writers.begin(), writers.end(), 100 * 28 + 33 / 8 * 4 + 1), 1) << seed;
  }
}

TEST(BlockMap, NamesAllBlocksThatShareAnElement) {
  const auto skim = skim_of([](std::uint64_t block) {
    return std::vector<AddressRange>{{output + block % 16 * 64, output + block % 16 * 64 + 64}};
  });
  const BlockMap map = learned({16, 1, 8}, skim, 1024);
  EXPECT_EQ(map.writers(output + 5 * 64, 100).blocks.size(), 8u);
}

TEST(BlockMap, LooksAtEveryBlockWhereThereIsNoPattern) {
  const auto skim = skim_of([](std::uint64_t block) {
    const std::uint64_t place = block * 37 % 1000;
    return std::vector<AddressRange>{{output + place * 64, output + place * 64 + 64}};
  });
  BlockMap map = learned({1000, 1, 1}, skim, 64'000);
  EXPECT_EQ(map.about(output), BlockMap::Knowledge::irregular);
  EXPECT_FALSE(map.learn_everything(skim, 100));  // too much work
  ASSERT_TRUE(map.learn_everything(skim, 1e6));
  EXPECT_EQ(map.writers(output + 370 * 64, 16).blocks, std::vector<std::uint64_t>{10});
}

TEST(BlockMap, SaysThatNobodyWrites) {
  const auto skim = skim_of([](std::uint64_t) { return std::vector<AddressRange>(); });
  const BlockMap map = learned({8, 8, 1}, skim, 1024);
  EXPECT_EQ(map.about(output), BlockMap::Knowledge::never_written);
  EXPECT_TRUE(map.writers(output, 16).blocks.empty());
}

// Gaps are passed at once: memory that several launches carve up has large ones.
TEST(BlockMap, SaysWhereTheNextPieceBegins) {
  const auto halves = [](std::uint64_t block) {
    return std::vector<AddressRange>{{output + block * 1024, output + block * 1024 + 512}};
  };
  const BlockMap map = learned({100, 1, 1}, skim_of(halves), 1 << 20);
  EXPECT_EQ(map.writers(output + 100, 9).blocks, std::vector<std::uint64_t>{0});
  EXPECT_EQ(map.writers(output + 100, 9).end, output + 512);
  EXPECT_TRUE(map.writers(output + 600, 9).blocks.empty());
  EXPECT_EQ(map.writers(output + 600, 9).end, output + 1024);
  EXPECT_TRUE(map.writers(output + 200 * 1024, 9).blocks.empty());
  EXPECT_EQ(map.writers(output + 200 * 1024, 9).end, ~std::uint64_t{0});

  const auto overlapping = [](std::uint64_t block) {
    return std::vector<AddressRange>{{output + block * 256, output + block * 256 + 512}};
  };
  const BlockMap more = learned({100, 1, 1}, skim_of(overlapping), 1 << 20);
  EXPECT_EQ(more.writers(output, 9).end, output + 256);
  EXPECT_EQ(more.writers(output + 300, 9).blocks, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(more.writers(output + 300, 9).end, output + 512);
}

}  // namespace
}  // namespace kw
