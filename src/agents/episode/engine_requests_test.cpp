// Episodes of different users in one engine: options, hooks, cancelling, others' requests, a shared pool of judges.

#include <algorithm>
#include <semaphore>

#include "agents/episode/episode_engine.h"
#include "agents/episode/episode_test_support.h"

namespace kw {
namespace {

using namespace std::chrono_literals;

EpisodeRequest row_sum_request(std::uint64_t number, const std::string& kernel = "") {
  static const auto task = shared_task("row_sum");
  return {number, task, "", kernel};
}

EpisodeOptions with_turns(int turns, std::uint64_t seed = 0) {
  EpisodeOptions options = engine_options().episode;
  options.turns = turns;
  options.seed = seed;
  return options;
}

// Lets no judgement begin until it is told to.
struct Gate {
  std::counting_semaphore<> arrived{0}, open{0};
  JudgePoolOptions options() {
    return {.workers = 1, .on_begin = [this] {
              arrived.release();
              open.acquire();
            }};
  }
};

// An engine on a pool that is not its own.
struct Shared {
  explicit Shared(ScriptedDecoder::Script script, JudgePoolOptions judging = {.workers = 2},
                  EngineOptions options = engine_options())
      : decoder(test_dialect(), std::move(script)),
        rollout(decoder, &test_dialect().tokenizer()),
        judges(test_judge(), std::move(judging)) {
    options.on_other_result = [this](GenerationResult result) { others.push_back(std::move(result)); };
    const auto adapter_of = [](AgentRole role) { return role == AgentRole::generator ? 0 : 1; };
    engine = EpisodeEngine::make(rollout, test_dialect(), judges, adapter_of, std::move(options)).value();
  }

  std::uint64_t submit(EpisodeRequest request, EpisodeOptions options, EpisodeHooks hooks = {}) {
    return engine->submit(std::move(request), std::move(options), std::move(hooks)).value();
  }
  void advance() {
    const auto moved = engine->advance();
    ASSERT_TRUE(moved.ok()) << to_string(moved.error());
  }
  // By number.
  std::map<std::uint64_t, Episode> run() {
    std::map<std::uint64_t, Episode> episodes;
    for (bool more = true; more;) {
      more = engine->advance().value();
      for (Episode& episode : engine->take_finished()) episodes.emplace(episode.request.number, std::move(episode));
    }
    return episodes;
  }

  ScriptedDecoder decoder;
  Rollout rollout;
  JudgePool judges;
  std::vector<GenerationResult> others;
  std::unique_ptr<EpisodeEngine> engine;
};

std::string alone(const EpisodeRequest& request, const EpisodeOptions& episode) {
  EngineOptions options = engine_options();
  options.episode = episode;
  return reproducible(Scripted(row_sum_script).run_one(request, options));
}

TEST(EngineRequests, EachHasItsOwnOptionsAndHooks) {
  Shared shared(row_sum_script);
  std::map<std::uint64_t, int> heard;
  const auto hooks_of = [&](std::uint64_t number) {
    const auto hear = [&heard, number](const Episode& episode) {
      EXPECT_EQ(episode.request.number, number);
      ++heard[number];
    };
    EpisodeHooks hooks;
    hooks.on_begin = hooks.on_turn = hooks.on_end = hooks.on_given = hear;
    hooks.on_question = [hear](const Episode& episode, const Turn&) { hear(episode); };
    hooks.on_token = [hear](const Episode& episode, const Turn&, const TokenEvent&) { hear(episode); };
    hooks.on_answer = hooks.on_verdict = [hear](const Episode& episode, const Turn&, std::size_t) { hear(episode); };
    return hooks;
  };
  shared.submit(row_sum_request(1), with_turns(1), hooks_of(1));
  shared.submit(row_sum_request(2), with_turns(3, 7), hooks_of(2));
  shared.submit(row_sum_request(3, RowSum().naive), with_turns(2), hooks_of(3));
  shared.submit(row_sum_request(4), with_turns(2));  // without hooks
  const auto episodes = shared.run();
  ASSERT_EQ(episodes.size(), 4u);
  EXPECT_EQ(episodes.at(1).turns.size(), 1u);
  EXPECT_EQ(episodes.at(2).turns.size(), 3u);
  EXPECT_EQ(episodes.at(2).best, KernelTurn(2)) << "it was really judged";
  EXPECT_EQ(reproducible(episodes.at(1)), alone(row_sum_request(1), with_turns(1)));
  EXPECT_EQ(reproducible(episodes.at(2)), alone(row_sum_request(2), with_turns(3, 7)));
  EXPECT_EQ(reproducible(episodes.at(3)), alone(row_sum_request(3, RowSum().naive), with_turns(2)));
  for (const std::uint64_t number : {1, 2, 3}) EXPECT_GT(heard[number], 5) << number;
  EXPECT_FALSE(shared.engine->submit(row_sum_request(5), with_turns(0), {}).ok()) << "no turns";
}

TEST(EngineRequests, OneThatWaitsIsCancelled) {
  EngineOptions options = engine_options();
  options.in_flight = 1;
  Shared shared(row_sum_script, {.workers = 1}, options);
  shared.submit(row_sum_request(1), with_turns(2));
  int begun = 0;
  EpisodeHooks hooks;
  hooks.on_begin = [&](const Episode&) { ++begun; };
  const std::uint64_t waits = shared.submit(row_sum_request(2), with_turns(2), hooks);
  shared.advance();
  shared.engine->cancel(waits);
  shared.engine->cancel(waits);  // twice is once
  shared.engine->cancel(1000);   // nobody's
  shared.advance();
  const auto finished = shared.engine->take_finished();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].end, EpisodeEnd::cancelled);
  EXPECT_EQ(finished[0].ticket, waits);
  EXPECT_EQ(begun, 0);
  EXPECT_EQ(reproducible(shared.run().at(1)), alone(row_sum_request(1), with_turns(2)));
}

