#pragma once
// Calls to one HTTP/1.1 server, many at a time, by one thread: TCP, TLS with the server's certificate checked, or a
// Unix socket. Everything that the server can make big or slow has a bound. Each call has a connection of its own.
//
// Redirects are answers like others: nobody is sent elsewhere with a key in hand. No cookies, proxies, compression or
// HTTP/2.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/http/http_message.h"
#include "base/http/http_url.h"
#include "base/result.h"

namespace kw {

struct HttpClientLimits {
  std::size_t max_header_bytes = 32u << 10;
  std::size_t max_body_bytes = 8u << 20;
  std::chrono::milliseconds connect_time{10'000};  // finding the host, connecting, TLS's handshake
  std::chrono::milliseconds answer_time{600'000};  // from then on to the last byte of the answer
};

struct HttpClientOptions {
  HttpClientLimits limits;
  std::string trusted_file = {};  // PEM: whose certificates are believed; empty: whom this machine trusts
};

struct HttpCall {
  std::string method = "POST";
  std::string path;  // as it is sent, the whole of it
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

enum class HttpFault : std::uint8_t {
  no_connection,  // the host is not known, nobody listens, or it takes too long
  not_trusted,    // TLS: the certificate is not the host's, or not believed
  timed_out,      // the answer took too long
  cut_off,        // the connection ended before the answer did
  not_http,
  too_large,
};

struct HttpOutcome {
  std::optional<HttpResponse> response = {};  // of any status; none: there is a fault
  HttpFault fault = HttpFault::no_connection;
  std::string problem = {};  // one sentence; nothing of the call's headers is in it
};

class HttpClient {
 public:
  using Ticket = std::uint64_t;
  using Done = std::function<void(HttpOutcome)>;

  static Result<std::unique_ptr<HttpClient>> open(const HttpUrl& server, HttpClientOptions options = {});
  // Ends what is in progress; nothing is called back from then on. Not from its own thread.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // From any thread. `done` is called once, by the client's thread, which it must not block; not after cancel() has
  // returned, unless it was being called just then.
  Ticket send(HttpCall call, Done done);
  void cancel(Ticket ticket);
  // Calls back by the same thread, some time later.
  void after(std::chrono::milliseconds delay, std::function<void()> action);

 private:
  struct Running;
  class Exchange;
  explicit HttpClient(std::unique_ptr<Running> running);
  std::unique_ptr<Running> running_;
};

}  // namespace kw
