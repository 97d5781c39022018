#include "base/http/http_test_certificate.h"
#include "base/http/http_test_support.h"

namespace kw {
namespace {

class HttpTls : public testing::Test {
 protected:
  HttpServerOptions options() const {
    HttpServerOptions options;
    options.tls_cert = ours.certificate_file;
    options.tls_key = ours.key_file;
    return options;
  }
  const TemporaryFolder folder;
  const TestCertificate ours{folder.path(), "ours"}, other{folder.path(), "other"};
};

TEST_F(HttpTls, AnswersAndStreams) {
  TestServer server(options());
  EXPECT_TRUE(server.server().address().starts_with("https://127.0.0.1:"));
  TestClient client(server.port());
  ASSERT_TRUE(client.begin_tls(ours.certificate_file));
  EXPECT_EQ(client.get("/hello").body, "hello");
  EXPECT_EQ(client.post("/echo", std::string(1'000'000, 'x')).body.size(), 1'000'000u);
  EXPECT_EQ(client.get("/big?bytes=3000000").body.size(), 3'000'000u);
  ASSERT_TRUE(client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto replies = server.wait_for_held(1);
  replies[0]->write("one");
  EXPECT_EQ(client.read_head().status, 200);
  EXPECT_EQ(client.read_chunk(), "one");
  replies[0]->end_stream();
  EXPECT_EQ(client.read_chunk(), "");
  EXPECT_EQ(client.get("/hello", "Connection: close\r\n").status, 200);
  EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(HttpTls, ARefusedBodyDoesNotLoseTheAnswer) {
  HttpServerOptions small = options();
  small.limits.max_body_bytes = 1000;
  TestServer server(small);
  TestClient client(server.port());
  ASSERT_TRUE(client.begin_tls(ours.certificate_file));
  EXPECT_EQ(client.post("/echo", std::string(100'000, 'x')).status, 413);
}

TEST_F(HttpTls, AClientThatLeavesIsNoticed) {
  TestServer server(options());
  TestClient client(server.port());
  ASSERT_TRUE(client.begin_tls(ours.certificate_file));
  ASSERT_TRUE(client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto replies = server.wait_for_held(1);
  TestEvent gone;
  replies[0]->on_gone([&] { gone.happen(); });
  client.close();
  EXPECT_TRUE(gone.wait());
}

TEST_F(HttpTls, OtherCertificatesAndPlainTextAreRefused) {
  HttpServerOptions quick = options();
  quick.limits.header_time = std::chrono::milliseconds(100);
  TestServer server(quick);
  EXPECT_FALSE(TestClient(server.port()).begin_tls(other.certificate_file));
  TestClient plain(server.port());
  ASSERT_TRUE(plain.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(plain.read_to_end().find("hello"), std::string::npos);
  EXPECT_EQ(TestClient(server.port()).read_to_end(), "");  // a handshake that never begins
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTls, AKeyMustBelongToItsCertificate) {
  HttpServerOptions wrong = options();
  wrong.tls_key = other.key_file;
  EXPECT_FALSE(HttpServer::start(wrong, [](const auto&, const auto&) {}).ok());
}

TEST_F(HttpTls, DrainsToo) {
  TestServer server(options());
  TestClient client(server.port()), idle(server.port());
  ASSERT_TRUE(client.begin_tls(ours.certificate_file));
  ASSERT_TRUE(idle.begin_tls(ours.certificate_file));
  ASSERT_TRUE(client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
  auto replies = server.wait_for_held(1);
  std::thread drain([&] { EXPECT_EQ(server.server().drain(), 0u); });
  replies[0]->respond({200, "text/plain", "late", {}});
  EXPECT_EQ(client.read_answer().body, "late");
  EXPECT_EQ(client.read_to_end(), "");
  client.close();
  drain.join();
}

}  // namespace
}  // namespace kw
