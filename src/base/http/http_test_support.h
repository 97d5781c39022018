#pragma once
// For tests: a blocking client that can also misbehave, and a server whose handler does what the path says.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/http/http_server.h"
#include "base/http/router.h"
#include "base/http/server_sent_events.h"

namespace kw {

// What never comes is missed after this; nothing else depends on it.
inline constexpr std::chrono::minutes test_patience{2};

struct TestAnswer {
  int status = 0;  // 0: the connection ended before an answer was complete
  std::map<std::string, std::string> headers;
  std::string body;
};

class TestClient {
 public:
  // Of a server on 127.0.0.1 or ::1 (by family), or on a Unix socket.
  explicit TestClient(int port, int receive_buffer_bytes = 0, int family = AF_INET) {
    socket_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer_bytes > 0) {
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 address6{};
    address6.sin6_family = AF_INET6;
    address6.sin6_port = htons(static_cast<std::uint16_t>(port));
    address6.sin6_addr = in6addr_loopback;
    connected_ = family == AF_INET ? connect(&address, sizeof address) : connect(&address6, sizeof address6);
  }
  explicit TestClient(const std::string& path) {
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    connected_ = connect(&address, sizeof address);
  }
  ~TestClient() { close(); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool connected() const { return connected_; }

  // From here on TLS, and the server must show a certificate of this file. False: there was no agreement.
  bool begin_tls(const std::string& trusted_file) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_load_verify_locations(context_.get(), trusted_file.c_str(), nullptr);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    tls_.reset(SSL_new(context_.get()));
    SSL_set_fd(tls_.get(), socket_);
    return SSL_connect(tls_.get()) == 1;
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Has anything come, or has the connection ended?
  bool readable(std::chrono::milliseconds patience = test_patience) const {
    pollfd descriptor{socket_, POLLIN, 0};
    return ::poll(&descriptor, 1, static_cast<int>(patience.count())) > 0;
  }

  // More bytes into the buffer; false at the end.
  bool receive() {
    std::array<char, 65536> bytes;
    if (!(tls_ && SSL_pending(tls_.get()) > 0) && !readable()) ADD_FAILURE() << "nothing came for minutes";
    const auto count =
        tls_ ? SSL_read(tls_.get(), bytes.data(), bytes.size()) : ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }

  // All up to and with `end`; empty: it never came.
  std::string read_until(std::string_view end) {
    std::size_t place = 0;
    while ((place = buffer_.find(end)) == std::string::npos) {
      if (!receive()) return "";
    }
    return take(place + end.size());
  }

  std::string read_to_end() {
    while (receive()) {
    }
    return take(buffer_.size());
  }

  // Head only, so that a stream can be read afterwards.
  TestAnswer read_head() {
    TestAnswer answer;
    std::string head = read_until("\r\n\r\n");
    if (!head.starts_with("HTTP/1.1 ")) return answer;
    answer.status = std::stoi(head.substr(9, 3));
    std::size_t line = head.find("\r\n") + 2;
    while (line + 2 < head.size()) {
      const std::size_t end = head.find("\r\n", line);
      const std::size_t colon = head.find(": ", line);
      answer.headers[head.substr(line, colon - line)] = head.substr(colon + 2, end - colon - 2);
      line = end + 2;
    }
    return answer;
  }

  TestAnswer read_answer(bool without_body = false) {
    TestAnswer answer = read_head();
    if (without_body || answer.status == 0) return answer;
    if (answer.headers.contains("Content-Length")) {
      const std::size_t length = std::stoul(answer.headers["Content-Length"]);
      while (buffer_.size() < length) {
        if (!receive()) return {};
      }
      answer.body = take(length);
    } else if (answer.headers["Transfer-Encoding"] == "chunked") {
      while (true) {
        const std::optional<std::string> part = read_chunk();
        if (!part) return {};
        if (part->empty()) break;
        answer.body += *part;
      }
    }
    return answer;
  }

  // Empty: the last one. None: the connection ended before it.
  std::optional<std::string> read_chunk() {
    const std::string line = read_until("\r\n");
    if (line.empty()) return std::nullopt;
    const std::size_t size = std::stoul(line, nullptr, 16);
    while (buffer_.size() < size + 2) {
      if (!receive()) return std::nullopt;
    }
    return take(size + 2).substr(0, size);
  }

  TestAnswer get(const std::string& path, const std::string& headers = "") {
    if (!send("GET " + path + " HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n")) return {};
    return read_answer();
  }
  TestAnswer post(const std::string& path, const std::string& body, const std::string& headers = "") {
    if (!send("POST " + path + " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
              headers + "\r\n" + body)) {
      return {};
    }
    return read_answer();
  }

  void half_close() const { ::shutdown(socket_, SHUT_WR); }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  // Without a goodbye, as a process that is killed with unread bytes.
  void reset() {
    const linger at_once{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

 private:
  bool connect(const void* address, socklen_t length) const {
    return ::connect(socket_, static_cast<const sockaddr*>(address), length) == 0;
  }
  std::string take(std::size_t bytes) {
    std::string taken = buffer_.substr(0, bytes);
    buffer_.erase(0, bytes);
    return taken;
  }

  int socket_ = -1;
  bool connected_ = false;
  std::string buffer_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, SSL_free};
};

// GET /hello, POST /echo, /hold (the test answers), GET /drop (nobody does), /throw, /big?bytes=N, GET /stream (held).
class TestServer {
 public:
  explicit TestServer(HttpServerOptions options = {}) {
    const auto answer = [](const std::string& text) { return HttpResponse{200, "text/plain", text, {}}; };
    router_.add("GET", "/hello", [=](const HttpRequest&, const auto& reply) { reply->respond(answer("hello")); });
    router_.add("POST", "/echo",
                [=](const HttpRequest& request, const auto& reply) { reply->respond(answer(request.body)); });
    router_.add("GET", "/big", [=](const HttpRequest& request, const auto& reply) {
      reply->respond(answer(std::string(std::stoul(request.query.at("bytes")), 'x')));
    });
    router_.add("GET", "/drop", [](const HttpRequest&, const auto&) {});
    router_.add("GET", "/throw", [](const HttpRequest&, const auto&) { throw std::runtime_error("on purpose"); });
    const auto hold = [this](HttpRequest request, const auto& reply) {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(std::move(request));
      held_.push_back(reply);
      changed_.notify_all();
    };
    router_.add("GET", "/hold", hold);
    router_.add("POST", "/hold", hold);
    router_.add("GET", "/stream", [hold](HttpRequest request, const auto& reply) {
      reply->begin_stream({200, std::string(sse_content_type), "", {}});
      hold(std::move(request), reply);
    });
    options.access_log = [this](const AccessRecord& record) {
      const std::scoped_lock lock(mutex_);
      log_.push_back(record);
      changed_.notify_all();
    };
    auto started = HttpServer::start(std::move(options), std::ref(router_));
    EXPECT_TRUE(started.ok()) << to_string(started.error());
    server_ = std::move(started).value();
  }

  HttpServer& server() { return *server_; }
  int port() const { return server_->port(); }
  void stop() { server_.reset(); }

  // The replies that are held, when there are as many; they are the caller's then.
  std::vector<std::shared_ptr<HttpReply>> wait_for_held(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, test_patience, [&] { return held_.size() >= count; }));
    return std::exchange(held_, {});
  }
  std::vector<HttpRequest> requests() {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }
  std::vector<AccessRecord> wait_for_log(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, test_patience, [&] { return log_.size() >= count; }));
    return log_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<HttpReply>> held_;
  std::vector<HttpRequest> requests_;
  std::vector<AccessRecord> log_;
  Router router_;
  std::unique_ptr<HttpServer> server_;
};

// Something that happens once, on another thread.
class TestEvent {
 public:
  void happen() {
    const std::scoped_lock lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, test_patience, [&] { return count_ > 0; });
  }
  int count() {
    const std::scoped_lock lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// Waits for what a count says, without a bound on how long that takes but the tests' patience.
template <class Condition>
bool comes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + test_patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace kw
