// Expected values: scipy.stats (binomtest, wilcoxon, permutation_test); with ties, all ways counted.
#include "app/evaluate/paired_tests.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw {
namespace {

// Darwin's maize: heights of crossed minus self-fertilised plants, in eighths of an inch.
const std::vector<double> darwin{6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75};

std::vector<double> many_differences() {
  std::vector<double> differences;
  for (int i = 0; i < 300; ++i) differences.push_back(((i * 7919) % 1009 - 480) / 100.0);
  return differences;
}

TEST(McNemar, EqualsTheBinomialTest) {
  EXPECT_NEAR(mcnemar_exact(3, 12), 0.03515625, 1e-12);
  EXPECT_NEAR(mcnemar_exact(25, 10), 0.016673847800120715, 1e-12);
  EXPECT_EQ(mcnemar_exact(0, 1), 1);
  EXPECT_EQ(mcnemar_exact(4, 4), 1);
  EXPECT_EQ(mcnemar_exact(0, 0), 1);
}

TEST(SignTest, LeavesZerosOut) {
  EXPECT_NEAR(sign_test(darwin), 0.00738525390625, 1e-12);
  std::vector<double> with_zeros = darwin;
  with_zeros.insert(with_zeros.end(), 10, 0.0);
  EXPECT_EQ(sign_test(with_zeros), sign_test(darwin));
  EXPECT_EQ(sign_test({}), 1);
}

TEST(Wilcoxon, EqualsScipy) {
  EXPECT_NEAR(wilcoxon_signed_rank(darwin), 0.041259765625, 1e-12);
  EXPECT_NEAR(wilcoxon_signed_rank({1, 1, -1, 2, 2, 3, -2, 4, 5, 1, 0, 0}), 0.060546875, 1e-12);
  EXPECT_NEAR(wilcoxon_signed_rank(many_differences()), 0.14038575768169398, 1e-9);
  EXPECT_EQ(wilcoxon_signed_rank({0, 0}), 1);
}

TEST(Wilcoxon, ExactAndApproximateMeet) {
  Random random(8);
  std::vector<double> differences;
  for (int i = 0; i < 200; ++i) differences.push_back(random.normal() + 0.12);
  const double exact = wilcoxon_signed_rank(differences);
  differences.push_back(0.0001);  // hardly a change but of the method
  EXPECT_NEAR(wilcoxon_signed_rank(differences), exact, 0.1 * exact + 0.002);
}

TEST(PairedPermutation, EqualsScipy) {
  EXPECT_NEAR(paired_permutation(darwin), 0.05267333984375, 1e-12);
  EXPECT_NEAR(paired_permutation(many_differences()), 0.1381, 0.005);
  EXPECT_EQ(paired_permutation(many_differences()), paired_permutation(many_differences()));
  EXPECT_GE(paired_permutation(std::vector<double>(100, 1.0), 999), 0.001);
  EXPECT_EQ(paired_permutation({}), 1);
}

// Without a difference, a p-value below 0.05 comes in one of twenty cases.
TEST(PairedTests, AreHonestWhereThereIsNoDifference) {
  Random random(9);
  int wilcoxon = 0, permutation = 0;
  for (int run = 0; run < 400; ++run) {
    std::vector<double> differences;
    for (int i = 0; i < 30; ++i) differences.push_back(random.normal());
    wilcoxon += wilcoxon_signed_rank(differences) < 0.05;
    permutation += paired_permutation(differences, 500, static_cast<std::uint64_t>(run)) < 0.05;
  }
  EXPECT_NEAR(wilcoxon / 400.0, 0.05, 0.035);
  EXPECT_NEAR(permutation / 400.0, 0.05, 0.035);
}

}  // namespace
}  // namespace kw
