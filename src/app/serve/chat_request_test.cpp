#include "app/serve/chat_request.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

struct ReadChat {
  ChatRequest request;
  std::optional<HttpResponse> problem;
};

ReadChat read(const std::string& body, bool chat = true) {
  HttpRequest http;
  http.body = body;
  RequestFields fields(http);
  ReadChat result{read_chat_request(fields, chat), {}};
  result.problem = fields.problem();
  return result;
}

TEST(ChatRequest, AllThatClientsSend) {
  const ReadChat all = read(R"({"model": "m", "messages": [{"role": "developer", "content": "be brief"},
      {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
      "n": 2, "max_completion_tokens": 7, "max_tokens": 9, "temperature": 0.5, "top_p": 0.9, "seed": -3,
      "stop": ["x", "y"], "logprobs": true, "stream": true, "stream_options": {"include_usage": true},
      "presence_penalty": 0, "tools": [], "response_format": {"type": "text"}})");
  ASSERT_FALSE(all.problem) << all.problem->body;
  EXPECT_EQ(all.request.messages.at(0).role, "system");
  EXPECT_EQ(all.request.messages.at(1).content, "ab");
  EXPECT_EQ(all.request.answers, 2);
  EXPECT_EQ(all.request.max_tokens, 7);
  EXPECT_EQ(all.request.seed, static_cast<std::uint64_t>(-3));
  EXPECT_EQ(all.request.stop.size(), 2u);
  EXPECT_TRUE(all.request.logprobs && all.request.stream && all.request.usage_in_stream);
}

TEST(ChatRequest, WhatIsNotDoneIsRefusedByName) {
  for (const char* member : {R"("tools": [{"type": "function"}])", R"("presence_penalty": 1)",
                             R"("response_format": {"type": "json_object"})", R"("top_logprobs": 3)",
                             R"("logit_bias": {"5": 1})", R"("stop": "")", R"("n": 0)", R"("temperature": 3)"}) {
    const std::string body =
        R"({"model": "m", "messages": [{"role": "user", "content": "hi"}], )" + std::string(member) + "}";
    EXPECT_TRUE(read(body).problem) << member;
  }
}

TEST(ChatRequest, MessagesMustBeMessages) {
  for (const char* messages :
       {"[]", "\"hi\"", "[1]", R"([{"role": "tool", "content": "x"}])", R"([{"role": "user", "content": 3}])",
        R"([{"role": "user", "content": [{"type": "image_url"}]}])"})
    EXPECT_TRUE(read(R"({"model": "m", "messages": )" + std::string(messages) + "}").problem) << messages;
}

TEST(ChatRequest, CompletionsNeedAPrompt) {
  EXPECT_FALSE(read(R"({"model": "m", "prompt": "once", "logprobs": 0})", false).problem);
  EXPECT_TRUE(read(R"({"model": "m"})", false).problem);
  EXPECT_TRUE(read(R"({"model": "m", "prompt": ["a", "b"]})", false).problem);
  EXPECT_TRUE(read(R"({"model": "m", "prompt": "a", "echo": true})", false).problem);
}

}  // namespace
}  // namespace kw