TEST(EngineRequests, CancellingFreesRowsAndPagesAtOnce) {
  Shared shared([](const ScriptedQuestion&) { return std::string(2000, ';'); });
  EpisodeOptions options = with_turns(3);
  options.samples = 4;
  options.answer_tokens = 3000;
  int tokens = 0, after_end = 0;
  bool ended = false;
  EpisodeHooks hooks;
  hooks.on_token = [&](const Episode&, const Turn&, const TokenEvent&) {
    ++tokens;
    after_end += ended;
  };
  hooks.on_end = [&](const Episode&) { ended = true; };
  const std::uint64_t ticket = shared.submit(row_sum_request(1), options, hooks);
  while (tokens < 10) shared.advance();
  EXPECT_GT(shared.rollout.used_pages(), 0);
  EXPECT_GT(shared.rollout.running(), 0);
  shared.engine->cancel(ticket);
  const std::int64_t steps = shared.decoder.steps;
  EXPECT_FALSE(shared.engine->advance().value()) << "nothing is left to do";
  EXPECT_EQ(shared.decoder.steps, steps) << "without a step";
  EXPECT_EQ(shared.rollout.used_pages(), 0);
  EXPECT_EQ(shared.rollout.running(), 0);
  EXPECT_TRUE(ended);
  const auto finished = shared.engine->take_finished();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].end, EpisodeEnd::cancelled);
  EXPECT_TRUE(finished[0].turns.empty());
  EXPECT_FALSE(shared.engine->advance().value());
  EXPECT_EQ(after_end, 0);
  EXPECT_TRUE(shared.others.empty()) << "its answers are nobody else's";
  EXPECT_EQ(shared.engine->load().entries, 0u);
}

TEST(EngineRequests, CancelledWhileTheJudgeWorks) {
  Gate gate;
  Shared shared(row_sum_script, gate.options());
  int verdicts = 0;
  EpisodeHooks hooks;
  hooks.on_verdict = [&](const Episode&, const Turn&, std::size_t) { ++verdicts; };
  const std::uint64_t judged = shared.submit(row_sum_request(1), with_turns(2), hooks);
  while (!gate.arrived.try_acquire()) shared.advance();
  const std::uint64_t waits = shared.submit(row_sum_request(2, RowSum().naive), with_turns(2), hooks);
  while (shared.judges.waiting() == 0) shared.advance();
  shared.engine->cancel(judged);
  shared.engine->cancel(waits);
  shared.advance();
  EXPECT_EQ(shared.judges.waiting(), 0u) << "what nobody wants is not judged";
  EXPECT_EQ(shared.engine->take_finished().size(), 2u);
  gate.open.release();
  // Another conversation about the same kernels; what comes late for the cancelled ones is ignored.
  shared.submit(row_sum_request(3), with_turns(2));
  gate.open.release(10);
  EXPECT_EQ(reproducible(shared.run().at(3)), alone(row_sum_request(3), with_turns(2)));
  EXPECT_EQ(verdicts, 0);
  EXPECT_EQ(shared.engine->load().entries, 0u);
}

