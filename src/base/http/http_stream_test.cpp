// Streams, clients that leave, and the end of the server.
#include <sys/resource.h>

#include <atomic>

#include "base/http/http_test_support.h"

namespace kw {
namespace {

HttpServerOptions bounded(const HttpLimits& limits) {
  HttpServerOptions options;
  options.limits = limits;
  return options;
}

TEST(HttpStream, PartsArriveAsTheyAreWritten) {
  TestServer server;
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
  const TestAnswer head = client.read_head();
  EXPECT_EQ(head.headers.at("Content-Type"), "text/event-stream");
  EXPECT_EQ(head.headers.at("Cache-Control"), "no-store");
  const auto replies = server.wait_for_held(1);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(replies[0]->write(sse_event(i, "tick", "{}")));
    // It is there before the next one is written.
    EXPECT_EQ(client.read_chunk(), "id: " + std::to_string(i) + "\nevent: tick\ndata: {}\n\n");
  }
  replies[0]->end_stream();
  EXPECT_EQ(client.read_chunk(), "");
  EXPECT_EQ(client.get("/hello").body, "hello");  // the connection goes on
}

TEST(HttpStream, ForHttp10TheEndIsTheEndOfTheConnection) {
  TestServer server;
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  const auto replies = server.wait_for_held(1);
  replies[0]->write("one ");
  replies[0]->write("two");
  replies[0]->end_stream();
  const std::string all = client.read_to_end();
  EXPECT_TRUE(all.ends_with("\r\n\r\none two")) << all;
  EXPECT_EQ(all.find("chunked"), std::string::npos);
}

TEST(HttpStream, AThousandAtOnceWithOneThread) {
  constexpr std::size_t count = 1000;
  TestServer server;  // raises the limit of open files
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 2 * count + 600) GTEST_SKIP() << "only " << limit.rlim_cur << " files may be open here";
  std::vector<std::unique_ptr<TestClient>> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.port()));
    ASSERT_TRUE(clients.back()->send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
  }
  const auto replies = server.wait_for_held(count);
  EXPECT_EQ(server.server().counts().connections, count);
  EXPECT_EQ(server.server().counts().in_flight, count);
  for (int round = 0; round < 3; ++round) {
    for (const auto& reply : replies) EXPECT_TRUE(reply->write(sse_data(std::to_string(round))));
  }
  EXPECT_EQ(TestClient(server.port()).get("/hello").body, "hello");
  for (const auto& reply : replies) reply->end_stream();
  for (const auto& client : clients) EXPECT_EQ(client->read_answer().body, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
  EXPECT_EQ(server.server().counts().in_flight, 0u);
}

TEST(HttpStream, SilenceIsFilledWithComments) {
  TestServer server(bounded({.comment_time = std::chrono::milliseconds(20)}));
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto replies = server.wait_for_held(1);
  EXPECT_EQ(client.read_head().status, 200);
  EXPECT_EQ(client.read_chunk(), ": keep-alive\n\n");
  EXPECT_EQ(client.read_chunk(), ": keep-alive\n\n");
  replies[0]->end_stream();
  while (client.read_chunk().value_or("") != "") {
  }
  EXPECT_EQ(client.get("/hello").body, "hello");
}

