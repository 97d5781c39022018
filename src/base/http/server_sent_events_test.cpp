#include "base/http/server_sent_events.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/http/http_head.h"
#include "base/http/http_message.h"

namespace kw {
namespace {

TEST(ServerSentEvents, HaveFieldsAndAnEmptyLine) {
  EXPECT_EQ(sse_event(7, "turn", "{\"a\":1}"), "id: 7\nevent: turn\ndata: {\"a\":1}\n\n");
  EXPECT_EQ(sse_event(-1, "turn", ""), "event: turn\ndata: \n\n");
  EXPECT_EQ(sse_data("[DONE]"), "data: [DONE]\n\n");
  EXPECT_EQ(sse_comment("keep-alive"), ": keep-alive\n\n");
}

TEST(ServerSentEvents, DataCannotBecomeAField) {
  EXPECT_EQ(sse_data("a\nevent: evil\n\nb"), "data: a\ndata: event: evil\ndata: \ndata: b\n\n");
  EXPECT_EQ(sse_data("a\r\nb\rc\n"), "data: a\ndata: b\ndata: c\ndata: \n\n");
}

TEST(HttpMessage, ErrorsHaveOpenAIsForm) {
  const HttpResponse response = http_error(400, "no \"task\" \xff", "task");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.content_type, "application/json");
  const auto error = nlohmann::json::parse(response.body)["error"];
  EXPECT_EQ(error["message"], "no \"task\" \xef\xbf\xbd");
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_EQ(error["param"], "task");
  EXPECT_TRUE(error["code"].is_null());
  EXPECT_TRUE(response.headers.empty());
  const HttpResponse busy = http_error(503, "busy", "", "overloaded");
  EXPECT_EQ(nlohmann::json::parse(busy.body)["error"]["type"], "server_error");
  EXPECT_EQ(nlohmann::json::parse(busy.body)["error"]["code"], "overloaded");
  EXPECT_EQ(busy.headers[0].first, "Retry-After");
  EXPECT_EQ(nlohmann::json::parse(http_error(401, "").body)["error"]["type"], "authentication_error");
  EXPECT_EQ(nlohmann::json::parse(http_error(429, "").body)["error"]["type"], "rate_limit_error");
}

TEST(HttpHead, LengthsFollowFromTheForm) {
  HttpResponse response{200, "text/plain", "hello", {}};
  const std::string whole = http_head(response, "id", {});
  EXPECT_TRUE(whole.starts_with("HTTP/1.1 200 OK\r\nDate: "));
  EXPECT_TRUE(whole.ends_with("\r\n\r\n"));
  EXPECT_NE(whole.find("\r\nContent-Length: 5\r\n"), std::string::npos);
  EXPECT_NE(whole.find("\r\nX-Request-Id: id\r\n"), std::string::npos);
  const std::string stream = http_head(response, "id", {true, true, true});
  EXPECT_NE(stream.find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_EQ(stream.find("Content-Length"), std::string::npos);
  const std::string old = http_head(response, "id", {false, false, true});
  EXPECT_EQ(old.find("Transfer-Encoding"), std::string::npos);
  EXPECT_NE(old.find("\r\nConnection: close\r\n"), std::string::npos);
  EXPECT_EQ(http_chunk(std::string(26, 'x')), "1a\r\n" + std::string(26, 'x') + "\r\n");
}

}  // namespace
}  // namespace kw
