#include "agents/episode/episode_store_size.h"

#include <gtest/gtest.h>

#include "agents/episode/episode_store.h"
#include "base/database/database_size.h"
#include "base/file.h"

namespace kw {
namespace {

Turn big_turn() {
  Turn turn;
  TurnSample sample;
  sample.text = std::string(100'000, 'x');
  turn.samples.push_back(sample);
  return turn;
}

TEST(EpisodeStoreSize, EndedEpisodesGoTheOldestFirst) {
  TemporaryFolder folder;
  const auto file = folder.path() / "episodes.db";
  const auto store = EpisodeStore::open(file).value();
  Episode ended;
  ended.end = EpisodeEnd::turns;
  for (int i = 0; i < 100; ++i) {
    const std::string identity = "episode-" + std::to_string(i);
    EpisodeRequest request;
    request.task = std::make_shared<const Task>();
    ASSERT_TRUE(store->begin(identity, request, "a model").ok());
    ASSERT_TRUE(store->add_turn(identity, big_turn()).ok());
    if (i == 0) continue;  // the first goes on
    ASSERT_TRUE(store->finish(identity, ended).ok());
  }
  EXPECT_EQ(forget_ended_episodes(file, 1u << 30).value(), 0);
  const std::int64_t forgotten = forget_ended_episodes(file, 5u << 20).value();
  EXPECT_GE(forgotten, 50);
  EXPECT_LT(forgotten, 99);
  auto database = Database::open(file).value();
  EXPECT_LE(used_bytes(database).value(), 5u << 20);
  EXPECT_TRUE(store->find("episode-0").value());
  EXPECT_FALSE(store->find("episode-1").value());
  EXPECT_TRUE(store->find("episode-99").value());
  // Even where nothing may stay, what is not over does.
  EXPECT_EQ(forget_ended_episodes(file, 0).value(), 99 - forgotten);
  EXPECT_EQ(store->list().value().size(), 1u);
}

TEST(EpisodeStoreSize, AFileThatIsNoneIsAnError) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder.path() / "episodes.db", std::string(5000, 'x')));
  EXPECT_FALSE(forget_ended_episodes(folder.path() / "episodes.db", 0).ok());
}

}  // namespace
}  // namespace kw
