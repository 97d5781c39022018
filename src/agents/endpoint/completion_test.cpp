#include "agents/endpoint/completion.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kw {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

HttpResponse answer(const std::string& body, const std::string& type = "application/json") {
  return {200, type, body, {}};
}

TEST(Completion, BodiesSayWhatIsAskedFor) {
  EndpointQuestion question;
  question.model = "m";
  question.messages = {{"system", "s"}, {"user", "u\xff"}};
  question.rule = {0.8f, 40, 0.9f, ~std::uint64_t{0}};
  question.max_tokens = 7;
  Json body = Json::parse(question_body(question, {}));
  EXPECT_EQ(body["messages"][1]["role"], "user");
  EXPECT_EQ(body["max_tokens"], 7);
  EXPECT_EQ(body["temperature"], 0.8);
  EXPECT_EQ(body["top_k"], 40);
  EXPECT_EQ(body["seed"], -1);
  EXPECT_EQ(body["stream"], false);
  EndpointManners manners{.newer_length = true, .no_temperature = true, .no_top_p = true, .no_seed = true};
  body = Json::parse(question_body(question, manners));
  EXPECT_EQ(body["max_completion_tokens"], 7);
  for (const char* key : {"max_tokens", "temperature", "top_p", "seed"}) EXPECT_FALSE(body.contains(key)) << key;
  question.messages.clear();
  question.text = "<|gen|>";
  question.rule.temperature = 0;
  body = Json::parse(question_body(question, {}));
  EXPECT_EQ(body["prompt"], "<|gen|>");
  EXPECT_FALSE(body.contains("seed"));
}

TEST(Completion, ReadsAnswers) {
  const auto chat = read_completion(answer(R"({"choices":[{"message":{"role":"assistant","content":"hi"},
      "finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":3}})"),
                                    true);
  ASSERT_TRUE(chat.ok()) << to_string(chat.error());
  EXPECT_EQ(chat->text, "hi");
  EXPECT_EQ(chat->finish, FinishReason::stop_token);
  EXPECT_EQ(chat->usage.prompt_tokens, 12);
  EXPECT_EQ(chat->usage.answer_tokens, 3);
  const auto text = read_completion(answer(R"({"choices":[{"text":"12345","finish_reason":"length"}]})"), false);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->finish, FinishReason::length);
  EXPECT_EQ(text->usage.answer_tokens, 2);  // four bytes are one where nobody counts
  const auto parts = read_completion(
      answer(R"({"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]}}]})",
             "application/json; charset=utf-8"),
      true);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->text, "ab");
  EXPECT_EQ(read_completion(answer(R"({"choices":[{"message":{"content":null}}]})"), true)->text, "");
}

TEST(Completion, ThoughtsAreNoAnswer) {
  const auto text = [](const std::string& said) {
    return read_completion(answer(Json{{"choices", {{{"text", said}}}}}.dump()), false)->text;
  };
  EXPECT_EQ(text("\n<think>__global__</think>\nhere"), "\nhere");
  EXPECT_EQ(text("<think>never done"), "");
  EXPECT_EQ(text("see <think>"), "see <think>");
}

