#include "agents/search/search_page.h"

#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include "agents/search/search_test_support.h"

namespace kw {
namespace {

SearchOutcome searched(SearchOptions& options) {
  options.operators = {SearchOperator::constants};
  options.verdicts = 40;
  LandscapeScorer scorer;
  const auto record = SearchRecord::in_memory();
  Search search({9, "bytes that have to be moved"}, options, scorer, nullptr, *record);
  return search
      .run({{SearchOperator::given, -1, "", landscape_kernel(32, 64, "/* <script>alert(1)</script> */ y[0] = tile;")}})
      .value();
}

TEST(SearchPage, ShowsBestLimitAndWhoFoundIt) {
  SearchOptions options;
  const SearchOutcome outcome = searched(options);
  const std::string page = search_page(suite_task("row_sum"), outcome, options, {{"judge", "a landscape"}});
  for (const char* part : {"Best time", "limit of the device", "of what the device allows", "Who proposed what",
                           "The population", "constants", "a landscape", "<svg"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
}

TEST(SearchPage, WithoutARightKernelThereIsStillAPage) {
  SearchOutcome nothing;
  EXPECT_NE(search_page(suite_task("row_sum"), nothing, {}, {}).find("none"), std::string::npos);
  EXPECT_TRUE(to_json(nothing)["best"].is_null());
}

TEST(SearchPage, JsonHasEveryKernelAndTheCurve) {
  SearchOptions options;
  const SearchOutcome outcome = searched(options);
  const auto json = to_json(outcome);
  EXPECT_EQ(json["candidates"].size(), 40u);
  EXPECT_EQ(json["end"], "verdicts");
  EXPECT_EQ(json["gains"].size(), outcome.gains.size());
  EXPECT_DOUBLE_EQ(json["best"]["time_us"].get<double>(), outcome.gains.back().us);
  EXPECT_DOUBLE_EQ(json["best"]["share_of_limit"].get<double>(), 9 / outcome.gains.back().us);
  EXPECT_EQ(json["operators"]["constants"]["verdicts"], 39);
}

TEST(SearchPage, SaysWhereAKernelComesFrom) {
  Candidate candidate;
  candidate.proposal = {SearchOperator::constants, 3, "tile 64 -> 128", ""};
  EXPECT_EQ(origin_text(candidate), "tile 64 -> 128 of kernel 3");
  candidate.proposal = {SearchOperator::generator, -1, "shared", ""};
  EXPECT_EQ(origin_text(candidate), "generator (shared)");
  candidate.proposal = {SearchOperator::optimizer, 0, "", ""};
  EXPECT_EQ(origin_text(candidate), "optimizer of kernel 0");
}

}  // namespace
}  // namespace kw
