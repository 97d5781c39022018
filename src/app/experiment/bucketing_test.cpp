#include "app/experiment/bucketing.h"

#include <gtest/gtest.h>

#include <string>

namespace kw {
namespace {

// The cases are GrowthBook's: packages/sdk-js/test/cases.json of github.com/growthbook/growthbook, specVersion 0.8.0,
// the lists `hash`, `getBucketRange`, `chooseVariation` and `getEqualWeights`, all of them.

struct HashCase {
  const char* seed;
  const char* value;
  int version;
  double bucket;
};

constexpr HashCase hash_cases[] = {
    {"", "a", 1, 0.22},
    {"", "b", 1, 0.077},
    {"b", "a", 1, 0.946},
    {"ef", "d", 1, 0.652},
    {"asdf", "8952klfjas09ujk", 1, 0.549},
    {"", "123", 1, 0.011},
    {"", "___)((*\":&", 1, 0.563},
    {"seed", "a", 2, 0.0505},
    {"seed", "b", 2, 0.2696},
    {"foo", "ab", 2, 0.2575},
    {"foo", "def", 2, 0.2019},
    {"89123klj", "8952klfjas09ujkasdf", 2, 0.124},
    {"90850943850283058242805", "123", 2, 0.7516},
    {"()**(%$##$%#$#", "___)((*\":&", 2, 0.0128},
};

TEST(Bucketing, HashesAsGrowthBookPublishesIt) {
  for (const auto& known : hash_cases) EXPECT_EQ(bucket_of(known.seed, known.value, known.version), known.bucket);
  EXPECT_EQ(bucket_of("abc", "def", 99), std::nullopt);
}

struct RangeCase {
  const char* name;
  int arms;
  double coverage;
  std::vector<double> weights;
  std::vector<BucketRange> ranges;
};

const RangeCase range_cases[] = {
    {"normal 50/50", 2, 1, {}, {{0, 0.5}, {0.5, 1}}},
    {"reduced coverage", 2, 0.5, {}, {{0, 0.25}, {0.5, 0.75}}},
    {"zero coverage", 2, 0, {}, {{0, 0}, {0.5, 0.5}}},
    {"4 variations", 4, 1, {}, {{0, 0.25}, {0.25, 0.5}, {0.5, 0.75}, {0.75, 1}}},
    {"uneven weights", 2, 1, {0.4, 0.6}, {{0, 0.4}, {0.4, 1}}},
    {"uneven weights, 3 variations", 3, 1, {0.2, 0.3, 0.5}, {{0, 0.2}, {0.2, 0.5}, {0.5, 1}}},
    {"uneven, reduced coverage, 3 variations", 3, 0.2, {0.2, 0.3, 0.5}, {{0, 0.04}, {0.2, 0.26}, {0.5, 0.6}}},
    {"negative coverage", 2, -0.2, {}, {{0, 0}, {0.5, 0.5}}},
    {"coverage above 1", 2, 1.5, {}, {{0, 0.5}, {0.5, 1}}},
    {"weights sum below 1", 2, 1, {0.4, 0.1}, {{0, 0.5}, {0.5, 1}}},
    {"weights sum above 1", 2, 1, {0.7, 0.6}, {{0, 0.5}, {0.5, 1}}},
    {"number of weights", 4, 1, {0.4, 0.4, 0.2}, {{0, 0.25}, {0.25, 0.5}, {0.5, 0.75}, {0.75, 1}}},
    {"weights sum almost equals 1", 2, 1, {0.4, 0.5999}, {{0, 0.4}, {0.4, 0.9999}}},
};

TEST(Bucketing, DividesTheBucketsAsGrowthBookPublishesIt) {
  for (const auto& known : range_cases) {
    const auto ranges = bucket_ranges(known.arms, known.coverage, known.weights);
    ASSERT_EQ(ranges.size(), known.ranges.size()) << known.name;
    for (std::size_t arm = 0; arm < ranges.size(); ++arm) {
      EXPECT_NEAR(ranges[arm].begin, known.ranges[arm].begin, 1e-12) << known.name;
      EXPECT_NEAR(ranges[arm].end, known.ranges[arm].end, 1e-12) << known.name;
    }
  }
}

TEST(Bucketing, ChoosesTheArmAsGrowthBookPublishesIt) {
  const std::vector<BucketRange> even = {{0, 0.5}, {0.5, 1}}, reduced = {{0, 0.25}, {0.5, 0.75}};
  const std::vector<BucketRange> with_empty = {{0, 0.5}, {0.5, 0.5}, {0.5, 1}};
  struct Choice {
    double bucket;
    const std::vector<BucketRange>& ranges;
    std::optional<std::size_t> arm;
  };
  const Choice choices[] = {{0.2, even, 0},      {0.4, even, 0},     {0.6, even, 1},      {0.8, even, 1},
                            {0, even, 0},        {0.5, even, 1},     {0.2, reduced, 0},   {0.4, reduced, {}},
                            {0.6, reduced, 1},   {0.8, reduced, {}}, {0.25, reduced, {}}, {0.5, reduced, 1},
                            {0.5, with_empty, 2}};
  for (const auto& choice : choices)
    EXPECT_EQ(arm_of_bucket(choice.bucket, choice.ranges), choice.arm) << choice.bucket;
}

TEST(Bucketing, EqualWeightsAsGrowthBookPublishesThem) {
  EXPECT_TRUE(equal_weights(-1).empty());
  EXPECT_TRUE(equal_weights(0).empty());
  EXPECT_EQ(equal_weights(1), std::vector<double>{1});
  EXPECT_EQ(equal_weights(2), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(equal_weights(4), (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
  ASSERT_EQ(equal_weights(3).size(), 3u);
  for (const double weight : equal_weights(3)) EXPECT_NEAR(weight, 0.33333333, 1e-8);
}

TEST(Bucketing, MoreCoverageAddsUsersAndMovesNone) {
  int parts = 0;
  for (int user = 0; user < 20'000; ++user) {
    const double bucket = bucket_of("salt", "user-" + std::to_string(user), 2).value();
    std::optional<std::size_t> before;
    for (const double coverage : {0.01, 0.05, 0.25, 0.5, 1.0}) {
      const auto arm = arm_of_bucket(bucket, bucket_ranges(3, coverage, {0.2, 0.3, 0.5}));
      EXPECT_TRUE(!before || arm == before) << user;
      before = arm;
    }
    parts += before.has_value();
  }
  EXPECT_EQ(parts, 20'000) << "everybody takes part at full coverage";
}

TEST(Bucketing, AnotherSaltSplitsIndependently) {
  int together = 0;
  for (int user = 0; user < 20'000; ++user) {
    const std::string name = "user-" + std::to_string(user);
    together += (bucket_of("one", name, 2).value() < 0.5) == (bucket_of("two", name, 2).value() < 0.5);
  }
  EXPECT_NEAR(together / 20'000.0, 0.5, 0.02);
}

}  // namespace
}  // namespace kw
