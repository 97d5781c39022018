#include "app/stages/gather_run.h"

#include <gtest/gtest.h>

#include "agents/episode/episode_store.h"
#include "base/file.h"

namespace kw {
namespace {

// The shipped tiny agents, cut short: what they say is no kernel yet, so nothing has to be compiled.
GatherArguments few_words(const std::filesystem::path& store) {
  GatherArguments arguments;
  arguments.store = store.string();
  arguments.model = "tiny";
  arguments.tasks = 2;
  arguments.first = 10;
  arguments.seed = 5;
  arguments.turns = 1;
  arguments.samples = 3;
  arguments.temperature = 1;
  arguments.answer_tokens = 8;
  arguments.judge = {.backend = "emulator", .profile = "h200", .workers = 1, .purpose = JudgePurpose::training};
  arguments.device = "cpu";
  arguments.threads = 1;
  return arguments;
}

std::vector<StoredSummary> stored(const std::filesystem::path& store) {
  return EpisodeStore::open(store).value()->list().value();
}

TEST(Gather, KeepsAConversationForEveryTaskAndCountsTheAnswers) {
  const TemporaryFolder folder;
  const auto result = gather(few_words(folder.path() / "store.db"));
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  EXPECT_EQ(result->at("conversations"), 2);
  EXPECT_EQ(result->at("answers"), 6);
  EXPECT_EQ(result->at("worked"), 0) << "eight tokens are no kernel";
  EXPECT_EQ(result->at("interrupted"), false);
  std::vector<std::int64_t> numbers;
  for (const StoredSummary& episode : stored(folder.path() / "store.db")) {
    numbers.push_back(episode.number);
    EXPECT_EQ(episode.turns, 1);
    EXPECT_NE(episode.end, EpisodeEnd::unfinished);
  }
  std::ranges::sort(numbers);
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{10, 11}));
}

TEST(Gather, GoesOnWithWhatIsMissing) {
  const TemporaryFolder folder;
  GatherArguments arguments = few_words(folder.path() / "store.db");
  const auto first = gather(arguments);
  ASSERT_TRUE(first.ok()) << to_string(first.error());
  arguments.tasks = 3;
  const auto more = gather(arguments);
  ASSERT_TRUE(more.ok()) << to_string(more.error());
  EXPECT_EQ(more->at("answers"), 9) << "those of before are counted, too";
  EXPECT_EQ(stored(folder.path() / "store.db").size(), 3u) << "no conversation is held twice";
}

TEST(Gather, SaysWhichAgentsAreMissing) {
  const TemporaryFolder folder;
  GatherArguments arguments = few_words(folder.path() / "store.db");
  arguments.model = "no such agents";
  const auto result = gather(arguments);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(to_string(result.error()).find("no such agents"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "store.db")) << "nothing was begun";
}

}  // namespace
}  // namespace kw
