#include "base/page/unified_diff.h"

#include <gtest/gtest.h>

#include "base/child_process.h"
#include "base/file.h"
#include "base/random.h"

namespace kw {
namespace {

TEST(UnifiedDiff, ShowsWhatChangedWithItsSurroundings) {
  EXPECT_EQ(unified_diff("a\nb\n", "a\nb\n", "old", "new"), "");
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "old", "new"),
            "--- old\n+++ new\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  EXPECT_EQ(unified_diff("", "a\n", "old", "new"), "--- old\n+++ new\n@@ -0,0 +1 @@\n+a\n");
  EXPECT_EQ(unified_diff("a\n", "", "old", "new"), "--- old\n+++ new\n@@ -1 +0,0 @@\n-a\n");
}

TEST(UnifiedDiff, PatchAppliesIt) {
  const TemporaryFolder folder;
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    std::string before, after;
    const auto lines = random.integer(0, 40);
    for (std::int64_t i = 0; i < lines; ++i) {
      const std::string line = std::to_string(random.integer(0, 9)) + "\n";
      const double chance = random.uniform();
      if (chance < 0.9) before += line;
      if (chance < 0.8 || chance > 0.9) after += line;
    }
    const std::string diff = unified_diff(before, after, "old", "new");
    if (diff.empty()) {
      EXPECT_EQ(before, after);
      continue;
    }
    ASSERT_TRUE(write_file_atomic(folder.path() / "old", before).ok());
    const auto outcome = run_child({{"patch", "-s", "-o", "new", "old"}, diff, folder.path().string(), {}});
    if (!outcome.ok()) GTEST_SKIP() << "patch is not installed";
    EXPECT_TRUE(outcome->succeeded()) << outcome->output << outcome->error_output << diff;
    const auto made = read_file(folder.path() / "new");
    EXPECT_EQ(made.ok() ? *made : "", after) << diff;
  }
}

}  // namespace
}  // namespace kw
