#include "learn/data/store.h"

#include <gtest/gtest.h>

#include <fstream>

#include "agents/grammar/mutation.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/test_length.h"
#include "kernel/task/task_file.h"
#include "kernel/task/task_json.h"
#include "learn/data/leaks.h"
#include "learn/data/trial.h"

namespace kw {
namespace {

CompileService& test_service() {
  static CompileService service;
  return service;
}

JudgeOptions test_options() {
  JudgeOptions options;
  options.profile = load_profile("h200").value();
  options.secret = "a secret for tests";
  options.cache = false;
  return options;
}

StoreOptions store_options(const std::filesystem::path& folder, std::uint64_t tasks) {
  StoreOptions options;
  options.folder = folder;
  options.stream.seed = 11;
  options.stream.families = {Family::elementwise};
  options.tasks = tasks;
  options.shard_tasks = 2;
  options.mutants = 2;
  options.show_progress = false;
  return options;
}

TEST(Mutation, HasTwentyKindsAndChangesTheText) {
  EXPECT_GE(mutation_kinds().size(), 20u);
  StreamOptions options;
  options.seed = 5;
  const ExampleStream stream(options);
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::string kernel = stream.example_at(i).kernel;
    Random random(1, i);
    const auto mutant = mutate(kernel, random);
    ASSERT_TRUE(mutant.has_value());
    EXPECT_NE(mutant->kernel, kernel);
    seen.insert(mutant->kind);
    Random again(1, i);
    EXPECT_EQ(mutate(kernel, again)->kernel, mutant->kernel);
  }
  EXPECT_GE(seen.size(), 12u);
}

TEST(StoreSlow, KeepsWhatTheJudgeSaysAndIsTheSameAfterAKill) {
  const TemporaryFolder whole, stopped;
  const auto summary = make_store(test_service(), test_options(), store_options(whole.path(), 3));
  ASSERT_TRUE(summary.ok()) << to_string(summary.error());
  EXPECT_EQ(summary->tasks, 3u);
  EXPECT_GT(summary->kept.at("generate"), 3u);
  EXPECT_EQ(summary->written, summary->right);
  EXPECT_GE(summary->written, summary->kept.at("generate"));
  EXPECT_EQ(summary->pairs.count({"elementwise", "vectorised"}), 1u);
  const auto shards = open_store(whole.path());
  ASSERT_TRUE(shards.ok());
  ASSERT_EQ(shards->size(), 2u);
  for (const Shard& shard : *shards) {
    const auto lines = read_shard(shard);
    ASSERT_TRUE(lines.ok());
    for (const auto& line : *lines) {
      EXPECT_TRUE(parse_task(line.at("task").dump(), "store").ok());
      EXPECT_TRUE(line.contains("seed") && line.contains("index") && line.contains("fingerprint"));
      if (line.at("kind") == "repair") {
        EXPECT_NE(line.at("verdict").at("status"), "correct");
        EXPECT_NE(line.at("kernel"), line.at("target"));
      }
      if (line.at("kind") == "optimise") {
        EXPECT_GE(line.at("gain").get<double>(), 1.1);
      }
    }
  }
  // Nothing of it is held out; a line that says so of itself, or a size that is, would be found.
  LeakOptions leak_options;
  leak_options.held_out_tasks = 400;
  const auto clean = check_leaks(whole.path(), leak_options);
  ASSERT_TRUE(clean.ok()) << to_string(clean.error());
  EXPECT_EQ(clean->leaks_found, 0u) << clean->leaks.front();
  EXPECT_GT(clean->examples, 9u);
  leak_options.held_out_code.insert(read_shard(shards->front())->front().at("ptx_fingerprint").get<std::string>());
  EXPECT_GT(check_leaks(whole.path(), leak_options)->leaks_found, 0u);
  // One task done, and a line that was being written: what a kill leaves.
  auto options = store_options(stopped.path(), 1);
  options.shard_tasks = 2;
  ASSERT_TRUE(make_store(test_service(), test_options(), options).ok());
  std::filesystem::remove(stopped.path() / "shard-00000.json");
  std::filesystem::remove(stopped.path() / "shard-00000.jsonl");
  std::ofstream(stopped.path() / "shard-00000.part") << R"({"index": 0, "exam)";
  ASSERT_TRUE(make_store(test_service(), test_options(), store_options(stopped.path(), 3)).ok());
  for (const char* file : {"shard-00000.jsonl", "shard-00001.jsonl"})
    EXPECT_TRUE(read_file(whole.path() / file).value() == read_file(stopped.path() / file).value()) << file;
  // Done is done, and a flipped byte is seen.
  const auto again = make_store(test_service(), test_options(), store_options(whole.path(), 3));
  EXPECT_EQ(again->tasks, 0u);
  EXPECT_EQ(again->tasks_known, 3u);
  {
    std::fstream file(whole.path() / "shard-00000.jsonl", std::ios::in | std::ios::out);
    file.seekp(40);
    file << "?";
  }
  EXPECT_FALSE(read_shard(open_store(whole.path())->front()).ok());
  options = store_options(whole.path(), 3);
  options.stream.seed = 12;
  EXPECT_FALSE(make_store(test_service(), test_options(), options).ok()) << "another stream";
}