TEST(Completion, HostileAnswersAreErrors) {
  const std::string nested = std::string(10'000, '[');
  for (const std::string& body :
       {std::string(), std::string("null"), std::string("[]"), std::string("{"), std::string("{}"),
        std::string(R"({"choices":{}})"), std::string(R"({"choices":[]})"), std::string(R"({"choices":[1]})"),
        std::string(R"({"choices":[{"message":"x"}]})"), std::string(R"({"choices":[null],"choices":[null]})"),
        "{\"choices\":" + nested, std::string("{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}"),
        std::string(R"({"choices":[{"message":{"content":"a"},"finish_reason":"content_filter"}]})")})
    EXPECT_FALSE(read_completion(answer(body), true).ok()) << body.substr(0, 80);
  const std::string good = R"({"choices":[{"message":{"content":"hi"}}]})";
  EXPECT_TRUE(read_completion(answer(good), true).ok());
  for (const char* type : {"", "text/html", "text/event-stream", "application/octet-stream"})
    EXPECT_FALSE(read_completion(answer(good, type), true).ok()) << type;
  HttpResponse packed = answer(good);
  packed.headers = {{"content-encoding", "gzip"}};
  EXPECT_FALSE(read_completion(packed, true).ok());
  for (const char* count : {"-1", "1e300", "99999999999999999999", "\"3\"", "null", "18446744073709551615"}) {
    const auto read = read_completion(
        answer(std::string(R"({"choices":[{"message":{"content":"four"}}],"usage":{"completion_tokens":)") + count +
               "}}"),
        true);
    ASSERT_TRUE(read.ok()) << count;
    EXPECT_EQ(read->usage.answer_tokens, 1) << count;
  }
}

TEST(Completion, RefusalsFitOnALine) {
  EXPECT_EQ(refusal_of({429, "application/json", R"({"error":{"message":"slow\ndown"}})", {}}), "HTTP 429: slow down");
  EXPECT_EQ(refusal_of({400, "application/json", R"({"detail":"no"})", {}}), "HTTP 400: no");
  EXPECT_EQ(refusal_of({502, "text/html", "<html>", {}}), "HTTP 502 Bad Gateway");
  EXPECT_NE(refusal_of({307, "", "", {{"location", "http://evil/"}}}).find("not followed"), std::string::npos);
  EXPECT_LT(refusal_of({500, "", Json{{"error", std::string(100'000, 'x')}}.dump(), {}}).size(), 300u);
}

TEST(Completion, LearnsWhatAnEndpointDoesNotTake) {
  EndpointManners manners;
  const HttpResponse refused{400, "application/json", R"({"error":{"message":"no","param":"max_tokens"}})", {}};
  EXPECT_TRUE(learn_manners(refused, manners));
  EXPECT_TRUE(manners.newer_length);
  EXPECT_FALSE(learn_manners(refused, manners));  // it does not help to ask a third time
  EXPECT_FALSE(learn_manners({400, "application/json", R"({"error":{"param":"messages"}})", {}}, manners));
  EXPECT_FALSE(learn_manners({500, "application/json", R"({"error":{"param":"seed"}})", {}}, manners));
}

TEST(Completion, FactsOfAModel) {
  const HttpResponse list = answer(R"({"data":[{"id":"a","max_model_len":100},{"id":"tiny","prompts":"compact"},
      {"id":"l","meta":{"n_ctx_train":4096}}]})");
  EXPECT_EQ(facts_of_model(list, "a").context, 100);
  EXPECT_TRUE(facts_of_model(list, "tiny").compact);
  EXPECT_FALSE(facts_of_model(list, "a").compact);
  EXPECT_EQ(facts_of_model(list, "l").context, 4096);
  EXPECT_EQ(facts_of_model(list, "none").context, 0);
  EXPECT_EQ(facts_of_model(answer("{\"data\":[1,{}]}"), "a").context, 0);
}

TEST(Completion, WhenToComeBack) {
  const auto wait = [](std::vector<std::pair<std::string, std::string>> headers) {
    return asked_to_wait({429, "", "", std::move(headers)});
  };
  EXPECT_EQ(wait({{"retry-after", "3"}}), milliseconds(3000));
  EXPECT_EQ(wait({{"retry-after-ms", "250"}, {"retry-after", "3"}}), milliseconds(250));
  EXPECT_EQ(wait({{"retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"}}), milliseconds(0));
  EXPECT_GT(wait({{"retry-after", "Wed, 21 Oct 2099 07:28:00 GMT"}}), milliseconds(1'000'000));
  EXPECT_EQ(wait({{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "1m2.5s"}}),
            milliseconds(62'500));
  EXPECT_EQ(wait({{"x-ratelimit-remaining-tokens", "0"}, {"x-ratelimit-reset-tokens", "20ms"}}), milliseconds(20));
  EXPECT_EQ(wait({{"x-ratelimit-remaining-tokens", "5"}, {"x-ratelimit-reset-tokens", "20ms"}}), std::nullopt);
  for (const char* nonsense : {"", "soon", "-1", "nan", "inf", "1x", "1e400", "ms"})
    EXPECT_EQ(wait({{"retry-after", nonsense}}), std::nullopt) << nonsense;
}

}  // namespace
}  // namespace kw
