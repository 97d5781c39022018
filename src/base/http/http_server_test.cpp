#include "base/http/http_server.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/http/http_test_support.h"

namespace kw {
namespace {

HttpServerOptions with_limits(const HttpLimits& limits) {
  HttpServerOptions options;
  options.limits = limits;
  return options;
}

TEST(HttpServer, AnswersAndKeepsTheConnection) {
  TestServer server;
  TestClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    const TestAnswer answer = client.get("/hello");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "hello");
    EXPECT_EQ(answer.headers.at("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.headers.at("Connection"), "keep-alive");
    EXPECT_TRUE(answer.headers.contains("Date"));
  }
  EXPECT_EQ(client.post("/echo", "some body").body, "some body");
  EXPECT_EQ(server.server().counts().connections_total, 1u);
  const auto log = server.wait_for_log(4);
  EXPECT_EQ(log[3].method, "POST");
  EXPECT_EQ(log[3].path, "/echo");
  EXPECT_EQ(log[3].status, 200);
  EXPECT_FALSE(log[3].gone);
  EXPECT_GT(log[3].bytes_in, 9u);
  EXPECT_GT(log[3].bytes_out, 9u);
  EXPECT_TRUE(log[3].peer.starts_with("127.0.0.1:"));
  const auto line = nlohmann::json::parse(access_line(log[3]));
  EXPECT_EQ(line["path"], "/echo");
  EXPECT_EQ(server.server().counts().answers_by_class[2], 4u);
}

TEST(HttpServer, GivesAndTakesRequestIds) {
  TestServer server;
  TestClient client(server.port());
  EXPECT_EQ(client.get("/hello", "X-Request-Id: mine-7\r\n").headers.at("X-Request-Id"), "mine-7");
  const std::string first = client.get("/hello").headers.at("X-Request-Id");
  const std::string second = client.get("/hello", "X-Request-Id: no spaces\r\n").headers.at("X-Request-Id");
  EXPECT_NE(first, second);
  EXPECT_NE(second, "no spaces");
  EXPECT_EQ(client.get("/nothing", "X-Request-Id: of-an-error\r\n").headers.at("X-Request-Id"), "of-an-error");
}

TEST(HttpServer, ClosesWhenAsked) {
  TestServer server;
  TestClient client(server.port());
  const TestAnswer answer = client.get("/hello", "Connection: close\r\n");
  EXPECT_EQ(answer.headers.at("Connection"), "close");
  EXPECT_EQ(client.read_to_end(), "");
  TestClient old(server.port());
  old.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old.read_to_end().ends_with("\r\n\r\nhello"));
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  TestServer server;
  TestClient client(server.port());
  std::string bytes;
  for (int i = 0; i < 200; ++i) {
    const std::string body = "body " + std::to_string(i);
    bytes += "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  ASSERT_TRUE(client.send(bytes));
  for (int i = 0; i < 200; ++i) EXPECT_EQ(client.read_answer().body, "body " + std::to_string(i));
  // Then half-closed: what was sent before is still answered.
  ASSERT_TRUE(client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
  client.half_close();
  EXPECT_EQ(client.read_answer().body, "hello");
  EXPECT_EQ(client.read_answer().body, "hello");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpServer, HeadHasTheHeadersOfGetAndNoBody) {
  TestServer server;
  TestClient client(server.port());
  ASSERT_TRUE(client.send("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
  const TestAnswer answer = client.read_answer(true);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("Content-Length"), "5");
  EXPECT_EQ(client.get("/hello").body, "hello");  // and not what was left over
  ASSERT_TRUE(client.send("OPTIONS /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
  const TestAnswer options = client.read_answer(true);
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.headers.at("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_FALSE(options.headers.contains("Content-Length"));
  // A stream would never end for somebody who wants its head alone.
  ASSERT_TRUE(client.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(client.read_answer(true).headers.at("Content-Type"), "text/event-stream");
  const auto replies = server.wait_for_held(1);
  TestEvent gone;
  replies[0]->on_gone([&] { gone.happen(); });
  EXPECT_TRUE(gone.wait());
  EXPECT_FALSE(replies[0]->write("lost"));
  EXPECT_EQ(client.get("/hello").body, "hello");
}

TEST(HttpServer, SendsContinueToWhoWaitsForIt) {
  TestServer server(with_limits({.max_body_bytes = 1000}));
  TestClient client(server.port());
  ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(client.send("body"));
  EXPECT_EQ(client.read_answer().body, "body");
  // Too large: the answer comes instead of the invitation.
  ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.read_answer().status, 413);
  EXPECT_EQ(client.read_to_end(), "");
  TestClient other(server.port());
  ASSERT_TRUE(other.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: wonders\r\n\r\nbody"));
  EXPECT_EQ(other.read_answer().status, 417);
}

TEST(HttpServer, TakesChunkedBodies) {
  TestServer server;
  TestClient client(server.port());
  const std::string head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  // Byte by byte: nothing may depend on how the bytes arrive.
  for (const char c : head + "5;note=1\r\nhello\r\n7\r\n, world\r\n0\r\nTrailer: ignored\r\n\r\n") {
    ASSERT_TRUE(client.send({&c, 1}));
  }
  EXPECT_EQ(client.read_answer().body, "hello, world");
  EXPECT_EQ(client.get("/hello").body, "hello");
}

TEST(HttpServer, AnswersLaterFromAnyThread) {
  HttpServerOptions options;
  options.threads = 2;
  TestServer server(options);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.port()));
    ASSERT_TRUE(clients.back()->send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  }
  auto replies = server.wait_for_held(8);
  EXPECT_EQ(server.server().counts().in_flight, 8u);
  std::vector<std::thread> threads;
  for (auto& reply : replies) {
    threads.emplace_back([&reply] { reply->respond({200, "text/plain", "later", {}}); });
  }
  for (auto& client : clients) EXPECT_EQ(client->read_answer().body, "later");
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(server.server().counts().in_flight, 0u);
}

TEST(HttpServer, WithoutAnAnswerThereIsA500) {
  TestServer server;
  TestClient client(server.port());
  for (const char* path : {"/drop", "/throw"}) {
    const TestAnswer answer = client.get(path);
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(nlohmann::json::parse(answer.body)["error"]["type"], "server_error");
  }
  EXPECT_EQ(client.get("/hello").status, 200);
}

TEST(HttpServer, AHandlersHeadersCannotBreakOut) {
  auto server = HttpServer::start({}, [](const HttpRequest&, const std::shared_ptr<HttpReply>& reply) {
    reply->respond(
        {200,
         "text/html",
         "x",
         {{"A", "1\r\nSet-Cookie: evil"}, {"B", "2"}, {"Content-Length", "9"}, {"Cache-Control", "max-age=60"}}});
  });
  ASSERT_TRUE(server.ok());
  TestClient client((*server)->port());
  const TestAnswer answer = client.get("/");
  EXPECT_EQ(answer.body, "x");
  EXPECT_FALSE(answer.headers.contains("A"));
  EXPECT_FALSE(answer.headers.contains("Set-Cookie"));
  EXPECT_EQ(answer.headers.at("B"), "2");
  EXPECT_EQ(answer.headers.at("X-Frame-Options"), "DENY");
  EXPECT_EQ(answer.headers.at("Cache-Control"), "max-age=60");
}

TEST(HttpServer, ListensOnAUnixSocketOfItsOwner) {
  const TemporaryFolder folder;
  HttpServerOptions options;
  options.socket = folder.path() / "server.sock";
  {
    TestServer server(options);
    EXPECT_EQ(server.server().address(), "unix:" + options.socket);
    struct stat status {};
    ASSERT_EQ(stat(options.socket.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
    TestClient client(options.socket);
    EXPECT_EQ(client.get("/hello").body, "hello");
    EXPECT_EQ(server.wait_for_log(1)[0].peer, "unix");
    const auto second = HttpServer::start(options, [](const auto&, const auto&) {});
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.error().message.find("another program listens"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(options.socket));
  // What a killed server left is replaced, a file of somebody is not.
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, options.socket.data(), options.socket.size());
  ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(dead);
  EXPECT_EQ(TestServer(options).server().address(), "unix:" + options.socket);
  ASSERT_TRUE(write_file_atomic(options.socket, "a file").ok());
  EXPECT_FALSE(HttpServer::start(options, [](const auto&, const auto&) {}).ok());
  EXPECT_EQ(*read_file(options.socket), "a file");
}

TEST(HttpServer, ListensOnIPv6) {
  const int probe = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool possible = probe >= 0 && ::bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(probe);
  if (!possible) GTEST_SKIP() << "this machine has no IPv6";
  HttpServerOptions options;
  options.host = "::1";
  TestServer server(options);
  EXPECT_TRUE(server.server().address().starts_with("http://[::1]:")) << server.server().address();
  TestClient client(server.port(), 0, AF_INET6);
  EXPECT_EQ(client.get("/hello").body, "hello");
  options.host = "::";
  TestServer both(options);
  EXPECT_EQ(TestClient(both.port(), 0, AF_INET6).get("/hello").body, "hello");
  EXPECT_EQ(TestClient(both.port(), 0, AF_INET).get("/hello").body, "hello");
}

TEST(HttpServer, SaysWhyItCannotStart) {
  TestServer server;
  HttpServerOptions options;
  options.port = server.port();
  const auto nothing = [](const auto&, const auto&) {};
  const auto taken = HttpServer::start(options, nothing);
  ASSERT_FALSE(taken.ok());
  EXPECT_NE(taken.error().message.find(std::to_string(server.port())), std::string::npos);
  options.host = "no such host";
  EXPECT_FALSE(HttpServer::start(options, nothing).ok());
  options = {};
  options.tls_cert = "/nonexistent";
  EXPECT_FALSE(HttpServer::start(options, nothing).ok());
  options.tls_key = "/nonexistent";
  EXPECT_FALSE(HttpServer::start(options, nothing).ok());
  options = {};
  options.socket = "/" + std::string(200, 'x');
  EXPECT_FALSE(HttpServer::start(options, nothing).ok());
}

TEST(HttpServer, KnowsItsOwnNames) {
  HttpServerOptions options;
  options.allowed_hosts = {"localhost", "[::1]"};
  TestServer server(options);
  TestClient client(server.port());
  const auto ask = [&](const std::string& host) {
    client.send("GET /hello HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return client.read_answer().status;
  };
  EXPECT_EQ(ask("localhost"), 200);
  EXPECT_EQ(ask("LocalHost:8000"), 200);
  EXPECT_EQ(ask("[::1]:8000"), 200);
  EXPECT_EQ(ask("evil.example"), 421);
  EXPECT_EQ(ask("localhost.evil.example"), 421);
}

}  // namespace
}  // namespace kw
