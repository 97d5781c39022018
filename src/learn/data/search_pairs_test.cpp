#include "learn/data/search_pairs.h"

#include <gtest/gtest.h>

#include "base/database/database.h"
#include "base/file.h"
#include "kernel/judge/verdict.h"
#include "kernel/task/task_file.h"
#include "learn/data/store.h"

namespace kw {
namespace {

std::string kernel_with(int tile, int stages, const std::string& body = "y[0] = tile * stages;") {
  return "constexpr int tile = " + std::to_string(tile) + ", stages = " + std::to_string(stages) +
         ";\n__global__ void k(float* y) { " + body + " }\n";
}

Verdict judged(std::optional<double> us, bool measured = false, const std::string& code = "code") {
  Verdict verdict;
  verdict.correct = us.has_value();
  verdict.status = us ? VerdictStatus::correct : VerdictStatus::wrong;
  verdict.time_us = us;
  verdict.time_source = measured ? "measured" : "modelled";
  verdict.ptx_fingerprint = code;
  return verdict;
}

class SearchPairsTest : public testing::Test {
 protected:
  SearchPairsTest()
      : file_(folder_.path() / "search.db"), task_(*load_task(std::string(KW_SOURCE_ROOT) + "/tasks/relu")) {
    task_.split = Split::train;
    auto database = Database::open(file_).value();
    EXPECT_TRUE(
        database.execute("CREATE TABLE searches (id INTEGER PRIMARY KEY, identity TEXT, task TEXT, seconds REAL)")
            .ok());
    EXPECT_TRUE(
        database
            .execute("CREATE TABLE search_verdicts (search INTEGER, kernel TEXT, measurement INTEGER, verdict TEXT)")
            .ok());
    auto insert = database.prepare("INSERT INTO searches VALUES (1, 'one', ?, 0)").value();
    EXPECT_TRUE(insert.run(task_.name).ok());
  }

  void add(const std::string& kernel, int measurement, const Verdict& verdict) {
    auto database = Database::open(file_).value();
    auto insert = database.prepare("INSERT INTO search_verdicts VALUES (1, ?, ?, ?)").value();
    EXPECT_TRUE(insert.run(kernel, measurement, to_json(verdict).dump()).ok());
  }

  TemporaryFolder folder_;
  std::filesystem::path file_;
  Task task_;
};

TEST_F(SearchPairsTest, SlowToFastAndConstantsByName) {
  add(kernel_with(64, 2), 0, judged(20));
  add(kernel_with(128, 3), 0, judged(10));
  add(kernel_with(8, 2, "y[0] = 1;"), 0, judged(5));
  add(kernel_with(9, 2, "y[0] = 2;"), 0, judged(std::nullopt));
  const auto pairs = pairs_of_searches(file_, task_);
  ASSERT_TRUE(pairs.ok()) << to_string(pairs.error());
  EXPECT_EQ(pairs->kernels, 4u);
  EXPECT_EQ(pairs->right, 3u);
  ASSERT_EQ(pairs->lines.size(), 3u) << "20 to 5, 20 to 10 by constants, 10 to 5";
  EXPECT_EQ(pairs->of_constants, 1u);
  bool found = false;
  for (const auto& line : pairs->lines) {
    EXPECT_EQ(line.at("kind"), "optimise");
    EXPECT_GE(line.at("gain").get<double>(), 1.1);
    if (!line.contains("constants")) continue;
    found = true;
    EXPECT_EQ(line.at("constants"), "tile = 128, stages = 3");
    EXPECT_EQ(line.at("kernel"), kernel_with(64, 2));
    EXPECT_EQ(line.at("target"), kernel_with(128, 3));
  }
  EXPECT_TRUE(found);
}

TEST_F(SearchPairsTest, MeasuredTimesAreComparedWithMeasuredOnes) {
  add(kernel_with(64, 2), 0, judged(20));
  add(kernel_with(64, 2), 1, judged(30, true));
  add(kernel_with(128, 2), 0, judged(10));
  EXPECT_TRUE(pairs_of_searches(file_, task_)->lines.empty());
  add(kernel_with(128, 2), 1, judged(25, true));
  ASSERT_EQ(pairs_of_searches(file_, task_)->lines.size(), 1u);
  EXPECT_NEAR(pairs_of_searches(file_, task_)->lines[0].at("gain").get<double>(), 1.2, 1e-9);
}

TEST_F(SearchPairsTest, NothingThatIsHeldOutComesOut) {
  add(kernel_with(64, 2), 0, judged(20));
  add(kernel_with(128, 2), 0, judged(10, false, "of a held-out task"));
  EXPECT_EQ(pairs_of_searches(file_, task_)->lines.size(), 1u);
  EXPECT_TRUE(pairs_of_searches(file_, task_, {1.1, {"of a held-out task"}})->lines.empty());
  task_.split = Split::holdout;
  EXPECT_FALSE(pairs_of_searches(file_, task_).ok());
}

TEST_F(SearchPairsTest, WhatIsNoRecordIsAnError) {
  EXPECT_FALSE(pairs_of_searches(file_, task_).ok()) << "nothing in it";
  EXPECT_FALSE(pairs_of_searches(folder_.path() / "none.db", task_).ok());
  ASSERT_TRUE(
      write_file_atomic(folder_.path() / "text.db", "no database at all, but longer than a header of one").ok());
  EXPECT_FALSE(pairs_of_searches(folder_.path() / "text.db", task_).ok());
  auto database = Database::open(file_).value();
  ASSERT_TRUE(database.execute("INSERT INTO search_verdicts VALUES (1, 'k', 0, 'no JSON')").ok());
  EXPECT_FALSE(pairs_of_searches(file_, task_).ok());
}

TEST_F(SearchPairsTest, TheStoreIsReadLikeAnyOther) {
  add(kernel_with(64, 2), 0, judged(20));
  add(kernel_with(128, 2), 0, judged(10));
  const auto store = folder_.path() / "store";
  ASSERT_TRUE(write_search_store(store, *pairs_of_searches(file_, task_)).ok());
  const auto shards = open_store(store);
  ASSERT_TRUE(shards.ok());
  ASSERT_EQ(shards->size(), 1u);
  EXPECT_EQ(read_shard(shards->front())->at(0).at("constants"), "tile = 128");
  EXPECT_FALSE(write_search_store(store, {}).ok()) << "nothing is written over";
}

TEST(ConstantsBetween, OnlyWhereNothingElseDiffers) {
  EXPECT_EQ(constants_between(kernel_with(64, 2), kernel_with(128, 2)), "tile = 128");
  EXPECT_EQ(constants_between(kernel_with(64, 2), kernel_with(64, 2)), "");
  EXPECT_EQ(constants_between(kernel_with(64, 2), kernel_with(128, 2, "y[0] = 1;")), "");
}

}  // namespace
}  // namespace kw
