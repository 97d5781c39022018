#include "base/run_log/run_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>
#include <limits>

#include "base/file.h"
#include "base/random.h"
#include "base/run_log/metric_lines.h"
#include "base/run_log/run_store.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

RunLogOptions options_for(const fs::path& runs, const std::string& name, std::int64_t resume_after_step = -1) {
  return {.folder = runs / name,
          .name = name,
          .kind = "sft",
          .configuration = {{"seed", 3}, {"sft", {{"steps", 10}}}},
          .resume_after_step = resume_after_step,
          .restart = false};
}

std::unique_ptr<RunLog> opened(const RunLogOptions& options) {
  auto log = RunLog::open(options);
  EXPECT_TRUE(log.ok()) << to_string(log.error());
  return log.ok() ? std::move(*log) : nullptr;
}

// What a deterministic run logs at a step.
Result<void> log_step(RunLog& log, std::int64_t step) {
  Random random(99, static_cast<std::uint64_t>(step));
  KW_TRY_VOID(log.metrics(step, {{"train/loss", random.uniform()}, {"train/lr", 1.0 / static_cast<double>(step + 1)}}));
  if (step % 3 == 0) KW_TRY_VOID(log.metrics(step, {{"eval/loss", random.normal()}}));
  if (step % 4 == 0) KW_TRY_VOID(log.text(step, "sample", "kernel of step " + std::to_string(step)));
  return {};
}

void expect_same_run(const fs::path& one_runs, const fs::path& other_runs, const std::string& name) {
  EXPECT_EQ(read_file(one_runs / name / "metrics.jsonl").value(),
            read_file(other_runs / name / "metrics.jsonl").value());
  auto one = RunStore::open(one_runs), other = RunStore::open(other_runs);
  ASSERT_TRUE(one.ok() && other.ok());
  const auto one_run = one->find(name).value(), other_run = other->find(name).value();
  ASSERT_TRUE(one_run && other_run);
  EXPECT_EQ(one_run->last_step, other_run->last_step);
  const auto names = one->metric_names(one_run->id).value();
  EXPECT_EQ(names, other->metric_names(other_run->id).value());
  for (const auto& metric : names)
    EXPECT_EQ(one->series(one_run->id, metric).value(), other->series(other_run->id, metric).value()) << metric;
  const auto texts = one->texts(one_run->id).value(), other_texts = other->texts(other_run->id).value();
  ASSERT_EQ(texts.size(), other_texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i].text, other_texts[i].text);
}

void undisturbed_run(const fs::path& runs, std::int64_t steps) {
  auto log = opened(options_for(runs, "night"));
  for (std::int64_t step = 0; step < steps; ++step) ASSERT_TRUE(log_step(*log, step).ok());
  ASSERT_TRUE(log->finish("done", {{"loss", 1.5}}).ok());
}

TEST(RunLog, KeepsWhatItIsTold) {
  const TemporaryFolder runs;
  {
    auto log = opened(options_for(runs.path(), "first"));
    ASSERT_TRUE(log->metrics(0, {{"train/loss", 0.1}, {"odd", std::nan("")}}).ok());
    ASSERT_TRUE(log->metrics(1, {{"train/loss", -std::numeric_limits<double>::infinity()}}).ok());
    ASSERT_TRUE(log->text(1, "sample", "two\nlines, \"quoted\", \xff").ok());
    EXPECT_TRUE(is_being_written(runs.path() / "first"));
    ASSERT_TRUE(log->finish("done", {{"best", 0.1}}).ok());
  }
  EXPECT_FALSE(is_being_written(runs.path() / "first"));
  auto store = RunStore::open(runs.path(), {.read_only = true});
  ASSERT_TRUE(store.ok());
  const auto all = store->list().value();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].status, "done");
  EXPECT_EQ(all[0].kind, "sft");
  EXPECT_EQ(all[0].last_step, 1);
  EXPECT_EQ(all[0].configuration["sft"]["steps"], 10);
  EXPECT_EQ(all[0].summary["best"], 0.1);
  EXPECT_GT(all[0].machine["cores"], 0);
  EXPECT_EQ(store->metric_names(all[0].id).value(), (std::vector<std::string>{"odd", "train/loss"}));
  const auto loss = store->series(all[0].id, "train/loss").value();
  EXPECT_EQ(loss, (MetricSeries{{0, 0.1}, {1, -std::numeric_limits<double>::infinity()}}));
  EXPECT_TRUE(std::isnan(store->series(all[0].id, "odd").value().at(0).second));
  EXPECT_EQ(store->texts(all[0].id).value().at(0).tag, "sample");
  EXPECT_TRUE(
      read_file(runs.path() / "first" / "metrics.jsonl")
          .value()
          .starts_with("{\"step\":0,\"train/loss\":0.1,\"odd\":\"nan\"}\n{\"step\":1,\"train/loss\":\"-inf\"}\n"));
  EXPECT_TRUE(fs::exists(runs.path() / "first" / "config.json"));
}