TEST(HttpStream, AClientThatDoesNotReadIsCutOff) {
  constexpr std::size_t limit_bytes = 1u << 20, part_bytes = 1u << 16;
  TestServer server(bounded({.max_unsent_bytes = limit_bytes}));
  TestClient client(server.port(), 4096);
  ASSERT_TRUE(client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto replies = server.wait_for_held(1);
  TestEvent gone;
  replies[0]->on_gone([&] { gone.happen(); });
  std::size_t taken_bytes = 0;
  while (replies[0]->write(std::string(part_bytes, 'x'))) {
    taken_bytes += part_bytes;
    EXPECT_LE(replies[0]->unsent_bytes(), limit_bytes + 4096);  // with what frames the parts
    ASSERT_LT(taken_bytes, 1u << 30);                           // the system's own buffers are far smaller
  }
  EXPECT_TRUE(gone.wait());
  EXPECT_TRUE(replies[0]->gone());
  EXPECT_TRUE(comes_true([&] { return server.server().counts().cut_off == 1; }));
  EXPECT_TRUE(server.wait_for_log(1)[0].gone);
  EXPECT_TRUE(comes_true([&] { return server.server().counts().connections == 0; }));
}

TEST(HttpStream, AStreamThatIsGivenUpIsCutNotEnded) {
  TestServer server;
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
  auto replies = server.wait_for_held(1);
  replies[0]->write("a part");
  replies.clear();
  EXPECT_EQ(client.read_answer().status, 0);  // no last chunk
}

TEST(HttpGone, IsNoticedWhileAnAnswerIsMade) {
  TestServer server;
  for (const bool with_goodbye : {true, false}) {
    for (const char* path : {"/hold", "/stream"}) {
      TestClient client(server.port());
      ASSERT_TRUE(client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n"));
      const auto replies = server.wait_for_held(1);
      TestEvent gone;
      replies[0]->on_gone([&] { gone.happen(); });
      with_goodbye ? client.close() : client.reset();
      EXPECT_TRUE(gone.wait());
      EXPECT_TRUE(replies[0]->gone());
      // Who asks later is told at once.
      bool at_once = false;
      replies[0]->on_gone([&] { at_once = true; });
      EXPECT_TRUE(at_once);
      if (std::string(path) == "/stream") {
        EXPECT_FALSE(replies[0]->write("lost"));
        replies[0]->end_stream();
      } else {
        replies[0]->respond({});  // lost, and no harm
      }
      EXPECT_EQ(gone.count(), 1);
    }
  }
  EXPECT_TRUE(comes_true([&] { return server.server().counts().connections == 0; }));
  EXPECT_EQ(server.server().counts().in_flight, 0u);
  EXPECT_EQ(server.wait_for_log(4).size(), 4u);
}

TEST(HttpGone, IsNoticedBehindMoreRequestsThanAreKept) {
  TestServer server;
  TestClient client(server.port());
  std::string bytes = "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n";
  // More than is kept, less than what the system takes for us: behind that, nobody can see a goodbye.
  while (bytes.size() < 45'000) bytes += "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_TRUE(client.send(bytes));
  const auto replies = server.wait_for_held(1);
  TestEvent gone;
  replies[0]->on_gone([&] { gone.happen(); });
  client.close();
  EXPECT_TRUE(gone.wait());
}

TEST(HttpGone, AHalfClosedClientStillGetsAnAnswer) {
  TestServer server;
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  client.half_close();
  const auto replies = server.wait_for_held(1);
  ASSERT_TRUE(comes_true([&] { return replies[0]->gone(); }));
  replies[0]->respond({200, "text/plain", "here it is", {}});
  EXPECT_EQ(client.read_answer().body, "here it is");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpDrain, WhatWasAcceptedIsAnsweredAndNothingElse) {
  HttpServerOptions options;
  options.always_paths = {"/hello"};
  TestServer server(options);
  TestClient waiting(server.port()), streaming(server.port()), idle(server.port());
  EXPECT_EQ(idle.get("/hello").status, 200);
  ASSERT_TRUE(waiting.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  auto waited = server.wait_for_held(1);
  ASSERT_TRUE(streaming.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
  auto streamed = server.wait_for_held(1);
  std::thread drain([&] { EXPECT_EQ(server.server().drain(), 0u); });
  // New requests are refused from some moment on, on old connections and on new ones.
  TestAnswer refused;
  ASSERT_TRUE(comes_true([&] {
    refused = TestClient(server.port()).get("/big?bytes=1");
    return refused.status == 503;
  }));
  EXPECT_EQ(refused.headers.at("Connection"), "close");
  EXPECT_TRUE(refused.headers.contains("Retry-After"));
  EXPECT_EQ(idle.get("/big?bytes=1").status, 503);
  EXPECT_EQ(TestClient(server.port()).get("/hello").status, 200);
  waited[0]->respond({200, "text/plain", std::string(1'000'000, 'x'), {}});
  EXPECT_TRUE(streamed[0]->write("last words"));
  streamed[0]->end_stream();
  EXPECT_EQ(waiting.read_answer().body.size(), 1'000'000u);
  EXPECT_EQ(streaming.read_answer().body, "last words");
  drain.join();
  EXPECT_FALSE(TestClient(server.port()).connected());
}

TEST(HttpDrain, UnderLoadNoAcceptedRequestIsLost) {
  constexpr int client_count = 8;
  std::atomic<int> handled = 0, answered = 0;
  // Answers come from another thread, some time later.
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<HttpReply>> queue;
  bool over = false;
  HttpServerOptions options;
  options.threads = 2;
  options.limits.drain_time = test_patience;
  auto server = HttpServer::start(options, [&](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    const std::scoped_lock lock(mutex);
    ++handled;
    queue.push_back(reply);
    changed.notify_all();
  });
  ASSERT_TRUE(server.ok());
  std::thread worker([&] {
    std::unique_lock lock(mutex);
    while (!over || !queue.empty()) {
      changed.wait(lock, [&] { return over || !queue.empty(); });
      if (queue.empty()) continue;
      auto reply = std::move(queue.back());
      queue.pop_back();
      lock.unlock();
      reply->respond({200, "text/plain", "done", {}});
      lock.lock();
    }
  });
  std::vector<std::thread> clients;
  const int port = (*server)->port();
  for (int i = 0; i < client_count; ++i) {
    clients.emplace_back([&] {
      for (bool refused = false; !refused;) {
        TestClient client(port);
        if (!client.connected()) break;
        for (int k = 0; k < 5; ++k) {
          const TestAnswer answer = client.get("/");
          if (answer.status == 200) ++answered;
          if (answer.status != 200) {
            refused = true;  // 503, or the connection was closed before the request arrived
            break;
          }
          if (answer.headers.at("Connection") == "close") break;
        }
      }
    });
  }
  ASSERT_TRUE(comes_true([&] { return answered >= 100; }));
  EXPECT_EQ((*server)->drain(), 0u);
  for (auto& client : clients) client.join();
  EXPECT_EQ(handled, answered);
  {
    const std::scoped_lock lock(mutex);
    over = true;
    changed.notify_all();
  }
  worker.join();
}

TEST(HttpDrain, EndsAfterItsTimeAndSaysWhatWasCut) {
  TestServer server(bounded({.drain_time = std::chrono::milliseconds(50)}));
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto replies = server.wait_for_held(1);
  TestEvent gone;
  replies[0]->on_gone([&] { gone.happen(); });
  EXPECT_EQ(server.server().drain(), 1u);
  EXPECT_TRUE(gone.wait());
  EXPECT_EQ(client.read_to_end(), "");
  replies[0]->respond({});  // nobody is there any more
}

TEST(HttpDrain, RepliesMayOutliveTheServer) {
  std::vector<std::shared_ptr<HttpReply>> replies;
  TestEvent gone;
  {
    TestServer server;
    TestClient client(server.port()), other(server.port());
    ASSERT_TRUE(client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
    ASSERT_TRUE(other.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
    replies = server.wait_for_held(2);
    for (const auto& reply : replies) reply->on_gone([&] { gone.happen(); });
    server.stop();
    EXPECT_EQ(gone.count(), 2);
  }
  for (const auto& reply : replies) EXPECT_TRUE(reply->gone());
  replies.clear();
}

}  // namespace
}  // namespace kw
