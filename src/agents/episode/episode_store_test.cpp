#include "agents/episode/episode_store.h"

#include "agents/episode/episode_test_support.h"

namespace kw {
namespace {

EpisodeRequest request_of(std::uint64_t number, const std::string& kernel = "") {
  static const auto task = shared_task("row_sum");
  return {number, task, "", kernel};
}

TEST(EpisodeStore, WhatEndedIsReadAndNotDoneAgain) {
  TemporaryFolder folder;
  auto store = EpisodeStore::open(folder.path() / "store.db").value();
  EngineOptions options = engine_options();
  options.store = store.get();
  options.model = "a script";
  options.episode.samples = 2;
  const std::vector<EpisodeRequest> requests{request_of(1), request_of(2, RowSum().naive)};
  const auto first = Scripted(row_sum_script).run(requests, options);
  EXPECT_FALSE(first[0].from_store);

  store = EpisodeStore::open(folder.path() / "store.db").value();
  options.store = store.get();
  Scripted silent([](const auto&) { return "this must not be asked"; });
  const auto again = silent.run(requests, options);
  EXPECT_EQ(silent.decoder.steps, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(again[i].from_store);
    EXPECT_EQ(reproducible(again[i]), reproducible(first[i]));
  }
  const auto list = store->list().value();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].task, "row_sum");
  EXPECT_EQ(list[0].turns, 5);
  EXPECT_GT(*list[0].best_speedup, 5);

  // Another seed, model, task or option is another episode.
  options.episode.seed = 5;
  EXPECT_FALSE(Scripted(row_sum_script).run(requests, options)[0].from_store);
  options.model = "another";
  EXPECT_FALSE(Scripted(row_sum_script).run(requests, options)[0].from_store);
}

TEST(EpisodeStore, GoesOnAfterAnyTurn) {
  EngineOptions options = engine_options();
  options.model = "a script";
  const Episode undisturbed = Scripted(row_sum_script).run_one(request_of(0, RowSum().broken), options);
  for (std::size_t stop = 0; stop < undisturbed.turns.size(); ++stop) {
    TemporaryFolder folder;
    auto store = EpisodeStore::open(folder.path() / "store.db").value();
    options.store = store.get();
    {
      ScriptedDecoder decoder(test_dialect(), row_sum_script);
      Rollout rollout(decoder, &test_dialect().tokenizer());
      std::size_t turns = 0;
      EpisodeHooks hooks;
      hooks.on_turn = [&](const Episode&) { ++turns; };
      auto engine = EpisodeEngine::make(
          rollout, test_dialect(), test_judge(), [](AgentRole) { return 0; }, options, std::move(hooks));
      (*engine)->submit(request_of(0, RowSum().broken));
      while (turns < stop) ASSERT_TRUE((*engine)->advance().ok());
      for (int i = 0; i < 30; ++i) ASSERT_TRUE((*engine)->advance().ok());
    }
    const Episode resumed = Scripted(row_sum_script).run_one(request_of(0, RowSum().broken), options);
    EXPECT_GE(resumed.resumed, static_cast<std::int64_t>(stop));
    EXPECT_EQ(reproducible(resumed), reproducible(undisturbed));
  }
}

TEST(EpisodeStore, BytesThatAreNoTextAreKept) {
  TemporaryFolder folder;
  auto store = EpisodeStore::open(folder.path() / "store.db").value();
  ASSERT_TRUE(store->begin("one", request_of(1), "model").ok());
  Turn turn;
  turn.prompt = {1, 2, 3};
  turn.samples.emplace_back();
  turn.samples[0].text = std::string("\xff\0\x80 text", 8);
  turn.samples[0].tokens = {7, 8};
  turn.samples[0].log_probs = {-0.25f, -1e-30f};
  turn.samples[0].strategies = {Strategy::tiling, Strategy::atomics};
  turn.samples[0].predicted_correct = 0.125;
  turn.samples[0].finish = FinishReason::context;
  turn.samples[0].outcome = AnswerOutcome::not_text;
  ASSERT_TRUE(store->add_turn("one", turn).ok());
  const auto found = store->find("one");
  ASSERT_TRUE(found.ok()) << to_string(found.error());
  const TurnSample& sample = (*found)->turns.at(0).samples.at(0);
  EXPECT_EQ(sample.text, turn.samples[0].text);
  EXPECT_EQ(sample.tokens, turn.samples[0].tokens);
  EXPECT_EQ(sample.log_probs, turn.samples[0].log_probs);
  EXPECT_EQ(sample.strategies, turn.samples[0].strategies);
  EXPECT_EQ(sample.predicted_correct, 0.125);
  EXPECT_EQ(sample.finish, FinishReason::context);
  EXPECT_EQ(sample.outcome, AnswerOutcome::not_text);
  EXPECT_FALSE(store->find("two")->has_value());
  EXPECT_FALSE(store->add_turn("one", turn).ok()) << "a turn is taken once";
  EXPECT_FALSE(store->add_turn("two", turn).ok());
}

TEST(EpisodeStore, DamagedRowsAreErrors) {
  const std::vector<std::string> damage{"UPDATE samples SET tokens = x'010203'",
                                        "UPDATE samples SET log_probs = x''",
                                        "UPDATE samples SET outcome = 'splendid'",
                                        "UPDATE samples SET finish = ''",
                                        "UPDATE samples SET verdict = '{'",
                                        "UPDATE samples SET verdict = '[1]'",
                                        "UPDATE samples SET strategies = 'luck'",
                                        "UPDATE samples SET sample = 3",
                                        "DELETE FROM samples",
                                        "UPDATE turns SET turn = 2",
                                        "UPDATE turns SET role = 'king'",
                                        "UPDATE turns SET given_turn = 5",
                                        "UPDATE turns SET chosen = 9",
                                        "UPDATE episodes SET end = 'well'"};
  for (const std::string& sql : damage) {
    TemporaryFolder folder;
    auto store = EpisodeStore::open(folder.path() / "store.db").value();
    ASSERT_TRUE(store->begin("one", request_of(1), "model").ok());
    Turn turn;
    turn.samples.emplace_back();
    turn.samples[0].tokens = {7};
    turn.samples[0].log_probs = {-1};
    ASSERT_TRUE(store->add_turn("one", turn).ok());
    ASSERT_TRUE(store->find("one").ok());
    Database database = Database::open(folder.path() / "store.db").value();
    ASSERT_TRUE(database.execute(sql).ok()) << sql;
    EXPECT_FALSE(store->find("one").ok()) << sql;
  }
}

TEST(EpisodeStore, OneEpisodeAtATime) {
  TemporaryFolder folder;
  auto store = EpisodeStore::open(folder.path() / "store.db").value();
  EngineOptions options = engine_options();
  options.store = store.get();
  ScriptedDecoder decoder(test_dialect(), row_sum_script);
  Rollout rollout(decoder, &test_dialect().tokenizer());
  auto engine = EpisodeEngine::make(rollout, test_dialect(), test_judge(), [](AgentRole) { return 0; }, options);
  const auto twice = (*engine)->run({request_of(1), request_of(1)});
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.error().message.find("twice"), std::string::npos) << to_string(twice.error());
}

}  // namespace
}  // namespace kw