// Stores that were tampered with, or made for evaluation, do not pass as training data.
TEST(Leaks, AreFoundInWhatALineSays) {
  StreamOptions train, composition;
  train.seed = composition.seed = 11;
  composition.split = DataSplit::composition;
  const auto leaks_of = [&](const StreamOptions& options, const char* said, const char* structure) {
    const TemporaryFolder folder;
    const DrawnTask drawn = ExampleStream(options).task_at(0);
    nlohmann::ordered_json line{{"kind", "generate"},
                                {"seed", 11},
                                {"index", 0},
                                {"split", said},
                                {"structure", structure == nullptr ? drawn.structure : structure},
                                {"task", task_json(drawn.task)}};
    const std::string text = line.dump() + "\n";
    EXPECT_TRUE(write_file_atomic(folder.path() / "shard-00000.jsonl", text).ok());
    const nlohmann::ordered_json description{{"sha256", sha256_hex(text)}};
    EXPECT_TRUE(write_file_atomic(folder.path() / "shard-00000.json", description.dump()).ok());
    const char* store = R"({"seed": 11, "split": "train", "families": []})";
    EXPECT_TRUE(write_file_atomic(folder.path() / "store.json", store).ok());
    LeakOptions leak_options;
    leak_options.held_out_tasks = 200;
    const auto report = check_leaks(folder.path(), leak_options);
    EXPECT_TRUE(report.ok());
    return report->leaks_found + report->tasks_not_drawn;
  };
  EXPECT_EQ(leaks_of(train, "train", nullptr), 0u);
  EXPECT_GT(leaks_of(train, "composition", nullptr), 0u);
  EXPECT_GT(leaks_of(train, "train", "softmax|full0;result1;"), 0u) << "not the task's structure";
  EXPECT_GT(leaks_of(composition, "train", nullptr), 1u) << "a held-out task that says it is none";
}

// Where one element is far above the others the answer is the logarithm alone.
TEST(WritersSlow, LogSoftmaxKeepsASmallLogarithmBesideALargeMaximum) {
  Judge judge(test_service(), test_options());
  StreamOptions options;
  options.seed = 62;
  const ExampleStream stream(options);
  const DrawnTask drawn = stream.task_at(31);
  ASSERT_EQ(drawn.problem.family, Family::log_softmax);
  const Verdict verdict = judge.judge(drawn.task, stream.kernel_for(drawn, Level::naive, 1), "naive");
  EXPECT_TRUE(verdict.correct) << verdict.summary;
}

// The share that the writers promise: 98 % of what they write is right.
TEST(WritersSlow, AreRightOverAllFamiliesAndLevels) {
  Judge judge(test_service(), test_options());
  int judged = 0, correct = 0;
  std::string failures;
  for (const DataSplit split : {DataSplit::train, DataSplit::novel}) {
    TrialOptions options;
    options.stream.seed = 3;
    options.stream.split = split;
    options.count = (split == DataSplit::train ? 40 : 10) / (thorough_tests() ? 1 : 3);
    options.workers = 2;
    options.show_progress = false;
    const TrialReport report = run_trial(judge, options);
    judged += report.judged;
    correct += report.correct;
    for (const TrialFailure& each : report.failures)
      failures += each.family + " " + each.level + " " + std::to_string(each.index) + ": " + each.summary + "\n";
  }
  EXPECT_GE(correct, judged * 98 / 100) << failures;
}

}  // namespace
}  // namespace kw
