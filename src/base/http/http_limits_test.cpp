// Clients that send too much, too slowly, the wrong thing, or too often.
#include <nlohmann/json.hpp>

#include "base/http/http_test_support.h"

namespace kw {
namespace {

HttpServerOptions limited(const HttpLimits& limits) {
  HttpServerOptions options;
  options.limits = limits;
  return options;
}

// One request as bytes, on a connection of its own; the connection must end afterwards where the answer says so.
TestAnswer ask(TestServer& server, const std::string& bytes) {
  TestClient client(server.port());
  EXPECT_TRUE(client.send(bytes));
  TestAnswer answer = client.read_answer();
  if (answer.status >= 400 && answer.headers.at("Connection") == "close") {
    EXPECT_EQ(client.read_to_end(), "");
  }
  return answer;
}

TEST(HttpLimits, RefusesWhatIsNotARequest) {
  TestServer server;
  const std::vector<std::pair<std::string, int>> hostile = {
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\n\r\n", 400},                        // no Host
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},  // two
      {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},            // a space that hides a header from proxies
      {"GET / HTTP/1.1\r\nHost: a\r\nA\x01: b\r\n\r\n", 400},
      {"GET /%ff%fe HTTP/1.1\r\nHost: a\r\n\r\n", 400},  // not UTF-8
      {"GET /%c0%af HTTP/1.1\r\nHost: a\r\n\r\n", 400},  // an overlong slash
      {"GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /%2e%2e/etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /?a=%ff HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET hello HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", 400},
  };
  for (const auto& [bytes, status] : hostile) {
    const TestAnswer answer = ask(server, bytes);
    EXPECT_EQ(answer.status, status) << bytes;
    EXPECT_EQ(answer.headers.at("Connection"), "close") << bytes;
    const auto body = nlohmann::json::parse(answer.body);
    EXPECT_EQ(body["error"]["type"], status == 505 ? "server_error" : "invalid_request_error") << bytes;
  }
  EXPECT_EQ(TestClient(server.port()).get("/hello").status, 200);
  EXPECT_EQ(server.wait_for_log(hostile.size() + 1).size(), hostile.size() + 1);
  EXPECT_EQ(server.server().counts().in_flight, 0u);
}

TEST(HttpLimits, RefusesWrongLengths) {
  TestServer server(limited({.max_body_bytes = 100}));
  const std::string head = "POST /echo HTTP/1.1\r\nHost: a\r\n";
  const std::vector<std::pair<std::string, int>> hostile = {
      {"Content-Length: 101\r\n\r\n", 413},  // nothing of it is sent: the answer does not wait for it
      {"Content-Length: 18446744073709551615\r\n\r\n", 413},
      {"Content-Length: 18446744073709551616\r\n\r\n", 400},
      {"Content-Length: -1\r\n\r\n", 400},
      {"Content-Length: +4\r\n\r\nbody", 400},
      {"Content-Length: 4, 4\r\n\r\nbody", 400},
      {"Content-Length: 0x4\r\n\r\nbody", 400},
      {"Content-Length: \r\n\r\n", 400},
      {"Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody", 400},
      {"Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody", 400},
      {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", 400},
      {"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n4\r\nbody\r\n0\r\n\r\n", 400},
      {"Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"Transfer-Encoding: identity\r\n\r\n", 501},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"Transfer-Encoding: chunked\r\n\r\n-4\r\n", 400},
      {"Transfer-Encoding: chunked\r\n\r\n4\r\nbodyxx0\r\n\r\n", 400},
      {"Transfer-Encoding: chunked\r\n\r\n65\r\n", 413},
      {"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413},
      {"Transfer-Encoding: chunked\r\n\r\n4;" + std::string(40'000, 'x') + "\r\n", 400},
  };
  for (const auto& [bytes, status] : hostile)
    EXPECT_EQ(ask(server, head + bytes).status, status) << bytes.substr(0, 99);
  const std::string old = "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
  EXPECT_EQ(ask(server, old).status, 400);
  // Many small chunks that are too much together.
  std::string chunks = head + "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 101; ++i) chunks += "1\r\nx\r\n";
  EXPECT_EQ(ask(server, chunks).status, 413);
  // A length that is too short: what is left is no request.
  TestClient client(server.port());
  ASSERT_TRUE(client.send(head + "Content-Length: 2\r\n\r\nbody\r\n\r\n"));
  EXPECT_EQ(client.read_answer().body, "bo");
  EXPECT_EQ(client.read_answer().status, 400);
  EXPECT_EQ(client.read_to_end(), "");
  // One that is too long: the client closes before.
  TestClient half(server.port());
  ASSERT_TRUE(half.send(head + "Content-Length: 50\r\n\r\nbody"));
  half.half_close();
  EXPECT_EQ(half.read_answer().status, 400);
  EXPECT_TRUE(server.requests().empty());
}

TEST(HttpLimits, AHeadOf100MegabytesIsRefusedAtItsFirstKilobytes) {
  TestServer server(limited({.linger_time = test_patience}));
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /hello HTTP/1.1\r\nHost: a\r\nX-Large: "));
  const std::string part(1u << 16, 'x');
  for (int i = 0; i < 1600; ++i) {  // the last bytes may find a closed connection
    if (!client.send(part)) break;
  }
  EXPECT_EQ(client.read_answer().status, 431);
  // Many small ones are as bad, and so is a long path.
  std::string many = "GET /hello HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 4000; ++i) many += "X-" + std::to_string(i) + ": some value\r\n";
  EXPECT_EQ(ask(server, many + "\r\n").status, 431);
  EXPECT_EQ(ask(server, "GET /" + std::string(40'000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n").status, 431);
  EXPECT_LT(server.wait_for_log(3)[0].bytes_in, 64u << 10);
}

TEST(HttpLimits, ASlowHeadAndASlowBodyAreGivenUp) {
  const std::chrono::milliseconds short_time(50);
  TestServer server(limited({.header_time = short_time, .body_time = short_time}));
  for (const std::string begin : {"GET /hello HTTP/1.1\r\nHost: a\r\nX-Slow: ",
                                  "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"}) {
    TestClient client(server.port());
    ASSERT_TRUE(client.send(begin));
    while (!client.readable(std::chrono::milliseconds(5)) && client.send("x")) {
    }
    EXPECT_EQ(client.read_answer().status, 408);
  }
  // Who says nothing at all gets no answer.
  TestClient silent(server.port());
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_GE(server.server().counts().timed_out, 2u);
  EXPECT_EQ(server.server().counts().in_flight, 0u);
}

TEST(HttpLimits, SlowClientsDoNotKeepOthersOut) {
  const std::chrono::hours never(1);
  TestServer server(limited({.max_connections = 20, .header_time = never, .idle_time = never}));
  std::vector<std::unique_ptr<TestClient>> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(std::make_unique<TestClient>(server.port()));
    ASSERT_TRUE(slow.back()->send("GET /hello HTTP/1.1\r\nHost: a\r\nX-Slow: "));
  }
  ASSERT_TRUE(comes_true([&] { return server.server().counts().connections == 20; }));
  for (int i = 0; i < 30; ++i) EXPECT_EQ(TestClient(server.port()).get("/hello").body, "hello");
}

TEST(HttpLimits, ConnectionsAboveTheLimitGet503WhereAllAreBusy) {
  TestServer server(limited({.max_connections = 3}));
  std::vector<std::unique_ptr<TestClient>> busy;
  for (int i = 0; i < 3; ++i) {
    busy.push_back(std::make_unique<TestClient>(server.port()));
    ASSERT_TRUE(busy.back()->send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  }
  const auto replies = server.wait_for_held(3);
  const TestAnswer refused = TestClient(server.port()).get("/hello");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("Retry-After"), "1");
  EXPECT_GE(server.server().counts().refused, 1u);
  for (const auto& reply : replies) reply->respond({});
  for (const auto& client : busy) EXPECT_EQ(client->read_answer().status, 200);
  EXPECT_EQ(TestClient(server.port()).get("/hello").status, 200);
}

TEST(HttpLimits, RequestsInFlightAreBounded) {
  HttpServerOptions options = limited({.max_in_flight = 2});
  options.always_paths = {"/hello"};
  TestServer server(options);
  TestClient first(server.port()), second(server.port()), third(server.port());
  ASSERT_TRUE(first.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  ASSERT_TRUE(second.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  auto replies = server.wait_for_held(2);
  const TestAnswer refused = third.post("/echo", "x");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("Retry-After"), "1");
  EXPECT_EQ(third.get("/hello").status, 200);  // somebody must be able to look
  // A client that left does not free its place while its request is still being worked on.
  second.close();
  TestEvent gone;
  replies[1]->on_gone([&] { gone.happen(); });
  ASSERT_TRUE(gone.wait());
  EXPECT_EQ(third.post("/echo", "x").status, 503);
  replies.clear();
  EXPECT_EQ(first.read_answer().status, 500);
  EXPECT_EQ(third.post("/echo", "x").status, 200);
}

TEST(HttpLimits, BodiesInFlightAreBoundedTogether) {
  constexpr std::size_t body_bytes = 1u << 20;
  TestServer server(limited({.max_body_bytes = body_bytes, .max_bodies_bytes = body_bytes * 3 / 2}));
  const std::string head =
      "POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body_bytes) + "\r\n\r\n";
  TestClient first(server.port()), second(server.port());
  ASSERT_TRUE(first.send(head + std::string(body_bytes, 'x')));
  auto held = server.wait_for_held(1);
  // One that only announces its body holds nothing.
  TestClient patient(server.port());
  ASSERT_TRUE(patient.send(head));
  second.send(head + std::string(body_bytes, 'y'));
  const TestAnswer refused = second.read_answer();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("Retry-After"), "1");
  EXPECT_EQ(TestClient(server.port()).post("/echo", "small").status, 200);
  held[0]->respond({200, "text/plain", "done", {}});
  held.clear();
  EXPECT_EQ(first.read_answer().status, 200);
  ASSERT_TRUE(patient.send(std::string(body_bytes, 'z')));
  held = server.wait_for_held(1);
  held[0]->respond({200, "text/plain", "done", {}});
  EXPECT_EQ(patient.read_answer().status, 200);
}

TEST(HttpLimits, KeysAndTheirQuotas) {
  const std::string key = ApiKeys::make_key(), other = ApiKeys::make_key();
  auto keys =
      ApiKeys::parse(ApiKeys::line_for("alice", key, {0, 1}) + "\n" + ApiKeys::line_for("bob", other, {2, 0}), "keys");
  ASSERT_TRUE(keys.ok());
  HttpServerOptions options;
  options.keys = &*keys;
  options.open_paths = {"/hello"};
  TestServer server(options);
  TestClient client(server.port());
  EXPECT_EQ(client.get("/hello").status, 200);
  const TestAnswer missing = client.get("/big?bytes=1");
  EXPECT_EQ(missing.status, 401);
  EXPECT_EQ(missing.headers.at("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(nlohmann::json::parse(missing.body)["error"]["type"], "authentication_error");
  EXPECT_EQ(client.post("/echo", "body", "Authorization: Bearer wrong\r\n").status, 401);
  EXPECT_EQ(client.post("/echo", "body", "Authorization: Basic " + key + "\r\n").status, 401);
  EXPECT_EQ(client.post("/echo", "body", "Authorization: bearer " + key + "\r\n").status, 200);
  // Alice may have one in flight.
  TestClient holding(server.port());
  ASSERT_TRUE(holding.send("GET /hold HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + key + "\r\n\r\n"));
  const auto replies = server.wait_for_held(1);
  EXPECT_EQ(server.requests()[0].user, "alice");
  const TestAnswer busy = client.get("/big?bytes=1", "Authorization: Bearer " + key + "\r\n");
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.headers.at("Retry-After"), "1");
  EXPECT_EQ(nlohmann::json::parse(busy.body)["error"]["type"], "rate_limit_error");
  replies[0]->respond({});
  EXPECT_EQ(holding.read_answer().status, 200);
  EXPECT_EQ(client.get("/big?bytes=1", "Authorization: Bearer " + key + "\r\n").status, 200);
  // Bob's two of a minute, however long the first ones take.
  int served = 0;
  TestAnswer last;
  for (int i = 0; i < 1000 && last.status != 429; ++i) {
    last = client.get("/big?bytes=1", "Authorization: Bearer " + other + "\r\n");
    served += last.status == 200;
  }
  EXPECT_GE(served, 2);
  EXPECT_EQ(last.status, 429);
  EXPECT_GE(std::stoi(last.headers.at("Retry-After")), 1);
}

TEST(HttpLimits, AnAnswerThatNobodyReadsIsGivenUp) {
  TestServer server(limited({.write_time = std::chrono::milliseconds(100)}));
  TestClient client(server.port(), 4096);
  ASSERT_TRUE(client.send("GET /big?bytes=50000000 HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto log = server.wait_for_log(1);
  EXPECT_TRUE(log[0].gone);
  EXPECT_LT(log[0].bytes_out, 50'000'000u);
  EXPECT_EQ(server.server().counts().timed_out, 1u);
}

}  // namespace
}  // namespace kw
