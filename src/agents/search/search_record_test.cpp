#include "agents/search/search_record.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace kw {
namespace {

std::shared_ptr<const Verdict> verdict(double us, VerdictStatus status = VerdictStatus::correct) {
  Verdict made;
  made.status = status;
  made.correct = status == VerdictStatus::correct;
  made.time_us = us;
  made.limiter = "dram bandwidth";
  return std::make_shared<const Verdict>(std::move(made));
}

std::unique_ptr<SearchRecord> opened(const std::filesystem::path& file, const std::string& identity) {
  auto record = SearchRecord::open(file, identity, "softmax");
  EXPECT_TRUE(record.ok()) << to_string(record.error());
  return std::move(record).value();
}

TEST(SearchRecord, KeepsWhatWasPaidFor) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "search.db";
  const AnsweredKernels answers{{"a kernel", ""}, {}, {"\"quoted\"\n\x01"}};
  {
    const auto record = opened(file, "one");
    ASSERT_TRUE(record->add_answers("questions", answers).ok());
    ASSERT_TRUE(record->add_looks({"kernel", "other"}, {{"code", 0.1 + 0.2, 1e12}, {"", 0, 0}}).ok());
    ASSERT_TRUE(record->add_verdict("kernel", 0, verdict(0.1 + 0.2)).ok());
    ASSERT_TRUE(record->add_verdict("kernel", 2, verdict(7)).ok());
    ASSERT_TRUE(record->end_round(0, 1.5).ok());
    ASSERT_TRUE(record->end_round(1, 4).ok());
    ASSERT_TRUE(record->note_seconds(5).ok());
  }
  const auto record = opened(file, "one");
  ASSERT_NE(record->answers("questions"), nullptr);
  EXPECT_EQ(*record->answers("questions"), answers);
  EXPECT_EQ(record->answers("others"), nullptr);
  EXPECT_EQ(*record->look("kernel"), (KernelLook{"code", 0.1 + 0.2, 1e12})) << "to the last bit";
  EXPECT_EQ(*record->look("other"), KernelLook());
  EXPECT_EQ(record->look("third"), nullptr);
  EXPECT_EQ(record->verdict("kernel", 0)->time_us, 0.1 + 0.2) << "to the last bit";
  EXPECT_EQ(record->verdict("kernel", 0)->limiter, "dram bandwidth");
  EXPECT_EQ(record->verdict("kernel", 1), nullptr);
  EXPECT_EQ(record->verdict("kernel", 2)->time_us, 7);
  EXPECT_EQ(record->rounds(), 2);
  EXPECT_EQ(record->seconds_at(1), 4);
  EXPECT_FALSE(record->seconds_at(2));
  EXPECT_EQ(record->seconds(), 5);
}

TEST(SearchRecord, SearchesOfOneFileAreApart) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "search.db";
  ASSERT_TRUE(opened(file, "one")->add_verdict("kernel", 0, verdict(1)).ok());
  ASSERT_TRUE(opened(file, "two")->add_verdict("kernel", 0, verdict(2)).ok());
  EXPECT_EQ(opened(file, "one")->verdict("kernel", 0)->time_us, 1);
  EXPECT_EQ(opened(file, "two")->verdict("kernel", 0)->time_us, 2);
  EXPECT_EQ(opened(file, "three")->verdict("kernel", 0), nullptr);
}

TEST(SearchRecord, AFaultOfTheJudgeIsNotKept) {
  const auto record = SearchRecord::in_memory();
  ASSERT_TRUE(record->add_verdict("kernel", 0, verdict(1, VerdictStatus::internal_error)).ok());
  EXPECT_EQ(record->verdict("kernel", 0), nullptr);
}

TEST(SearchRecord, ADamagedOneIsAnError) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "search.db";
  ASSERT_TRUE(opened(file, "one")->add_answers("questions", {{"kernel"}}).ok());
  for (const char* damage : {"UPDATE search_answers SET kernels = '{'", "UPDATE search_answers SET kernels = '[7]'",
                             "INSERT INTO search_verdicts VALUES (1, 'kernel', 0, 'no JSON')",
                             "INSERT INTO search_rounds VALUES (1, 4, 1.0)"}) {
    const auto copy = folder.path() / "damaged.db";
    std::filesystem::remove(copy);
    {
      auto database = Database::open(file).value();
      ASSERT_TRUE(database.checkpoint().ok());
    }
    std::filesystem::copy_file(file, copy);
    {
      auto database = Database::open(copy).value();
      ASSERT_TRUE(database.execute(damage).ok()) << damage;
    }
    EXPECT_FALSE(SearchRecord::open(copy, "one", "softmax").ok()) << damage;
  }
}

}  // namespace
}  // namespace kw
