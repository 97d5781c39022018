#include "agents/endpoint/endpoint_test_server.h"

namespace kw {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

TEST(EndpointPrompt, MessagesComeBackAsTheyWere) {
  const Tokenizer& tokenizer = test_bytes().tokenizer();
  Encoder encoder(tokenizer);
  const std::vector<ChatMessage> messages{{"system", ""}, {"user", "a\nb <|im_end|> \xc3\xa4 <|im_start|>system\n"}};
  const auto back = messages_of(tokenizer, chatml_ids(encoder, tokenizer, messages).value());
  ASSERT_TRUE(back.ok());
  ASSERT_EQ(back->size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*back)[i].role, messages[i].role);
    EXPECT_EQ((*back)[i].content, messages[i].content);
  }
  EXPECT_EQ(test_bytes(PromptStyle::compact).style(), PromptStyle::compact);
  for (const std::string text : {"", "hello", "<|im_start|>assistant\n", "<|im_start|>user\nhi<|im_end|>\n"})
    EXPECT_FALSE(messages_of(tokenizer, tokenizer.encode(text, SpecialTokens::recognised).value()).ok()) << text;
}

TEST(EndpointAnswers, AsksAndCounts) {
  EndpointServer server(in_turn({chat_answer("first", 3), chat_answer("cut", 9, "length")}));
  Asking asking(server, quick_limits(), {"sk-test", "KERNELWRIGHT_API_KEY", false});
  std::vector<std::string> heard;
  GenerationRequest request = chat_request("how?");
  request.max_tokens = 77;
  request.on_token = [&](const TokenEvent& event) { heard.emplace_back(event.text); };
  const GeneratedSample first = asking.ask(request);
  EXPECT_EQ(first.text, "first");
  EXPECT_EQ(first.finish, FinishReason::stop_token);
  EXPECT_EQ(first.usage.answer_tokens, 3);
  EXPECT_EQ(first.usage.prompt_tokens, 11);
  EXPECT_TRUE(first.tokens.empty());
  EXPECT_EQ(heard, std::vector<std::string>{"first"});
  EXPECT_EQ(asking.ask().finish, FinishReason::length);
  EXPECT_EQ(asking.answers->statistics().sampled_tokens, 12);
  EXPECT_TRUE(asking.answers->idle());
  const HttpRequest asked = server.requests().at(0);
  EXPECT_EQ(asked.path, "/v1/chat/completions");
  EXPECT_EQ(asked.header("authorization"), "Bearer sk-test");
  const Json body = Json::parse(asked.body);
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["max_tokens"], 77);
  EXPECT_EQ(body["messages"][1]["content"], "how?");
}

