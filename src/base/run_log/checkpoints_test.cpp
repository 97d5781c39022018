#include "base/run_log/checkpoints.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>

#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Content that tells the step it belongs to, so that a mixture of two checkpoints would be seen.
std::string content_of(std::int64_t step, int file) {
  Random random(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(file));
  std::string bytes(static_cast<std::size_t>(random.integer(0, 60'000)), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.next());
  return bytes;
}

Result<void> write_content(const fs::path& folder, std::int64_t step) {
  fs::create_directories(folder / "optimizer");
  for (int file = 0; file < 3; ++file) {
    const fs::path path = file == 0 ? folder / "weights" : folder / "optimizer" / std::to_string(file);
    std::ofstream(path, std::ios::binary) << content_of(step, file);
  }
  return {};
}

Result<Checkpoint> save(Checkpoints& checkpoints, std::int64_t step, std::optional<double> score = {}) {
  return checkpoints.save(step, score, {{"epoch", step / 10}},
                          [step](const fs::path& folder) { return write_content(folder, step); });
}

void expect_content(const Checkpoint& checkpoint) {
  EXPECT_EQ(checkpoint.facts["epoch"], checkpoint.step / 10);
  EXPECT_EQ(read_file(checkpoint.folder / "weights").value(), content_of(checkpoint.step, 0));
  EXPECT_EQ(read_file(checkpoint.folder / "optimizer" / "2").value(), content_of(checkpoint.step, 2));
}

std::vector<std::int64_t> steps_of(const Checkpoints& checkpoints) {
  std::vector<std::int64_t> steps;
  const auto whole = checkpoints.list().value();
  for (const auto& one : whole) steps.push_back(one.step);
  return steps;
}

void flip_a_byte(const fs::path& path, std::size_t position) {
  std::string bytes = read_file(path).value();
  ASSERT_LT(position, bytes.size());
  bytes[position] = static_cast<char>(bytes[position] ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
}

using Steps = std::vector<std::int64_t>;

TEST(Checkpoints, NoneAtFirstThenTheNewest) {
  const TemporaryFolder folder;
  auto checkpoints = Checkpoints::open(folder.path() / "run" / "checkpoints").value();
  EXPECT_FALSE(checkpoints.latest().value().has_value());
  EXPECT_FALSE(checkpoints.best().value().has_value());
  ASSERT_TRUE(save(checkpoints, 0).ok());
  const auto saved = save(checkpoints, 25, 0.5);
  ASSERT_TRUE(saved.ok());
  const auto latest = checkpoints.latest().value();
  ASSERT_TRUE(latest.has_value());
  EXPECT_EQ(latest->step, 25);
  EXPECT_EQ(latest->score, 0.5);
  EXPECT_EQ(latest->folder, saved->folder);
  expect_content(*latest);
}

TEST(Checkpoints, KeepsTheLastAndTheBest) {
  const TemporaryFolder folder;
  auto checkpoints = Checkpoints::open(folder.path(), {.keep_last = 2}).value();
  const std::array<double, 6> scores = {0.1, 0.9, 0.3, std::nan(""), 0.9, 0.2};
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(save(checkpoints, i * 10, scores[static_cast<std::size_t>(i)]).ok());
  EXPECT_EQ(steps_of(checkpoints), (Steps{10, 40, 50}));
  EXPECT_EQ(checkpoints.best().value()->step, 10);  // the first that got there
  ASSERT_TRUE(save(checkpoints, 60, 1.5).ok());
  EXPECT_EQ(steps_of(checkpoints), (Steps{50, 60}));

  auto without_best = Checkpoints::open(folder.path(), {.keep_last = 1, .keep_best = false}).value();
  ASSERT_TRUE(save(without_best, 70, 0.0).ok());
  EXPECT_EQ(steps_of(without_best), (Steps{70}));
}

TEST(Checkpoints, ADamagedOneIsPassedOver) {
  for (const char* file : {"weights", "optimizer/1", "manifest.json", "manifest.sum"}) {
    const TemporaryFolder folder;
    auto checkpoints = Checkpoints::open(folder.path(), {.keep_last = 3}).value();
    ASSERT_TRUE(save(checkpoints, 1, 0.1).ok());
    const auto newest = save(checkpoints, 2, 0.2);
    flip_a_byte(newest->folder / file, 5);
    EXPECT_EQ(checkpoints.latest().value()->step, 1) << file;
    EXPECT_EQ(checkpoints.best().value()->step, 1) << file;
    // Saving the step again heals it.
    ASSERT_TRUE(save(checkpoints, 2, 0.2).ok());
    EXPECT_EQ(checkpoints.latest().value()->step, 2) << file;
    expect_content(*checkpoints.latest().value());
  }
}

// A run must not begin again, over what it has logged, because nobody looked at its disk.
TEST(Checkpoints, WhereAllAreDamagedAPersonDecides) {
  const TemporaryFolder folder;
  auto checkpoints = Checkpoints::open(folder.path()).value();
  for (const int step : {1, 2}) flip_a_byte(save(checkpoints, step)->folder / "weights", 5);
  const auto latest = checkpoints.latest();
  ASSERT_FALSE(latest.ok());
  EXPECT_NE(latest.error().message.find("are damaged"), std::string::npos);
  ASSERT_TRUE(save(checkpoints, 3).ok());
  EXPECT_EQ(checkpoints.latest().value()->step, 3);
}

TEST(Checkpoints, ATruncatedOrMissingFileIsNoticed) {
  const TemporaryFolder folder;
  auto checkpoints = Checkpoints::open(folder.path(), {.keep_last = 5}).value();
  for (int step = 1; step <= 4; ++step) ASSERT_TRUE(save(checkpoints, step).ok());
  fs::resize_file(folder.path() / "step-000000004" / "weights", 3);
  fs::remove(folder.path() / "step-000000003" / "optimizer" / "2");
  // A link to the same bytes is not the file that was saved.
  const fs::path replaced = folder.path() / "step-000000002" / "weights";
  fs::rename(replaced, folder.path() / "elsewhere");
  fs::create_symlink(folder.path() / "elsewhere", replaced);
  EXPECT_EQ(checkpoints.latest().value()->step, 1);
}

TEST(Checkpoints, GoingBackRemovesTheFuture) {
  const TemporaryFolder folder;
  auto checkpoints = Checkpoints::open(folder.path(), {.keep_last = 1}).value();
  ASSERT_TRUE(save(checkpoints, 100, 9.0).ok());
  ASSERT_TRUE(save(checkpoints, 60, 0.1).ok());
  EXPECT_EQ(steps_of(checkpoints), (Steps{60}));
}

TEST(Checkpoints, AFailedSaveChangesNothing) {
  const TemporaryFolder folder;
  auto checkpoints = Checkpoints::open(folder.path()).value();
  ASSERT_TRUE(save(checkpoints, 1).ok());
  const auto failed = checkpoints.save(2, {}, {}, [](const fs::path& path) -> Result<void> {
    std::ofstream(path / "half") << "half";
    return Error{"the disk is full", "make room", {}};
  });
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("step 2: the disk is full"), std::string::npos);
  EXPECT_EQ(checkpoints.latest().value()->step, 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(Checkpoints, WhatAnotherProcessIsSavingIsLeftAlone) {
  const TemporaryFolder folder;
  auto checkpoints = Checkpoints::open(folder.path()).value();
  const auto saved = checkpoints.save(1, {}, {}, [&](const fs::path& inner) -> Result<void> {
    auto reader = Checkpoints::open(folder.path());
    EXPECT_TRUE(reader.ok());
    EXPECT_TRUE(fs::exists(inner));
    return write_content(inner, 1);
  });
  EXPECT_TRUE(saved.ok());
}

TEST(Checkpoints, HostileManifestsAreRefused) {
  const TemporaryFolder folder;
  auto checkpoints = Checkpoints::open(folder.path()).value();
  ASSERT_TRUE(save(checkpoints, 0).ok());
  const std::string row = R"("bytes": 1, "checksum": "0000000000000000"}]})";
  const std::vector<std::string> texts = {"",
                                          "[]",
                                          "{}",
                                          std::string(1u << 20, '['),
                                          R"({"about": 3, "files": []})",
                                          R"({"about": {"step": 1}, "files": {}})",
                                          R"({"about": {"step": 7, "facts": {}}, "files": []})",
                                          R"({"about": {}, "files": [{"name": "../../etc/passwd", )" + row,
                                          R"({"about": {}, "files": [{"name": "/etc/passwd", )" + row,
                                          R"({"about": {}, "files": [{"name": 4, )" + row};
  for (const auto& text : texts) {
    const fs::path one = folder.path() / "step-000000001";
    fs::remove_all(one);
    fs::create_directories(one);
    std::ofstream(one / "manifest.json") << text;
    std::ofstream(one / "manifest.sum") << fmt::format("{:016x}\n", checksum64(text));
    const auto latest = checkpoints.latest();
    ASSERT_TRUE(latest.ok() && latest->has_value());
    EXPECT_EQ((*latest)->step, 0) << text.substr(0, 60);
  }
}

// A process that saves without end is killed at random moments: what it reported as saved is there, whole.
TEST(Checkpoints, SurviveKillsAtAnyMoment) {
  const TemporaryFolder folder;
  Random random(11);
  std::int64_t first = 0;
  for (int round = 0; round < 25; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto checkpoints = Checkpoints::open(folder.path());
      if (!checkpoints.ok()) _exit(1);
      // Every second step is saved twice, so that kills also hit replacing.
      for (std::int64_t step = first;; ++step)
        for (int time = 0; time <= step % 2; ++time) {
          if (!save(*checkpoints, step, static_cast<double>(step % 7)).ok()) _exit(1);
          if (write(ends[1], &step, sizeof step) != sizeof step) _exit(1);
        }
    }
    close(ends[1]);
    std::int64_t reported = -1;
    ASSERT_EQ(read(ends[0], &reported, sizeof reported), static_cast<ssize_t>(sizeof reported));
    usleep(static_cast<useconds_t>(random.integer(0, 30'000)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(ends[0], &reported, sizeof reported) == static_cast<ssize_t>(sizeof reported)) {
    }
    close(ends[0]);
    auto checkpoints = Checkpoints::open(folder.path()).value();
    const auto latest = checkpoints.latest().value();
    ASSERT_TRUE(latest.has_value());
    EXPECT_GE(latest->step, reported);
    EXPECT_LE(latest->step, reported + 1);
    expect_content(*latest);
    expect_content(*checkpoints.best().value());
    for (const auto& entry : fs::directory_iterator(folder.path()))
      EXPECT_TRUE(entry.path().filename().string().starts_with("step-")) << entry.path();
    first = latest->step + 1;
  }
}

}  // namespace
}  // namespace kw
