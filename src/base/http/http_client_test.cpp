#include "base/http/http_client.h"

#include <future>

#include "base/http/http_test_certificate.h"
#include "base/http/http_test_support.h"

namespace kw {
namespace {

HttpUrl url_of(const std::string& text) { return parse_http_url(text).value(); }

struct Client {
  explicit Client(const std::string& server, HttpClientOptions options = {})
      : client(HttpClient::open(url_of(server), std::move(options)).value()) {}

  HttpOutcome call(HttpCall call) {
    auto promise = std::make_shared<std::promise<HttpOutcome>>();
    auto future = promise->get_future();
    client->send(std::move(call), [promise](HttpOutcome outcome) { promise->set_value(std::move(outcome)); });
    if (future.wait_for(test_patience) == std::future_status::ready) return future.get();
    ADD_FAILURE() << "no outcome for minutes";
    return {};
  }
  HttpOutcome get(const std::string& path) { return call({"GET", path, {}, ""}); }

  std::unique_ptr<HttpClient> client;
};

// Says what a test wants to each connection, whatever it is asked, and then closes or keeps silent.
class RawServer {
 public:
  RawServer(std::string bytes, bool closes) : bytes_(std::move(bytes)), closes_(closes) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~RawServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    for (const int connection : open_) ::close(connection);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void serve() {
    for (;;) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      char ignored[4096];
      (void)::recv(connection, ignored, sizeof ignored, 0);
      (void)::send(connection, bytes_.data(), bytes_.size(), MSG_NOSIGNAL);
      closes_ ? (void)::close(connection) : open_.push_back(connection);
    }
  }

  const std::string bytes_;
  const bool closes_;
  int listener_ = -1, port_ = 0;
  std::vector<int> open_;
  std::thread thread_;
};

HttpOutcome outcome_of(const std::string& bytes, bool closes = true, HttpClientLimits limits = {}) {
  const RawServer server(bytes, closes);
  HttpClientOptions options;
  options.limits = limits;
  return Client(server.url(), options).get("/");
}

TEST(HttpClient, TalksToOurServer) {
  TestServer server;
  Client client(server.server().address());
  EXPECT_EQ(client.get("/hello").response.value().body, "hello");
  const std::string big(1'000'000, 'x');
  EXPECT_EQ(client.call({"POST", "/echo", {{"Content-Type", "text/plain"}}, big}).response.value().body, big);
  EXPECT_EQ(client.get("/nowhere").response.value().status, 404);
  // A line end in a header would be a header of its own: it is left out.
  EXPECT_EQ(client.call({"POST", "/echo", {{"X-A", "b\r\nX-C: d"}}, "e"}).response.value().body, "e");
}

TEST(HttpClient, UnixSockets) {
  const TemporaryFolder folder;
  HttpServerOptions options;
  options.socket = folder.path() / "s";
  TestServer server(std::move(options));
  EXPECT_EQ(Client(server.server().address()).get("/hello").response.value().body, "hello");
}

TEST(HttpClient, TlsNeedsACertificateThatIsBelieved) {
  const TemporaryFolder folder;
  const TestCertificate ours{folder.path(), "ours"}, other{folder.path(), "other"};
  HttpServerOptions options;
  options.tls_cert = ours.certificate_file;
  options.tls_key = ours.key_file;
  TestServer server(options);
  const std::string address = server.server().address();
  EXPECT_EQ(Client(address, {.limits = {}, .trusted_file = ours.certificate_file}).get("/hello").response.value().body,
            "hello");
  for (const std::string& trusted : {std::string(), other.certificate_file}) {
    const HttpOutcome refused = Client(address, {.limits = {}, .trusted_file = trusted}).get("/hello");
    EXPECT_FALSE(refused.response);
    EXPECT_EQ(refused.fault, HttpFault::not_trusted) << refused.problem;
  }
  // A certificate for 127.0.0.1 is none for another name.
  const HttpOutcome other_name = Client("https://localhost:" + std::to_string(server.port()),
                                        {.limits = {}, .trusted_file = ours.certificate_file})
                                     .get("/hello");
  EXPECT_EQ(other_name.fault, HttpFault::not_trusted) << other_name.problem;
}

TEST(HttpClient, ManyAtATime) {
  TestServer server;
  Client client(server.server().address());
  std::atomic<int> done = 0;
  for (int i = 0; i < 200; ++i)
    client.client->send({"GET", "/hold", {}, ""},
                        [&done](HttpOutcome outcome) { done += outcome.response.has_value(); });
  std::vector<std::shared_ptr<HttpReply>> held;
  while (held.size() < 200)
    for (auto& reply : server.wait_for_held(1)) held.push_back(std::move(reply));
  EXPECT_EQ(done, 0);
  for (auto& reply : held) reply->respond({200, "text/plain", "x", {}});
  EXPECT_TRUE(comes_true([&] { return done == 200; }));
}

TEST(HttpClient, WhatIsCancelledIsNotHeardOfAgain) {
  TestServer server;
  Client client(server.server().address());
  TestEvent gone;
  int calls = 0;
  const auto ticket = client.client->send({"GET", "/hold", {}, ""}, [&calls](HttpOutcome) { ++calls; });
  const auto held = server.wait_for_held(1);
  held.at(0)->on_gone([&] { gone.happen(); });
  client.client->cancel(ticket);
  EXPECT_TRUE(gone.wait());
  client.client->send({"GET", "/hold", {}, ""}, [&calls](HttpOutcome) { ++calls; });
  (void)server.wait_for_held(1);
  client.client.reset();  // in the middle of it
  EXPECT_EQ(calls, 0);
}

TEST(HttpClient, TimersComeBack) {
  Client client("http://127.0.0.1:1");
  TestEvent later;
  client.client->after(std::chrono::milliseconds(1), [&] { later.happen(); });
  EXPECT_TRUE(later.wait());
}

TEST(HttpClient, HostileServers) {
  const auto fault = [](const std::string& bytes, bool closes = true) {
    const HttpOutcome outcome = outcome_of(bytes, closes);
    EXPECT_FALSE(outcome.response) << bytes;
    EXPECT_FALSE(outcome.problem.empty());
    return outcome.fault;
  };
  EXPECT_EQ(fault(""), HttpFault::cut_off);
  EXPECT_EQ(fault("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), HttpFault::cut_off);
  EXPECT_EQ(fault("220 mail.example.com ESMTP\r\n"), HttpFault::not_http);
  EXPECT_EQ(fault("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", false), HttpFault::too_large);
  EXPECT_EQ(fault("HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'a'), false), HttpFault::too_large);
  HttpClientLimits short_limits;
  short_limits.answer_time = std::chrono::milliseconds(50);
  EXPECT_EQ(outcome_of("", false, short_limits).fault, HttpFault::timed_out);
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", false, short_limits).fault,
            HttpFault::timed_out);
  const HttpOutcome redirected = outcome_of("HTTP/1.1 302 Go\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(redirected.response.value().status, 302);
}

TEST(HttpClient, NobodyThere) {
  std::string url;
  {
    const RawServer server("", true);
    url = server.url();
  }
  const HttpOutcome refused = Client(url).get("/");
  EXPECT_EQ(refused.fault, HttpFault::no_connection);
  EXPECT_NE(refused.problem.find("cannot connect"), std::string::npos) << refused.problem;
  EXPECT_EQ(Client("unix:/no/such.sock").get("/").fault, HttpFault::no_connection);
  EXPECT_EQ(Client("http://no-such-host.invalid").get("/").fault, HttpFault::no_connection);
}

}  // namespace
}  // namespace kw
