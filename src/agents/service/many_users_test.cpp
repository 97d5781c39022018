// Many users of one service and of several: what one gets does not depend on the others.

#include <random>

#include "agents/service/service_test_support.h"

namespace kw {
namespace {

// The shipped agents, on one thread, so that a machine of any size does the same.
std::unique_ptr<AgentService> tiny_service(const AgentServiceOptions& given = {}) {
  AgentServiceOptions options = given;
  options.model = (source_root() / "weights/tiny").string();
  options.loading.device = "cpu";
  options.loading.threads = 1;
  auto service = AgentService::open(options, test_judges(), "a test's judge");
  EXPECT_TRUE(service.ok()) << to_string(service.error());
  return std::move(service).value();
}

struct User {
  AgentService::AnswerRequest request;
  Awaited<GenerationResult> answer;
};

std::vector<User> users_of(AgentService& service) {
  std::vector<User> users;
  const std::vector<std::vector<ChatMessage>> chats{{{"user", "x:f32[rows,cols]>y:f32[rows,cols]\ntorch.relu(x)"}},
                                                    {{"system", "Be brief."}, {"user", "x:f32[n]>y:f32[n]\nx * 2"}},
                                                    {{"user", "hello"}}};
  for (std::uint64_t i = 0; i < 6; ++i) {
    User user;
    const Speaker speaker = i % 2 == 0 ? Speaker::generator : Speaker::base;
    user.request.prompt = service.prompt_of(chats[i % chats.size()], speaker).value();
    user.request.speaker = speaker;
    user.request.rule = {i == 0 ? 0.0f : 1.0f, 0, 0.9f, i};
    user.request.samples = 1 + static_cast<std::int64_t>(i % 3);
    user.request.max_tokens = 40;
    users.push_back(std::move(user));
  }
  return users;
}

EpisodeOptions short_conversation(std::uint64_t seed) {
  EpisodeOptions options = with_turns(2);
  options.seed = seed;
  options.samples = 2;
  options.answer_tokens = 200;
  return options;
}

std::string text_of(const GenerationResult& result) {
  std::string text;
  for (const GeneratedSample& sample : result.samples) {
    text += sample.text + "|" + std::string(to_string(sample.finish)) + "|";
    for (const float each : sample.log_probs) text += std::to_string(each) + " ";
  }
  return text;
}

TEST(ManyUsers, TheTinyAgentsSayTheSameAloneAndTogether) {
  const auto service = tiny_service();
  std::vector<User> together = users_of(*service), alone = users_of(*service);
  std::vector<Awaited<Episode>> conversations(3);
  for (std::size_t i = 0; i < conversations.size(); ++i)
    ASSERT_TRUE(service->converse(row_sum_request(i), short_conversation(i), {}, conversations[i].listener()).ok());
  for (User& user : together) ASSERT_TRUE(service->answer(user.request, {}, user.answer.listener()).ok());
  std::vector<std::string> answered;
  for (User& user : together) answered.push_back(text_of(user.answer.get().value()));
  std::vector<Episode> episodes;
  for (auto& conversation : conversations) episodes.push_back(conversation.get().value());

  for (std::size_t i = 0; i < alone.size(); ++i) {
    ASSERT_TRUE(service->answer(alone[i].request, {}, alone[i].answer.listener()).ok());
    EXPECT_EQ(text_of(alone[i].answer.get().value()), answered[i]) << i;
  }
  const auto other = tiny_service();
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    Awaited<Episode> again;
    ASSERT_TRUE(other->converse(row_sum_request(i), short_conversation(i), {}, again.listener()).ok());
    EXPECT_EQ(reproducible(again.get().value()), reproducible(episodes[i])) << i;
  }
}

TEST(ManyUsers, AServiceThatClosesDoesNoHarmToAnother) {
  std::vector<Awaited<Episode>> cancelled(5);
  Awaited<Episode> kept;
  ScriptedService stays(row_sum_script);
  {
    std::counting_semaphore<> begun(0);
    ScriptedService closes([](const ScriptedQuestion&) { return std::string(3000, ';'); });
    EpisodeHooks hooks;
    hooks.on_question = [&](const Episode&, const Turn&) { begun.release(); };
    EpisodeOptions options = with_turns(100);
    options.answer_tokens = 3500;
    for (std::uint64_t i = 0; i < cancelled.size(); ++i)
      ASSERT_TRUE(closes->converse(row_sum_request(i), options, hooks, cancelled[i].listener()).ok());
    ASSERT_TRUE(stays->converse(row_sum_request(9), with_turns(3), {}, kept.listener()).ok());
    begun.acquire();
  }
  for (auto& conversation : cancelled) {
    EXPECT_EQ(conversation.calls(), 1) << "when the service is gone, all have ended";
    EXPECT_EQ(conversation.get()->end, EpisodeEnd::cancelled);
  }
  EngineOptions alone = engine_options();
  alone.episode = with_turns(3);
  EXPECT_EQ(reproducible(kept.get().value()),
            reproducible(Scripted(row_sum_script).run_one(row_sum_request(9), alone)));
}

TEST(ManyUsers, AConversationIsResumedByTheNextService) {
  const TemporaryFolder folder;
  AgentServiceOptions options;
  options.store = folder.path() / "conversations.db";
  Awaited<Episode> interrupted;
  {
    ScriptedService service(row_sum_script, options);
    std::promise<AgentService::Ticket> ticket;
    EpisodeHooks hooks;
    hooks.on_turn = [&, known = ticket.get_future().share()](const Episode& episode) {
      if (episode.turns.size() == 2) service->cancel(known.get());
    };
    ticket.set_value(service->converse(row_sum_request(1), with_turns(4), hooks, interrupted.listener()).value());
    service->drain();
  }
  const Episode first = interrupted.get().value();
  ASSERT_EQ(first.end, EpisodeEnd::cancelled);
  ASSERT_EQ(first.turns.size(), 2u);
  ScriptedService service(row_sum_script, options);
  std::int64_t known = 0, taken = 0;
  EpisodeHooks hooks;
  hooks.on_begin = [&](const Episode& episode) { known = episode.resumed; };
  hooks.on_turn = [&](const Episode&) { ++taken; };
  Awaited<Episode> resumed;
  ASSERT_TRUE(service->converse(row_sum_request(1), with_turns(4), hooks, resumed.listener()).ok());
  const Episode episode = resumed.get().value();
  EXPECT_EQ(known, static_cast<std::int64_t>(first.turns.size()));
  EXPECT_EQ(known + taken, 4);
  EngineOptions alone = engine_options();
  alone.episode = with_turns(4);
  EXPECT_EQ(reproducible(episode), reproducible(Scripted(row_sum_script).run_one(row_sum_request(1), alone)));
  // Once more: it has ended, and is only read.
  Awaited<Episode> read;
  ASSERT_TRUE(service->converse(row_sum_request(1), with_turns(4), {}, read.listener()).ok());
  EXPECT_TRUE(read.get()->from_store);
}

TEST(ManyUsers, ThreadsSubmitAndCancel) {
  ScriptedService service([](const ScriptedQuestion& question) { return std::string(question.seed % 64, ';'); });
  constexpr int threads = 6, each = 60;
  std::atomic<int> ended = 0, twice = 0, submitted = 0;
  {
    std::vector<std::jthread> users;
    for (int t = 0; t < threads; ++t)
      users.emplace_back([&, t] {
        std::minstd_rand random(static_cast<unsigned>(t));
        std::vector<AgentService::Ticket> mine;
        for (int i = 0; i < each; ++i) {
          auto once = std::make_shared<std::atomic<int>>(0);
          const auto count = [&, once](const auto& result) {
            EXPECT_TRUE(result.ok());
            twice += (*once)++ > 0;
            ++ended;
          };
          if (random() % 2 == 0) {
            auto request = asking(*service.service, "x", Speaker::generator);
            request.rule.seed = random();
            mine.push_back(service->answer(request, {}, count).value());
          } else {
            EpisodeOptions options = with_turns(2);
            options.seed = random();
            mine.push_back(service->converse(row_sum_request(random()), options, {}, count).value());
          }
          ++submitted;
          if (random() % 2 == 0) service->cancel(mine[random() % mine.size()]);
          static_cast<void>(service->counts());
        }
      });
  }
  service->drain();
  EXPECT_EQ(ended, threads * each);
  EXPECT_EQ(submitted, threads * each);
  EXPECT_EQ(twice, 0);
  const AgentServiceCounts counts = service->counts();
  EXPECT_EQ(counts.answers + counts.conversations, threads * each);
  EXPECT_EQ(counts.pages, 0);
  EXPECT_EQ(
      counts.answers_running + counts.answers_waiting + counts.conversations_running + counts.conversations_waiting,
      0u);
}

}  // namespace
}  // namespace kw
