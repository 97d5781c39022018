#pragma once
// An HTTP/1.1 server: TCP (IPv4, IPv6), TLS, or a Unix socket that only its owner may use. Thousands of open streams
// need one thread. Everything a client can make big or slow has a bound: see HttpLimits.
//
// It does not speak HTTP/2, compress, serve files or follow WebSockets. A request is handed over when all of its body
// is there.

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/http/api_keys.h"
#include "base/http/http_reply.h"
#include "base/result.h"

namespace kw {

struct HttpLimits {
  std::size_t max_header_bytes = 32u << 10;   // 431; request line included
  std::size_t max_body_bytes = 8u << 20;      // 413, before it is read where its length is announced
  std::size_t max_bodies_bytes = 512u << 20;  // 503; of all requests in flight, as far as they have come
  // Above it the connection that has waited longest for a request is closed for a new one; where all are being
  // answered, a new one gets 503.
  std::size_t max_connections = 4096;
  std::size_t max_in_flight = 2048;         // 503; from the end of a request's head to the end of its answer
  std::size_t max_unsent_bytes = 4u << 20;  // of a stream, at a client that does not read; then it is cut off

  std::chrono::milliseconds header_time{10'000};   // for all of a request's head, and for TLS's handshake; 408
  std::chrono::milliseconds body_time{60'000};     // for all of a body; 408
  std::chrono::milliseconds idle_time{75'000};     // between two requests
  std::chrono::milliseconds write_time{60'000};    // without one byte read by the client
  std::chrono::milliseconds linger_time{2'000};    // how long bytes are thrown away after the last answer
  std::chrono::milliseconds comment_time{15'000};  // of silence in an event stream before ": keep-alive" is sent
  std::chrono::milliseconds drain_time{30'000};    // how long drain() waits
};

// One request that was answered, refused or left.
struct AccessRecord {
  std::string id;
  std::string method;
  std::string path;
  int status = 0;     // 499: the client left before there was an answer
  bool gone = false;  // the client left, or was cut off, before the end of the answer
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  double duration_s = 0;  // from the first byte of the request to the last one of the answer
  std::string user;
  std::string peer;
};

// One line of JSON without its end.
std::string access_line(const AccessRecord& record);

struct HttpCounts {
  std::size_t connections = 0;                      // now
  std::size_t in_flight = 0;                        // now
  std::uint64_t connections_total = 0;              // accepted since the start
  std::uint64_t requests_total = 0;                 // answered, refused or left
  std::array<std::uint64_t, 6> answers_by_class{};  // [4]: 4xx
  std::uint64_t refused = 0;                        // by a limit: 429 and 503 of the server itself, closed connections
  std::uint64_t timed_out = 0;                      // connections that were too slow
  std::uint64_t cut_off = 0;                        // streams whose client did not read
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // name or address; "::" is IPv6 and IPv4
  int port = 0;                    // 0: any free one
  std::string socket;              // a Unix socket's path, mode 0600; then there is no TCP
  std::string tls_cert, tls_key;   // PEM files, the certificate with its chain; both or none
  int threads = 1;
  HttpLimits limits;
  const ApiKeys* keys = nullptr;  // null: everybody may do everything; must outlive the server
  // Paths that need no key: "/health" is that path, "/page/" also all below it.
  std::vector<std::string> open_paths;
  // Paths that are answered while draining and above max_in_flight, so that somebody can see what is going on.
  std::vector<std::string> always_paths;
  // Names that a Host header may have, without port; empty: any. For a service on localhost without keys: a page of the
  // Web cannot reach it under a name of its own (DNS rebinding).
  std::vector<std::string> allowed_hosts;
  std::function<void(const AccessRecord&)> access_log;  // on an I/O thread, which it must not block
};

struct HttpServerState;

class HttpServer {
 public:
  // Called by an I/O thread; must not block. What it throws becomes a 500.
  using Handler = std::function<void(HttpRequest, std::shared_ptr<HttpReply>)>;

  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, Handler handler);
  // Cuts what is still open. Not from an I/O thread.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string address() const;  // "http://127.0.0.1:8000", "https://[::1]:8000", "unix:/path"
  int port() const;             // 0 for a Unix socket

  // From now on new requests get 503 and Connection: close; what was accepted is answered. Returns when all of it is,
  // or after drain_time, with the number of requests that were cut; then nothing listens any more. Streams are answers
  // too: end them, or it waits for them. Not from an I/O thread.
  std::size_t drain();

  HttpCounts counts() const;

 private:
  explicit HttpServer(std::shared_ptr<HttpServerState> state);
  void stop();

  struct Running;  // threads and what listens
  std::shared_ptr<HttpServerState> state_;
  std::unique_ptr<Running> running_;
};

}  // namespace kw
