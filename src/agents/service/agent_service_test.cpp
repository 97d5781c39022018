#include "agents/service/agent_service.h"

#include "agents/service/service_test_support.h"

namespace kw {
namespace {

using namespace std::chrono_literals;

std::string long_answer(const ScriptedQuestion&) { return std::string(2000, ';'); }

TEST(AgentService, AnswersWithTheAdapterThatIsAskedFor) {
  ScriptedService service([](const ScriptedQuestion& question) {
    return question.prompt + " to adapter " + std::to_string(question.adapter);
  });
  const std::map<Speaker, std::string> expected{{Speaker::base, "x to adapter -1"},
                                                {Speaker::generator, "x to adapter 0"},
                                                {Speaker::optimizer, "x to adapter 1"}};
  std::map<Speaker, Awaited<GenerationResult>> answers;
  std::map<Speaker, std::string> streamed;
  std::map<Speaker, AgentService::Ticket> tickets;
  std::atomic<int> strangers = 0;
  for (const auto& [speaker, text] : expected) {
    std::string& heard = streamed[speaker];
    const auto on_token = [&heard, &tickets, &strangers, speaker](const TokenEvent& event) {
      heard += event.text;
      strangers += event.request < 1 || event.request > 3;
    };
    auto request = asking(*service.service, "x", speaker);
    tickets[speaker] = service->answer(request, on_token, answers[speaker].listener()).value();
  }
  for (auto& [speaker, awaited] : answers) {
    const auto result = awaited.get();
    ASSERT_TRUE(result.ok()) << to_string(result.error());
    EXPECT_EQ(result->samples.at(0).text, expected.at(speaker));
    EXPECT_EQ(result->samples[0].finish, FinishReason::stop_token);
    EXPECT_EQ(result->samples[0].log_probs.size(), result->samples[0].tokens.size());
    EXPECT_EQ(static_cast<AgentService::Ticket>(result->id), tickets.at(speaker));
    EXPECT_EQ(streamed.at(speaker), expected.at(speaker));
  }
  EXPECT_EQ(strangers, 0);
  EXPECT_EQ(service->counts().answers, 3);
  EXPECT_GT(service->counts().sampled_tokens, 0);
}

TEST(AgentService, SamplesAndStopStrings) {
  ScriptedService service([](const ScriptedQuestion&) { return "one two three"; });
  auto request = asking(*service.service, "count");
  request.samples = 3;
  request.stop = {"two"};
  Awaited<GenerationResult> answer;
  ASSERT_TRUE(service->answer(request, {}, answer.listener()).ok());
  const auto result = answer.get();
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->samples.size(), 3u);
  for (const GeneratedSample& sample : result->samples) {
    EXPECT_EQ(sample.text, "one ");
    EXPECT_EQ(sample.finish, FinishReason::stop_string);
  }
}

TEST(AgentService, ConversationsAndAnswersGoOnTogether) {
  const auto script = [](const ScriptedQuestion& question) {
    return question.prompt == "x" ? std::string("an answer") : row_sum_script(question);
  };
  ScriptedService service(script);
  EngineOptions alone = engine_options();
  std::vector<Awaited<Episode>> conversations(4);
  std::atomic<int> strangers = 0, heard = 0;
  for (std::uint64_t i = 0; i < conversations.size(); ++i) {
    EpisodeHooks hooks;
    hooks.on_turn = hooks.on_begin = hooks.on_end = [&, i](const Episode& episode) {
      ++heard;
      strangers += episode.request.number != i;
    };
    hooks.on_token = [&, i](const Episode& episode, const Turn&, const TokenEvent&) {
      strangers += episode.request.number != i;
    };
    const EpisodeOptions options = with_turns(1 + static_cast<int>(i % 3));
    ASSERT_TRUE(service->converse(row_sum_request(i), options, hooks, conversations[i].listener()).ok());
  }
  Awaited<GenerationResult> answer;
  ASSERT_TRUE(service->answer(asking(*service.service, "x"), {}, answer.listener()).ok());
  EXPECT_EQ(answer.get()->samples[0].text, "an answer");
  for (std::uint64_t i = 0; i < conversations.size(); ++i) {
    const auto episode = conversations[i].get();
    ASSERT_TRUE(episode.ok()) << to_string(episode.error());
    EXPECT_EQ(episode->best.has_value(), i % 3 > 0) << "the second turn repairs it";
    alone.episode = with_turns(1 + static_cast<int>(i % 3));
    EXPECT_EQ(reproducible(*episode), reproducible(Scripted(script).run_one(row_sum_request(i), alone)));
  }
  EXPECT_EQ(strangers, 0);
  EXPECT_EQ(heard, 4 * 2 + 1 + 2 + 3 + 1);
  EXPECT_EQ(service->counts().conversations, 4);
}

TEST(AgentService, CancellingAnAnswerFreesItsRowsAndPages) {
  ScriptedService service(long_answer);
  std::binary_semaphore reached(0), go_on(0);
  int tokens = 0;
  const auto on_token = [&](const TokenEvent&) {
    if (++tokens != 100) return;
    reached.release();
    go_on.acquire();
  };
  auto request = asking(*service.service, "x");
  request.samples = 8;
  request.max_tokens = 3000;
  Awaited<GenerationResult> answer;
  const auto ticket = service->answer(request, on_token, answer.listener()).value();
  reached.acquire();
  EXPECT_GT(service->counts().pages, 0);
  EXPECT_EQ(service->counts().answers_running, 1u);
  service->cancel(ticket);
  go_on.release();
  const auto result = answer.get();
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->samples.size(), 8u);
  for (const GeneratedSample& sample : result->samples) EXPECT_EQ(sample.finish, FinishReason::cancelled);
  EXPECT_FALSE(result->samples[0].text.empty()) << "what there was";
  const AgentServiceCounts counts = service->counts();
  EXPECT_EQ(counts.pages, 0);
  EXPECT_EQ(counts.rows, 0);
  EXPECT_EQ(counts.answers_running + counts.answers_waiting, 0u);
  service->cancel(ticket);  // it has ended
  EXPECT_EQ(answer.calls(), 1);
}