TEST(EngineRequests, OthersRequestsGoThroughTheSameBatch) {
  const auto make_request = [](std::uint64_t seed) {
    GenerationRequest request;
    request.prompt = test_dialect().tokenizer().encode("x + y").value();
    request.samples = 2;
    request.rule.seed = seed;
    request.stop_tokens.assign(test_dialect().stop_tokens().begin(), test_dialect().stop_tokens().end());
    return request;
  };
  const auto script = [](const ScriptedQuestion& question) {
    return question.prompt == "x + y" ? "seed " + std::to_string(question.seed) : row_sum_script(question);
  };
  Shared shared(script);
  shared.submit(row_sum_request(1), with_turns(3));
  std::vector<RequestId> asked;
  for (const std::uint64_t seed : {5, 6}) asked.push_back(shared.rollout.submit(make_request(seed)).value());
  const auto episodes = shared.run();
  EXPECT_EQ(reproducible(episodes.at(1)), alone(row_sum_request(1), with_turns(3)));
  ASSERT_EQ(shared.others.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto expected = 5 + static_cast<std::uint64_t>(std::ranges::find(asked, shared.others[i].id) - asked.begin());
    for (std::int64_t sample = 0; sample < 2; ++sample)
      EXPECT_EQ(shared.others[i].samples[static_cast<std::size_t>(sample)].text,
                "seed " + std::to_string(sample_seed(expected, sample)));
  }
  EXPECT_GE(shared.decoder.most_rows, 3u) << "they were in one batch";
  // Without any conversation, too.
  ASSERT_TRUE(shared.rollout.submit(make_request(9)).ok());
  shared.run();
  EXPECT_EQ(shared.others.size(), 3u);
}

TEST(EngineRequests, AnEngineEndsWithoutHarmToOthers) {
  Shared shared([](const ScriptedQuestion& question) {
    return question.prompt == "x" ? std::string("done") : std::string(2000, ';');
  });
  GenerationRequest request;
  request.prompt = test_dialect().tokenizer().encode("x").value();
  request.max_tokens = 1;
  shared.submit(row_sum_request(1), with_turns(1));
  for (int i = 0; i < 5; ++i) shared.advance();
  ASSERT_TRUE(shared.rollout.submit(request).ok());
  shared.engine.reset();
  EXPECT_FALSE(shared.rollout.idle()) << "the other's request is still there";
  while (shared.rollout.advance().value()) {
  }
  EXPECT_EQ(shared.rollout.take_finished().size() + shared.others.size(), 1u);
  EXPECT_EQ(shared.rollout.used_pages(), 0);
}

TEST(EngineRequests, EqualKernelsOfTwoUsersAreJudgedOnce) {
  Gate gate;
  Shared shared(row_sum_script, gate.options());
  shared.submit(row_sum_request(1), with_turns(1));
  shared.submit(row_sum_request(2), with_turns(1));
  auto third = shared.judges.submit(shared_task("row_sum"), RowSum().broken);  // somebody without a conversation
  gate.arrived.acquire();
  while (shared.judges.submitted() < 3) shared.advance();
  gate.open.release(10);
  const auto episodes = shared.run();
  EXPECT_EQ(shared.judges.judged(), 1);
  EXPECT_EQ(chosen_sample(episodes.at(1).turns[0]).verdict, chosen_sample(episodes.at(2).turns[0]).verdict);
  EXPECT_EQ(third.get(), chosen_sample(episodes.at(1).turns[0]).verdict);
}

TEST(EngineRequests, ACancelledOneIsResumedFromTheStore) {
  const TemporaryFolder folder;
  const auto store = EpisodeStore::open(folder.path() / "store.db").value();
  EngineOptions options = engine_options();
  options.store = store.get();
  Shared shared(row_sum_script, {.workers = 1}, options);
  std::uint64_t ticket = 0;
  EpisodeHooks hooks;
  hooks.on_turn = [&](const Episode& episode) {
    if (episode.turns.size() == 2) shared.engine->cancel(ticket);  // as a user may, in the middle of something
  };
  ticket = shared.submit(row_sum_request(1), with_turns(4), hooks);
  const Episode cancelled = shared.run().at(1);
  EXPECT_EQ(cancelled.end, EpisodeEnd::cancelled);
  EXPECT_EQ(cancelled.turns.size(), 2u);
  std::size_t known = 0;
  EpisodeHooks again;
  again.on_begin = [&](const Episode& episode) { known = episode.turns.size(); };
  shared.submit(row_sum_request(1), with_turns(4), again);
  const Episode resumed = shared.run().at(1);
  EXPECT_EQ(known, 2u);
  EXPECT_EQ(resumed.resumed, 2);
  EXPECT_EQ(reproducible(resumed), alone(row_sum_request(1), with_turns(4)));
}