TEST(RunLog, RefusesWhatWouldMixRuns) {
  const TemporaryFolder runs;
  { auto log = opened(options_for(runs.path(), "night/sft")); }
  EXPECT_TRUE(fs::exists(runs.path() / "runs.db")) << "the store lies beside the first part of a name";
  EXPECT_FALSE(RunLog::open(options_for(runs.path(), "night/sft")).ok());
  fs::remove_all(runs.path() / "night");
  EXPECT_FALSE(RunLog::open(options_for(runs.path(), "night/sft")).ok()) << "the store knows it still";
  for (const char* name : {"", "..", "a/../b", "/a", "a/", ".hidden", "a b", "a\nb"})
    EXPECT_FALSE(RunLog::open(options_for(runs.path(), name)).ok()) << name;
  auto log = opened(options_for(runs.path(), "other"));
  EXPECT_FALSE(RunLog::open(options_for(runs.path(), "other", 0)).ok()) << "one writer at a time";
  EXPECT_FALSE(log->metrics(0, {{"", 1.0}}).ok());
  EXPECT_FALSE(log->metrics(0, {{"step", 1.0}}).ok());
}

TEST(RunLog, AResumedRunLogsWhatAnUndisturbedOneDoes) {
  const TemporaryFolder calm, resumed;
  undisturbed_run(calm.path(), 12);
  {
    auto log = opened(options_for(resumed.path(), "night"));
    for (int step = 0; step < 9; ++step) ASSERT_TRUE(log_step(*log, step).ok());
    ASSERT_TRUE(log->metrics(8, {{"only/here", 1.0}}).ok());
  }
  std::ofstream(resumed.path() / "night" / "metrics.jsonl", std::ios::app) << R"({"step":2,"torn)";
  {
    auto log = opened(options_for(resumed.path(), "night", 4));
    for (int step = 5; step < 12; ++step) ASSERT_TRUE(log_step(*log, step).ok());
    ASSERT_TRUE(log->finish("done", {}).ok());
  }
  expect_same_run(calm.path(), resumed.path(), "night");
}

TEST(RunLog, ARunWithoutACheckpointStartsAgain) {
  const TemporaryFolder calm, resumed;
  undisturbed_run(calm.path(), 5);
  undisturbed_run(resumed.path(), 3);
  RunLogOptions again = options_for(resumed.path(), "night");
  EXPECT_FALSE(RunLog::open(again).ok());
  again.restart = true;
  auto log = opened(again);
  for (int step = 0; step < 5; ++step) ASSERT_TRUE(log_step(*log, step).ok());
  expect_same_run(calm.path(), resumed.path(), "night");
}

TEST(RunLog, ALostStoreIsMadeFromTheLines) {
  const TemporaryFolder calm, resumed;
  undisturbed_run(calm.path(), 12);
  undisturbed_run(resumed.path(), 7);
  for (const char* file : {"runs.db", "runs.db-wal", "runs.db-shm"}) fs::remove(resumed.path() / file);
  auto log = opened(options_for(resumed.path(), "night", 4));
  for (int step = 5; step < 12; ++step) ASSERT_TRUE(log_step(*log, step).ok());
  ASSERT_TRUE(log->finish("done", {}).ok());
  expect_same_run(calm.path(), resumed.path(), "night");
}

TEST(RunLog, SurvivesKillsAtAnyMoment) {
  constexpr std::int64_t steps = 60;
  const TemporaryFolder calm, killed;
  undisturbed_run(calm.path(), steps);
  Random random(5);
  std::int64_t done = -1;  // as a checkpoint would know it
  for (int round = 0; done + 1 < steps; ++round) {
    ASSERT_LT(round, 1000);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto log = RunLog::open(options_for(killed.path(), "night", done));
      if (!log.ok()) _exit(1);
      for (std::int64_t step = done + 1; step < steps; ++step) {
        if (!log_step(**log, step).ok()) _exit(1);
        if (write(ends[1], &step, sizeof step) != sizeof step) _exit(1);
      }
      (void)(*log)->finish("done", {}).ok();
      _exit(0);
    }
    close(ends[1]);
    const int reports = static_cast<int>(random.integer(1, 8));
    std::int64_t reported = -1;
    for (int i = 0; i < reports && read(ends[0], &reported, sizeof reported) > 0; ++i) done = reported;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ends[0]);
    ASSERT_GE(done, 0);
  }
  { auto log = opened(options_for(killed.path(), "night", steps - 1)); }
  expect_same_run(calm.path(), killed.path(), "night");
}

TEST(RunLog, AHostileStoreGivesErrorsOrNothing) {
  const TemporaryFolder runs;
  undisturbed_run(runs.path(), 3);
  {
    auto database = Database::open(runs.path() / "runs.db");
    ASSERT_TRUE(database->execute("UPDATE runs SET configuration = '" + std::string(100'000, '[') + "'").ok());
  }
  auto store = RunStore::open(runs.path());
  EXPECT_TRUE(store->list().value().at(0).configuration.is_null());
  ASSERT_TRUE(write_file_atomic(runs.path() / "runs.db", "not a database, for sure, whatever it is").ok());
  EXPECT_FALSE(RunStore::open(runs.path()).ok());
  EXPECT_FALSE(RunLog::open(options_for(runs.path(), "new")).ok());
}

}  // namespace
}  // namespace kw
