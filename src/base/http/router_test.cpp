#include "base/http/router.h"

#include <gtest/gtest.h>

#include "base/http/http_target.h"

namespace kw {
namespace {

class KeptReply : public HttpReply {
 public:
  void respond(HttpResponse answer) override { response = std::move(answer); }
  void begin_stream(HttpResponse head) override { response = std::move(head); }
  bool write(std::string) override { return false; }
  void end_stream() override {}
  void on_gone(std::function<void()>) override {}
  bool gone() const override { return false; }
  HttpResponse response;
};

HttpResponse ask(const Router& router, const std::string& method, const std::string& raw_path) {
  HttpRequest request;
  request.method = method;
  const auto target = parse_http_target(raw_path);
  EXPECT_TRUE(target.ok());
  request.path = target->path;
  request.raw_path = target->raw_path;
  const auto reply = std::make_shared<KeptReply>();
  router(request, reply);
  return reply->response;
}

// Answers with its name and its parts: "run name=a/b".
Router::Handler says(const std::string& name) {
  return [name](const HttpRequest& request, const std::shared_ptr<HttpReply>& reply) {
    std::string text = name;
    for (const auto& [part, value] : request.parts) text += " " + part + "=" + value;
    reply->respond({200, "text/plain", text, {}});
  };
}

Router example() {
  Router router;
  router.add("GET", "/", says("page"));
  router.add("GET", "/v1/runs/{name}/metrics", says("metrics"));
  router.add("GET", "/v1/runs/{name}", says("run"));
  router.add("DELETE", "/v1/runs/{name}", says("delete"));
  router.add("GET", "/v1/runs/live", says("live"));
  router.add("POST", "/v1/{kind}/{name}/{action}", says("action"));
  router.add("GET", "/page/{file...}", says("file"));
  return router;
}

TEST(Router, FindsTheHandlerAndItsParts) {
  const Router router = example();
  EXPECT_EQ(ask(router, "GET", "/").body, "page");
  EXPECT_EQ(ask(router, "GET", "/v1/runs/a").body, "run name=a");
  EXPECT_EQ(ask(router, "GET", "/v1/runs/a%2Fb%20c").body, "run name=a/b c");
  EXPECT_EQ(ask(router, "GET", "/v1/runs/a%2Fb/metrics").body, "metrics name=a/b");
  EXPECT_EQ(ask(router, "DELETE", "/v1/runs/a").body, "delete name=a");
  EXPECT_EQ(ask(router, "GET", "/v1/runs/live").body, "live");
  EXPECT_EQ(ask(router, "POST", "/v1/x/y/z").body, "action action=z kind=x name=y");
  EXPECT_EQ(ask(router, "GET", "/page/css/style.css").body, "file file=css/style.css");
  EXPECT_EQ(ask(router, "HEAD", "/v1/runs/a").body, "run name=a");
}

TEST(Router, SaysWhatThereIsNot) {
  const Router router = example();
  for (const char* path :
       {"/v1", "/v1/runs", "/v1/runs/", "/v1/runs/a/", "/v1/runs//metrics", "/page/", "/page", "//"}) {
    const HttpResponse response = ask(router, "GET", path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_NE(response.body.find("invalid_request_error"), std::string::npos);
  }
}

TEST(Router, SaysWhatIsAllowed) {
  const Router router = example();
  const HttpResponse wrong = ask(router, "PUT", "/v1/runs/a");
  EXPECT_EQ(wrong.status, 405);
  ASSERT_EQ(wrong.headers.size(), 1u);
  EXPECT_EQ(wrong.headers[0].second, "DELETE, GET, HEAD, OPTIONS");
  EXPECT_EQ(ask(router, "POST", "/v1/runs/a").status, 405);
  // A pattern that fits less closely has the method.
  EXPECT_EQ(ask(router, "DELETE", "/v1/runs/live").body, "delete name=live");
  const HttpResponse options = ask(router, "OPTIONS", "/v1/runs/a");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.headers[0].second, "DELETE, GET, HEAD, OPTIONS");
  EXPECT_EQ(ask(router, "OPTIONS", "*").headers[0].second, "DELETE, GET, HEAD, OPTIONS, POST");
}

}  // namespace
}  // namespace kw