TEST(AgentService, AListenerMayCancel) {
  ScriptedService service(long_answer);
  std::atomic<AgentService::Ticket> ticket = 0;
  Awaited<Episode> conversation;
  EpisodeHooks hooks;
  hooks.on_token = [&](const Episode&, const Turn&, const TokenEvent&) { service->cancel(ticket); };
  ticket = service->converse(row_sum_request(1), with_turns(3), hooks, conversation.listener()).value();
  const auto episode = conversation.get();
  ASSERT_TRUE(episode.ok());
  EXPECT_EQ(episode->end, EpisodeEnd::cancelled);
  EXPECT_EQ(service->counts().pages, 0);
}

TEST(AgentService, TooManyAreRefused) {
  std::counting_semaphore<> asked(0), say(0);
  AgentServiceOptions options;
  options.max_waiting = 2;
  ScriptedService service(
      [&](const ScriptedQuestion&) {
        asked.release();
        say.acquire();
        return "done";
      },
      options);
  std::vector<Awaited<GenerationResult>> answers(3);
  const auto request = asking(*service.service, "x");
  ASSERT_TRUE(service->answer(request, {}, answers[0].listener()).ok());
  asked.acquire();  // the thread is busy with it now
  ASSERT_TRUE(service->answer(request, {}, answers[1].listener()).ok());
  const auto third = service->answer(request, {}, answers[2].listener());
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().message, AgentService::full_message);
  EXPECT_EQ(service->converse(row_sum_request(1), with_turns(1), {}, {}).error().message, AgentService::full_message);
  EXPECT_EQ(service->counts().refused, 2);
  EXPECT_EQ(service->counts().answers_waiting, 2u);
  say.release(10);
  for (int i : {0, 1}) EXPECT_TRUE(answers[static_cast<std::size_t>(i)].get().ok());
  EXPECT_EQ(answers[2].calls(), 0);
  Awaited<GenerationResult> later;
  EXPECT_TRUE(service->answer(request, {}, later.listener()).ok()) << "there is room again";
  EXPECT_TRUE(later.get().ok());
}

