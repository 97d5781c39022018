#include "model/gpu/gradient_buckets.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

// A model of four layers behind an embedding, as a backward pass comes by them.
std::vector<GradientStretch> stretches_of_model(bool muon) {
  std::vector<GradientStretch> stretches;
  for (int layer = 3; layer >= 0; --layer) {
    const std::int64_t begin = 640 + 1024 * layer;
    GradientStretch stretch{begin, begin + 1024, 4 - layer};
    if (muon) stretch.matrices = {{begin, begin + 500}, {begin + 500, begin + 600}, {begin + 640, begin + 1024}};
    stretches.push_back(stretch);
  }
  stretches.push_back({0, 640, 5, false});
  stretches.push_back({4736, 4736 + 129, 5, false});
  return stretches;
}

TEST(GradientBuckets, EveryElementHasOneOwner) {
  for (const bool muon : {false, true}) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      std::vector<int> owners(4736 + 129);
      for (int rank = 0; rank < ranks; ++rank) {
        const PartBuckets plan = plan_buckets(stretches_of_model(muon), 2048, rank, ranks);
        std::int64_t end = 0;
        for (const OwnPiece& piece : plan.own) {
          EXPECT_EQ(piece.place % 64, 0);
          EXPECT_GE(piece.place, end) << "pieces do not overlap";
          end = piece.place + piece.count;
          for (std::int64_t i = piece.begin; i < piece.begin + piece.count; ++i) ++owners[static_cast<std::size_t>(i)];
        }
        EXPECT_LE(end, plan.own_size);
      }
      for (std::size_t i = 0; i < owners.size(); ++i) {
        const bool padding = muon && i >= 640 && i < 4736 && (i - 640) % 1024 >= 600 && (i - 640) % 1024 < 640;
        EXPECT_EQ(owners[i], padding ? 0 : 1) << "element " << i << " of " << ranks << " ranks";
      }
    }
  }
}

TEST(GradientBuckets, LayersAreSentTogetherUpToTheBucketsSize) {
  const PartBuckets plan = plan_buckets(stretches_of_model(false), 2048, 0, 2);
  ASSERT_EQ(plan.buckets.size(), 4u);
  EXPECT_EQ(plan.buckets[0].ready, 2) << "layers 3 and 2, when 2 is done";
  EXPECT_EQ(plan.buckets[0].transfers[0].begin, 640 + 2 * 1024);
  EXPECT_EQ(plan.buckets[1].ready, 4);
  EXPECT_EQ(plan.buckets[2].ready, 5) << "the embedding waits for nobody's sake but its own";
  EXPECT_EQ(plan_buckets(stretches_of_model(false), 1, 0, 2).buckets.size(), 6u) << "a layer is never cut";
  for (int rank = 0; rank < 3; ++rank) {
    const PartBuckets other = plan_buckets(stretches_of_model(false), 2048, rank, 3);
    EXPECT_EQ(other.buckets.size(), plan.buckets.size());
  }
}

TEST(GradientBuckets, MatricesStayWholeAndAreSpread) {
  std::int64_t least = 1 << 20, most = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const PartBuckets plan = plan_buckets(stretches_of_model(true), 2048, rank, 3);
    std::int64_t elements = 0;
    for (const OwnPiece& piece : plan.own)
      if (piece.begin >= 640 && piece.begin < 4736) elements += piece.count;
    least = std::min(least, elements);
    most = std::max(most, elements);
  }
  EXPECT_GT(least, 0);
  EXPECT_LE(most - least, 500) << "never further apart than one matrix";
}

TEST(GradientBuckets, OwnShareFallsWithTheRanks) {
  const std::int64_t all = plan_buckets(stretches_of_model(false), 2048, 0, 1).own_size;
  EXPECT_LE(plan_buckets(stretches_of_model(false), 2048, 0, 4).own_size, all / 4 + 5 * 64);
}

}  // namespace
}  // namespace kw
