#include "kernel/judge/case_book.h"

#include <algorithm>
#include <set>

#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

// What unusual inputs find must not depend on chance: they go to sizes that the file has.
TEST(CaseBook, GivesUnusualInputsToDeclaredSizes) {
  const Task task = suite_task("softmax");
  std::set<std::string> sizes;
  for (int secret = 0; secret < 6; ++secret) {
    CaseBook book(task, "secret " + std::to_string(secret));
    for (const Case& one : **book.questions(secret % CaseBook::sets))
      if (one.kind != InputKind::ordinary && !one.optional) sizes.insert(to_string(one.sizes));
  }
  EXPECT_EQ(sizes, (std::set<std::string>{to_string(task.sizes_small[0]), to_string(task.sizes_small[1])}));
}

// Of a cosine of 512,000 the reference itself keeps no digits in float.
TEST(CaseBook, LeavesOutWhatTheReferenceIsBadAt) {
  Task task = suite_task("relu");
  task.pytorch = "def reference(x):\n    return torch.cos(x * 1000.0)\n";
  CaseBook book(task, "one secret");
  const auto asked = book.questions(0);
  const auto set = book.set(0);
  ASSERT_TRUE(set.ok()) << to_string(set.error());
  std::set<InputKind> before, after;
  for (const Case& one : **asked) before.insert(one.kind);
  for (const Case& one : (*set)->cases) after.insert(one.kind);
  EXPECT_TRUE(before.contains(InputKind::offset));
  EXPECT_FALSE(after.contains(InputKind::offset));
  EXPECT_TRUE(after.contains(InputKind::tiny));
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
  EXPECT_EQ(kinds,
            (std::set<std::string>{"ordinary", "negative", "large", "zero", "offset", "tiny", "outlier", "patterned"}));
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