TEST(AgentService, RequestsThatMakeNoSenseAreRefused) {
  ScriptedService service([](const ScriptedQuestion&) { return "done"; });
  const auto refused = [&](const auto& spoil) {
    auto request = asking(*service.service, "x");
    spoil(request);
    return !service->answer(request, {}, [](const auto&) { FAIL(); }).ok();
  };
  using Request = AgentService::AnswerRequest;
  EXPECT_TRUE(refused([](Request& r) { r.prompt.clear(); }));
  EXPECT_TRUE(refused([](Request& r) { r.prompt.assign(5000, 1); })) << "too long";
  EXPECT_TRUE(refused([](Request& r) { r.prompt = {-1}; }));
  EXPECT_TRUE(refused([](Request& r) { r.prompt = {1 << 30}; }));
  EXPECT_TRUE(refused([](Request& r) { r.samples = 0; }));
  EXPECT_TRUE(refused([](Request& r) { r.samples = 1'000'000; }));
  EXPECT_TRUE(refused([](Request& r) { r.max_tokens = 0; }));
  EXPECT_TRUE(refused([](Request& r) { r.rule.temperature = -1; }));
  EXPECT_TRUE(refused([](Request& r) { r.rule.temperature = std::numeric_limits<float>::infinity(); }));
  EXPECT_TRUE(refused([](Request& r) { r.rule.top_p = std::numeric_limits<float>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](Request& r) { r.stop = {""}; }));
  EXPECT_TRUE(refused([](Request& r) { r.stop.assign(100, "x"); }));
  EXPECT_TRUE(refused([](Request& r) { r.stop = {std::string(1000, 'x')}; }));
  EXPECT_FALSE(service->converse({}, with_turns(1), {}, {}).ok()) << "no task";
  EXPECT_FALSE(service->converse(row_sum_request(1), with_turns(0), {}, {}).ok());
  EpisodeOptions many = with_turns(1);
  many.samples = 1000;
  EXPECT_FALSE(service->converse(row_sum_request(1), many, {}, {}).ok());
  EpisodeRequest long_kernel = row_sum_request(1);
  long_kernel.kernel.assign(1 << 20, 'x');
  EXPECT_FALSE(service->converse(long_kernel, with_turns(1), {}, {}).ok());
  EXPECT_EQ(service->counts().answers_waiting + service->counts().conversations_waiting, 0u);
}

TEST(AgentService, AFailureOfTheDecoderIsAnErrorOfThoseThatWereInIt) {
  ScriptedService service(long_answer);
  Awaited<GenerationResult> answer;
  Awaited<Episode> conversation;
  EpisodeHooks hooks;
  hooks.on_token = [&, first = true](const Episode&, const Turn&, const TokenEvent&) mutable {
    if (first) service.decoder->fails = true;
    first = false;
  };
  ASSERT_TRUE(service->answer(asking(*service.service, "x"), {}, answer.listener()).ok());
  EpisodeOptions options = with_turns(2);
  options.answer_tokens = 3000;
  ASSERT_TRUE(service->converse(row_sum_request(1), options, hooks, conversation.listener()).ok());
  const auto episode = conversation.get();
  ASSERT_FALSE(episode.ok());
  EXPECT_EQ(episode.error().message, "the device is gone");
  static_cast<void>(answer.get());
  EXPECT_GE(service->counts().failures, 1);
  EXPECT_EQ(service->counts().pages, 0);
  Awaited<GenerationResult> later;
  auto request = asking(*service.service, "x");
  request.max_tokens = 5;
  ASSERT_TRUE(service->answer(request, {}, later.listener()).ok());
  EXPECT_TRUE(later.get().ok()) << "the next one is served";
}

TEST(AgentService, AModelThatCannotBeLoadedIsAnError) {
  AgentServiceOptions options;
  options.model = "/no/such/model";
  EXPECT_FALSE(AgentService::open(options, test_judges(), "a judge").ok());
  options.model = "tiny";
  options.max_waiting = 0;
  EXPECT_FALSE(AgentService::open(options, test_judges(), "a judge").ok());
}

TEST(AgentService, DrainingWaitsForWhatIsInProgress) {
  ScriptedService service(row_sum_script);
  Awaited<Episode> conversation;
  ASSERT_TRUE(service->converse(row_sum_request(1), with_turns(2), {}, conversation.listener()).ok());
  service->drain();
  EXPECT_EQ(conversation.calls(), 1);
  EXPECT_EQ(conversation.get()->end, EpisodeEnd::turns);
  const auto late = service->answer(asking(*service.service, "x"), {}, [](const auto&) { FAIL(); });
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().message, AgentService::closing_message);
}

}  // namespace
}  // namespace kw