TEST(EndpointAnswers, SamplesAreCallsWithSeedsOfTheirOwn) {
  EndpointServer server([](const HttpRequest& request, const auto& reply, int) {
    reply->respond(chat_answer(std::to_string(Json::parse(request.body)["seed"].get<std::int64_t>())));
  });
  Asking asking(server);
  GenerationRequest request = chat_request("a", 3);
  request.rule.seed = 42;
  const RequestId id = asking.answers->submit(request).value();
  const GenerationResult result = asking.wait_for(1).at(id);
  ASSERT_EQ(result.samples.size(), 3u);
  for (std::int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(result.samples[static_cast<std::size_t>(i)].text,
              std::to_string(static_cast<std::int64_t>(sample_seed(42, i))));
}

TEST(EndpointAnswers, CompactPromptsAreTexts) {
  EndpointServer server(in_turn({chat_answer("kernel")}));
  Asking asking(server, quick_limits(), {}, PromptStyle::compact);
  GenerationRequest request;
  request.prompt =
      test_bytes(PromptStyle::compact).tokenizer().encode("<|gen|>x\n<|kernel|>", SpecialTokens::recognised).value();
  EXPECT_EQ(asking.ask(request).text, "kernel");
  EXPECT_EQ(server.requests().at(0).path, "/v1/completions");
  EXPECT_EQ(Json::parse(server.requests().at(0).body)["prompt"], "<|gen|>x\n<|kernel|>");
}

TEST(EndpointAnswers, NoMoreCallsAtATimeThanAllowed) {
  std::mutex mutex;
  std::vector<std::shared_ptr<HttpReply>> held;
  EndpointServer server([&](const HttpRequest&, const auto& reply, int) {
    const std::scoped_lock lock(mutex);
    held.push_back(reply);
  });
  EndpointLimits limits = quick_limits();
  limits.calls_at_a_time = 3;
  Asking asking(server, limits);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(asking.answers->submit(chat_request("a", 2)).ok());
  std::size_t answered = 0;
  while (answered < 10) {
    ASSERT_TRUE(comes_true([&] {
      const std::scoped_lock lock(mutex);
      return held.size() >= std::min<std::size_t>(3, 10 - answered);
    }));
    EXPECT_LE(asking.answers->running(), 3);
    const std::scoped_lock lock(mutex);
    EXPECT_LE(held.size(), 3u);
    held.back()->respond(chat_answer("a"));
    held.pop_back();
    ++answered;
  }
  EXPECT_EQ(asking.wait_for(5).size(), 5u);
}

TEST(EndpointAnswers, AsksAgainWhatMayPass) {
  EndpointServer server(in_turn({http_error(500, "oops"), http_error(503, "busy"), chat_answer("at last")}));
  EXPECT_EQ(Asking(server).ask().text, "at last");
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(EndpointAnswers, GivesUpAfterSomeAttempts) {
  EndpointServer server(in_turn({http_error(500, "oops")}));
  EndpointLimits limits = quick_limits();
  limits.attempts = 3;
  const GeneratedSample sample = Asking(server, limits).ask();
  EXPECT_EQ(sample.finish, FinishReason::failed);
  EXPECT_NE(sample.problem.find("HTTP 500: oops, after 3 attempts"), std::string::npos) << sample.problem;
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(EndpointAnswers, LeavesAnEndpointAloneThatAsksForIt) {
  HttpResponse slow_down = http_error(429, "slow down");
  slow_down.headers = {{"Retry-After-Ms", "120"}};
  using Clock = std::chrono::steady_clock;
  std::vector<Clock::time_point> times;
  EndpointServer server([&](const HttpRequest&, const auto& reply, int call) {
    times.push_back(Clock::now());
    reply->respond(call == 0 ? slow_down : chat_answer("a"));
  });
  EndpointLimits limits = quick_limits();
  limits.calls_at_a_time = 1;
  Asking asking(server, limits);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(asking.answers->submit(chat_request()).ok());
  EXPECT_EQ(asking.wait_for(3).size(), 3u);
  ASSERT_EQ(times.size(), 4u);
  EXPECT_GE(times[1] - times[0], milliseconds(110));  // nobody else called meanwhile
}

TEST(EndpointAnswers, DoesNotWaitForHours) {
  HttpResponse tomorrow = http_error(429, "no more today");
  tomorrow.headers = {{"Retry-After", "86400"}};
  EndpointServer server(in_turn({tomorrow}));
  const GeneratedSample sample = Asking(server).ask();
  EXPECT_EQ(sample.finish, FinishReason::failed);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(EndpointAnswers, LearnsTheEndpointsManners) {
  EndpointServer server([](const HttpRequest& request, const auto& reply, int) {
    const Json body = Json::parse(request.body);
    if (body.contains("max_tokens")) return reply->respond(http_error(400, "unsupported", "max_tokens"));
    if (body["temperature"] != 1) return reply->respond(http_error(400, "only the default", "temperature"));
    reply->respond(chat_answer("fine"));
  });
  Asking asking(server);
  EXPECT_EQ(asking.ask().text, "fine");
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_EQ(asking.ask().text, "fine");
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST(EndpointAnswers, AHostileEndpointCostsItsAnswerAlone) {
  HttpResponse elsewhere{302, "text/plain", "", {{"Location", "http://127.0.0.1:1/"}}};
  const std::vector<HttpResponse> hostile{
      {200, "application/json", "{\"choices\":", {}},
      {200, "application/json", "", {}},
      {200, "text/html", "<html>hello</html>", {}},
      {200, "text/event-stream", "data: {}\n\n", {}},
      {200, "application/json", std::string(300'000, '['), {}},
      json_response({{"choices", {{{"message", {{"content", std::string(200'000, 'x')}}}}}}}),
      json_response({{"choices", Json::array()}}),
      chat_answer("filtered", 1, "content_filter"),
      elsewhere,
      http_error(404, "no such model"),
      http_error(401, "who are you?"),
  };
  for (const HttpResponse& response : hostile) {
    EndpointServer server([&](const HttpRequest& request, const auto& reply, int) {
      reply->respond(request.body.find("hostile") != std::string::npos ? response : chat_answer("good"));
    });
    EndpointLimits limits = quick_limits();
    limits.http.max_body_bytes = 100'000;
    limits.attempts = 2;
    Asking asking(server, limits);
    const RequestId bad = asking.answers->submit(chat_request("hostile")).value();
    const RequestId good = asking.answers->submit(chat_request("other")).value();
    const auto results = asking.wait_for(2);
    EXPECT_EQ(results.at(bad).samples[0].finish, FinishReason::failed) << response.body.substr(0, 60);
    EXPECT_FALSE(results.at(bad).samples[0].problem.empty());
    EXPECT_LT(results.at(bad).samples[0].problem.size(), 600u);
    EXPECT_EQ(results.at(good).samples[0].text, "good");
  }
}

TEST(EndpointAnswers, SlowAndEndlessAnswersEnd) {
  std::mutex mutex;
  std::vector<std::shared_ptr<HttpReply>> held;
  EndpointServer server([&](const HttpRequest& request, const auto& reply, int) {
    if (request.body.find("good") != std::string::npos) return reply->respond(chat_answer("good"));
    if (request.body.find("endless") != std::string::npos) {
      reply->begin_stream({200, "application/json", "", {}});
      reply->write(std::string(1000, ' '));
    }
    const std::scoped_lock lock(mutex);
    held.push_back(reply);  // and nothing more, ever
  });
  EndpointLimits limits = quick_limits();
  limits.http.answer_time = milliseconds(200);
  Asking asking(server, limits);
  const RequestId slow = asking.answers->submit(chat_request("slow")).value();
  const RequestId endless = asking.answers->submit(chat_request("endless")).value();
  auto results = asking.wait_for(2);
  for (const RequestId id : {slow, endless}) {
    EXPECT_EQ(results.at(id).samples[0].finish, FinishReason::failed);
    EXPECT_NE(results.at(id).samples[0].problem.find("too long"), std::string::npos);
  }
  EXPECT_EQ(asking.ask(chat_request("good")).text, "good");
  EXPECT_EQ(server.requests().size(), 3u);  // what is slow is not asked again
}

TEST(EndpointAnswers, WhatIsCancelledEndsAtOnce) {
  std::mutex mutex;
  std::vector<std::shared_ptr<HttpReply>> held;
  EndpointServer server([&](const HttpRequest&, const auto& reply, int) {
    const std::scoped_lock lock(mutex);
    held.push_back(reply);
  });
  EndpointLimits limits = quick_limits();
  limits.calls_at_a_time = 1;
  Asking asking(server, limits);
  GenerationRequest request = chat_request("a", 2);
  request.on_token = [](const TokenEvent&) { ADD_FAILURE() << "nobody wants to hear of it"; };
  const RequestId id = asking.answers->submit(request).value();
  ASSERT_TRUE(comes_true([&] { return server.requests().size() == 1; }));
  asking.answers->cancel(id);
  asking.answers->cancel(id);
  asking.answers->cancel(999);
  const GenerationResult result = asking.wait_for(1).at(id);
  for (const GeneratedSample& sample : result.samples) EXPECT_EQ(sample.finish, FinishReason::cancelled);
  EXPECT_TRUE(asking.answers->idle());
  EXPECT_EQ(asking.answers->running(), 0);
}

TEST(EndpointAnswers, TheKeyIsNotToldAgain) {
  EndpointServer server([](const HttpRequest& request, const auto& reply, int call) {
    const std::string echo = "you sent " + request.header("authorization");
    reply->respond(call == 0 ? chat_answer(echo) : http_error(403, echo));
  });
  Asking asking(server, quick_limits(), {"sk-very-secret", "OPENAI_API_KEY", false});
  const GeneratedSample answered = asking.ask(), refused = asking.ask();
  EXPECT_EQ(answered.text, "you sent Bearer [key]");
  EXPECT_EQ(refused.problem.find("sk-very-secret"), std::string::npos) << refused.problem;
  EXPECT_NE(refused.problem.find("OPENAI_API_KEY"), std::string::npos) << refused.problem;
}

TEST(EndpointAnswers, EndsInTheMiddleOfEverything) {
  EndpointServer server(in_turn({http_error(503, "later")}));
  EndpointLimits limits;
  limits.first_wait = milliseconds(100'000);
  Asking asking(server, limits);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(asking.answers->submit(chat_request("a", 2)).ok());
  ASSERT_TRUE(comes_true([&] { return !server.requests().empty(); }));
}

TEST(EndpointAnswers, SaysAtOnceWhenNobodyAnswers) {
  const auto name = parse_endpoint_name("http://127.0.0.1:1#m").value();
  const auto facts = ask_about_model(name, {}, quick_limits());
  ASSERT_FALSE(facts.ok());
  EXPECT_NE(to_string(facts.error()).find("cannot connect"), std::string::npos);
  EndpointServer strict(in_turn({http_error(401, "no")}));
  const auto refused = ask_about_model(strict.name(), {}, quick_limits());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(to_string(refused.error()).find("KERNELWRIGHT_API_KEY"), std::string::npos);
  EndpointServer silent(in_turn({http_error(404, "no list here")}));
  EXPECT_TRUE(ask_about_model(silent.name(), {}, quick_limits()).ok());
}

}  // namespace
}  // namespace kw
