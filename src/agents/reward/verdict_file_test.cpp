#include "kernel/judge/verdict_file.h"

#include <gtest/gtest.h>

#include <functional>

#include "agents/reward/reward.h"
#include "base/file.h"
#include "kernel/judge/test_verdict.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

TEST(VerdictFile, ReadsWhatTheJudgeWrites) {
  Random random(11);
  const RewardShape shape = *reward_shape("hardware");
  for (int i = 0; i < 200; ++i) {
    const Verdict verdict = random_verdict(random);
    if (verdict.status == VerdictStatus::internal_error) continue;
    const auto again = read_verdict_text(to_json(verdict).dump());
    ASSERT_TRUE(again.ok()) << to_string(again.error());
    EXPECT_EQ(to_json(*again).dump(), to_json(verdict).dump());
    EXPECT_EQ(to_json(reward_of(*again, shape)).dump(), to_json(reward_of(verdict, shape)).dump());
  }
}

TEST(VerdictFile, AcceptsALineOfABatch) {
  Json json{{"id", "job-1"}};
  const Json verdict = to_json(right_verdict());
  for (const auto& [key, value] : verdict.items()) json[key] = value;
  EXPECT_TRUE(read_verdict_text(json.dump()).ok());
}

TEST(VerdictFile, RefusesHostileTexts) {
  const std::string good = to_json(right_verdict()).dump();
  std::vector<std::string> bad{"",
                               "null",
                               "[]",
                               "{}",
                               "{\"status\": \"correct\"}",
                               good.substr(0, good.size() / 2),
                               good + good,
                               std::string(100'000, '['),
                               "{\"a\":" + std::string(100'000, '{'),
                               std::string("{\"a\":\"\0\"}", 9),
                               "{\"task\":\"\xff\xfe\"}",
                               "{\"a\":1,\"a\":2}",
                               std::string(max_verdict_bytes + 1, ' '),
                               "{\"a\":1e999}"};
  std::string many = "{\"flags\":[0";
  for (int i = 0; i < 30'000; ++i) many += ",0";
  bad.push_back(many + "]}");
  std::string wide = "{\"a0\":0";
  for (int i = 1; i < 100'000; ++i) wide += ",\"a" + std::to_string(i) + "\":0";
  bad.push_back(wide + "}");
  for (const std::string& text : bad) {
    const auto verdict = read_verdict_text(text);
    ASSERT_FALSE(verdict.ok()) << text.substr(0, 60);
    EXPECT_FALSE(verdict.error().message.empty());
  }
}

TEST(VerdictFile, RefusesNumbersAndContradictions) {
  const std::vector<std::pair<const char*, std::function<void(Json&)>>> changes{
      {"float line", [](Json& j) { j["hot_lines"][0]["line"] = 1e300; }},
      {"huge registers", [](Json& j) { j["resources"][0]["registers"] = 1LL << 40; }},
      {"negative spill", [](Json& j) { j["resources"][0]["spill_bytes"] = -1; }},
      {"float size", [](Json& j) { j["cases"][0]["size"]["n"] = 1.5e30; }},
      {"string line", [](Json& j) { j["hot_lines"][0]["line"] = "3"; }},
      {"correct but wrong", [](Json& j) { j["status"] = "wrong"; }},
      {"correct, not compiled", [](Json& j) { j["compiled"] = false; }},
      {"case fails", [](Json& j) { j["cases"][1]["ok"] = false; }},
      {"finding",
       [](Json& j) {
         j["findings"] = Json::array({{{"kind", "x"},
                                       {"severity", "error"},
                                       {"line", 1},
                                       {"column", 1},
                                       {"message", ""},
                                       {"advice", ""},
                                       {"kernel", ""},
                                       {"occurrences", 1}}});
       }},
      {"time 0", [](Json& j) { j["time_us"] = 0; }},
      {"speedup below 0", [](Json& j) { j["speedup_naive"] = -3; }},
      {"occupancy", [](Json& j) { j["resources"][0]["occupancy"] = 7; }},
      {"risk", [](Json& j) { j["risk"]["score"] = 2; }},
      {"status", [](Json& j) { j["status"] = "perfect"; }},
      {"list is object", [](Json& j) { j["flags"] = Json::object({{"a", 1}}); }},
      {"interval short", [](Json& j) { j["time_interval_us"] = Json::array({1}); }},
      {"cases text", [](Json& j) { j["cases"] = "none"; }}};
  for (const auto& [name, change] : changes) {
    Json json = to_json(right_verdict());
    change(json);
    EXPECT_FALSE(read_verdict_text(json.dump()).ok()) << name;
  }
}

TEST(VerdictFile, NamesTheFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "v.json";
  ASSERT_TRUE(write_file_atomic(path, "{").ok());
  EXPECT_EQ(read_verdict_file(path).error().where.file, path.string());
  EXPECT_FALSE(read_verdict_file(folder.path() / "none.json").ok());
}

}  // namespace
}  // namespace kw
