#include "judge/case_book.h"

#include <set>

#include "judge/judge_test_support.h"

namespace kw {
namespace {

TEST(HiddenSizes, HaveValuesThatTheFileDoesNotHave) {
  const Task task = suite_task("softmax");
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto hidden = hidden_sizes(task, seed, 1);
    ASSERT_EQ(hidden.size(), 1u);
    for (const Sizes& known : task.all_sizes()) EXPECT_NE(hidden[0].at("cols"), known.at("cols"));
    EXPECT_TRUE(task.check_sizes(hidden[0]).ok());
  }
}

TEST(HiddenSizes, KeepWhatAllSizesAreMultiplesOf) {
  Task task = suite_task("softmax");
  task.sizes_small = {{{"rows", 4}, {"cols", 24}}, {{"rows", 6}, {"cols", 40}}};
  task.sizes_train = {{{"rows", 1024}, {"cols", 512}}};
  task.sizes_holdout = {{{"rows", 100}, {"cols", 80}}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const Sizes& sizes : hidden_sizes(task, seed, 2)) {
      EXPECT_EQ(sizes.at("rows") % 2, 0);
      EXPECT_EQ(sizes.at("cols") % 8, 0);
      EXPECT_GE(sizes.at("cols"), 24);
    }
  }
}

TEST(ShrunkSizes, AreHalvedTrainSizes) {
  const Task task = suite_task("matmul");
  const auto shrunk = shrunk_sizes(task);
  ASSERT_FALSE(shrunk.empty());
  for (const auto& [name, value] : shrunk[0]) {
    EXPECT_LE(value, task.sizes_train[0].at(name));
    EXPECT_EQ(task.sizes_train[0].at(name) % value, 0) << name;
    EXPECT_GE(value, 64) << name;
  }
}

TEST(CaseBook, HasFiveSeedsAndThreeSizesAndIsPrivate) {
  CaseBook book(suite_task("softmax"), "one secret");
  const auto set = book.set(0);
  ASSERT_TRUE(set.ok()) << to_string(set.error());
  std::set<std::uint64_t> seeds;
  std::set<std::string> sizes, kinds;
  bool hidden = false;
  for (const Case& one : (*set)->cases) {
    seeds.insert(one.seed);
    sizes.insert(to_string(one.sizes));
    kinds.insert(std::string(name_of(one.kind)));
    hidden = hidden || one.hidden;
  }
  EXPECT_GE(seeds.size(), 5u);
  EXPECT_GE(sizes.size(), 3u);
  EXPECT_TRUE(hidden);
  EXPECT_EQ(kinds, (std::set<std::string>{"ordinary", "negative", "large", "zero"}));
  EXPECT_FALSE((*set)->constant_outputs);

  CaseBook other(suite_task("softmax"), "another secret");
  EXPECT_NE((*other.questions(0).value())[0].seed, (*set)->cases[0].seed);
}

TEST(CaseBook, KnowsATaskWhoseAnswerIsConstant) {
  Task task = suite_task("relu");
  task.pytorch = "def reference(x):\n    return torch.zeros_like(x)\n";
  CaseBook book(task, "secret");
  const auto set = book.set(0);
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE((*set)->constant_outputs);
}

}  // namespace
}  // namespace kw