TEST(EngineRequests, WhatTheStoreCannotKeepGoesOnWithoutIt) {
  const TemporaryFolder folder;
  const auto store = EpisodeStore::open(folder.path() / "store.db").value();
  EngineOptions options = engine_options();
  options.store = store.get();
  options.store_required = false;
  Shared shared(row_sum_script, {.workers = 1}, options);
  // Two users with the same question: each gets an answer.
  int ended = 0;
  EpisodeHooks hooks;
  hooks.on_end = [&](const Episode& episode) {
    ++ended;
    EXPECT_EQ(reproducible(episode), alone(row_sum_request(1), with_turns(2)));
  };
  for (int user = 0; user < 2; ++user) shared.submit(row_sum_request(1), with_turns(2), hooks);
  shared.run();
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(store->list()->size(), 1u);
  // The store is damaged in the middle of a conversation.
  EpisodeHooks spoil;
  spoil.on_question = [&](const Episode&, const Turn& turn) {
    if (turn.index != 1) return;
    Database database = Database::open(folder.path() / "store.db").value();
    ASSERT_TRUE(database.execute("DROP TABLE samples").ok());
  };
  shared.submit(row_sum_request(2), with_turns(3), spoil);
  EXPECT_EQ(reproducible(shared.run().at(2)), alone(row_sum_request(2), with_turns(3)));
  EXPECT_EQ(shared.engine->load().entries, 0u);
}

TEST(EngineRequests, ThreadsSubmitAndCancel) {
  Shared shared([](const ScriptedQuestion&) { return "no"; });
  constexpr int threads = 4, each = 50;
  std::atomic<int> ended = 0;
  std::vector<std::jthread> users;
  for (int t = 0; t < threads; ++t)
    users.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        EpisodeHooks hooks;
        hooks.on_end = [&](const Episode&) { ++ended; };
        const auto number = static_cast<std::uint64_t>(t * each + i);
        const std::uint64_t ticket = shared.submit(row_sum_request(number), with_turns(2), hooks);
        if (i % 3 == 0) shared.engine->cancel(ticket);
      }
    });
  while (ended < threads * each) shared.advance();
  EXPECT_EQ(shared.engine->take_finished().size(), static_cast<std::size_t>(threads * each));
  EXPECT_EQ(shared.rollout.used_pages(), 0);
  EXPECT_EQ(shared.engine->load().entries, 0u);
}

// Says nothing but the end.
class SilentDecoder : public ScriptedDecoder {
 public:
  SilentDecoder() : ScriptedDecoder(test_dialect(), [](const ScriptedQuestion&) { return ""; }) {}
  Result<std::vector<SampledToken>> step(std::span<const DecoderRow> rows) override {
    std::vector<SampledToken> sampled(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].sample) sampled[i].token = test_dialect().stop_tokens().front();
    return sampled;
  }
};

TEST(EngineRequestsSlow, NothingIsKeptOfAHundredThousandTasks) {
  SilentDecoder decoder;
  Rollout rollout(decoder, &test_dialect().tokenizer());
  JudgePool judges(test_judge(), {.workers = 1});
  EngineOptions options = engine_options();
  options.in_flight = 64;
  const auto engine =
      EpisodeEngine::make(rollout, test_dialect(), judges, [](AgentRole) { return 0; }, options).value();
  const Task relu = suite_task("relu");
  constexpr int waves = 100, each = 1000;
  std::size_t ended = 0;
  for (int wave = 0; wave < waves; ++wave) {
    for (int i = 0; i < each; ++i) {
      const int number = wave * each + i;
      auto task = std::make_shared<Task>(relu);
      task->name = "task_" + std::to_string(number);
      task->pytorch = "def reference(x):\n    return torch.relu(x) + " + std::to_string(number) + "\n";
      const auto ticket = engine->submit({static_cast<std::uint64_t>(number), task}, with_turns(1), {}).value();
      if (i % 10 == 0) engine->cancel(ticket);
    }
    while (engine->advance().value()) ASSERT_LE(engine->load().running + engine->load().asking, 2 * options.in_flight);
    ended += engine->take_finished().size();
    ASSERT_EQ(engine->load().entries, 0u) << "after " << ended;
    ASSERT_EQ(rollout.used_pages(), 0);
  }
  EXPECT_EQ(ended, static_cast<std::size_t>(waves * each));
  EXPECT_EQ(judges.remembered(), 0u);
}

}  // namespace
}  // namespace kw
