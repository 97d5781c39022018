// Conversations with a model elsewhere: a real server on this machine says what a test wants.

#include "agents/endpoint/endpoint_test_server.h"
#include "agents/episode/agent_set.h"
#include "agents/episode/endpoint_model.h"
#include "agents/episode/episode_test_support.h"
#include "base/file.h"

namespace kw {
namespace {

HttpResponse kernel_answer(const std::string& kernel) {
  return chat_answer("Here it is.\n```cuda\n" + kernel + "\n```");
}

Result<std::vector<Episode>> converse(EndpointAnswers& answers, const EngineOptions& options,
                                      std::vector<EpisodeRequest> requests) {
  auto engine = EpisodeEngine::make(answers, test_bytes(), test_judge(), [](AgentRole) { return -1; }, options).value();
  return engine->run(std::move(requests));
}

std::unique_ptr<EndpointAnswers> answers_of(const EndpointServer& server) {
  EndpointLimits limits = quick_limits();
  limits.attempts = 2;
  return EndpointAnswers::open(server.name(), {}, test_bytes().tokenizer(), limits).value();
}

TEST(EndpointEpisode, AFailedAnswerCostsItsTurnAndNothingElse) {
  const RowSum kernels;
  EndpointServer server(in_turn({kernel_answer(kernels.broken),
                                 {200, "text/html", "<html>", {}},
                                 kernel_answer(kernels.naive),
                                 http_error(400, "too bad"),
                                 kernel_answer(kernels.fast)}));
  const TemporaryFolder folder;
  auto store = EpisodeStore::open(folder.path() / "talk.db").value();
  EngineOptions options = engine_options();
  options.episode.turns = 5;
  options.episode.temperature = 0;  // the same question again is no reason to end: it was not answered
  options.store = store.get();
  const auto answers = answers_of(server);
  const EpisodeRequest request{0, shared_task("row_sum")};
  const Episode episode = converse(*answers, options, {request}).value().at(0);
  EXPECT_EQ(episode.end, EpisodeEnd::turns);
  ASSERT_EQ(episode.turns.size(), 5u);
  EXPECT_FALSE(chosen_sample(episode.turns[0]).verdict->correct);
  for (const std::size_t failed : {1u, 3u}) {
    const TurnSample& sample = chosen_sample(episode.turns[failed]);
    EXPECT_EQ(sample.finish, FinishReason::failed);
    EXPECT_EQ(sample.outcome, AnswerOutcome::empty);
    EXPECT_FALSE(sample.rewarded);
    EXPECT_FALSE(sample.message.empty());
  }
  EXPECT_NE(chosen_sample(episode.turns[3]).message.find("too bad"), std::string::npos);
  EXPECT_EQ(episode.turns[2].role, AgentRole::optimizer);
  EXPECT_EQ(episode.best, 4);
  EXPECT_EQ(episode.tokens, 15);  // as the endpoint counts

  // The store has all of it; nobody is asked again.
  const auto again = answers_of(server);
  const Episode stored = converse(*again, options, {request}).value().at(0);
  EXPECT_TRUE(stored.from_store);
  EXPECT_EQ(reproducible(stored), reproducible(episode));
  EXPECT_EQ(server.requests().size(), 5u);
}

TEST(EndpointEpisode, ManyTalkAtTheSameTime) {
  const RowSum kernels;
  EndpointServer server([&](const HttpRequest& request, const auto& reply, int) {
    const bool first = request.body.find("__global__") == std::string::npos;
    reply->respond(kernel_answer(first ? kernels.naive : kernels.fast));
  });
  EngineOptions options = engine_options();
  options.episode.turns = 2;
  const auto answers = answers_of(server);
  std::vector<EpisodeRequest> requests;
  for (std::uint64_t i = 0; i < 12; ++i) requests.push_back({i, shared_task("row_sum")});
  const auto episodes = converse(*answers, options, requests).value();
  for (const Episode& episode : episodes) {
    EXPECT_EQ(episode.end, EpisodeEnd::turns);
    EXPECT_EQ(episode.best, 1);
  }
}

TEST(EndpointEpisode, OpensByItsName) {
  EndpointServer server([](const HttpRequest&, const auto& reply, int) {
    reply->respond(json_response({{"data", {{{"id", "m"}, {"max_model_len", 5000}}}}}));
  });
  const std::string name = to_string(server.name());
  const auto model = AgentModel::open(name);
  ASSERT_TRUE(model.ok()) << to_string(model.error());
  EXPECT_EQ((*model)->name(), name);
  EXPECT_EQ((*model)->decoder(), nullptr);
  EXPECT_EQ((*model)->context(), 5000);
  EXPECT_EQ((*model)->dialect().style(), PromptStyle::chatml);
  EXPECT_EQ((*model)->adapter_of(AgentRole::generator), -1);
  const auto other = AgentModel::open(to_string(server.name("other"))).value();
  EXPECT_NE(other->fingerprint(), (*model)->fingerprint());
  EXPECT_FALSE(AgentModel::open(name, {.device = "gpu"}).ok());
  EXPECT_FALSE(AgentModel::open("http://127.0.0.1:1#m").ok());
}

TEST(EndpointEpisode, OwnsNoWeights) {
  const auto agents = find_agents("http://127.0.0.1:1#m");
  ASSERT_FALSE(agents.ok());
  EXPECT_NE(to_string(agents.error()).find("own no weights"), std::string::npos);
}

}  // namespace
}  // namespace kw
