#pragma once
// From a connection's bytes to requests, one after the other. The grammar is Boost.Beast's parser; bounds and the rules
// against smuggled requests (two lengths, a length and chunks, unknown codings) are ours. No sockets here, so the
// fuzzer reaches all of it.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/http/http_message.h"

namespace kw {

class RequestReader {
 public:
  RequestReader(std::size_t max_header_bytes, std::size_t max_body_bytes);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Where the next bytes of the connection go; stays in place until the next call, whatever else is called. Empty: as
  // much as is kept has come, call next() or let it wait.
  std::span<char> space();
  void wrote(std::size_t bytes);

  enum class Step {
    need_more,  // bytes
    head,       // request() has everything but the body, which next() goes on to read
    complete,   // take() it, then restart()
    failed,     // failure() says why; nothing more can be read from this connection
  };
  Step next();

  // Has a request begun, that is, did any byte of it come?
  bool begun() const;
  std::uint64_t bytes_taken() const { return bytes_taken_; }  // of this request

  // From `head` on, and what is known of it after `failed`.
  const HttpRequest& request() const;
  bool keep_alive() const;
  bool is_http_1_1() const;
  bool expects_continue() const;
  bool has_body() const;
  std::optional<std::uint64_t> content_length() const;  // none: chunked, or no body

  HttpRequest take();
  const HttpResponse& failure() const;
  // The next request of the connection; bytes that have come already are kept.
  void restart();

 private:
  class Parser;
  Step fail(HttpResponse why);
  Step read_head();
  Step read_body();
  Step check_head();
  std::size_t pending() const { return end_ - begin_; }
  void consume(std::size_t bytes);

  const std::size_t max_header_bytes_;
  const std::size_t max_body_bytes_;
  std::unique_ptr<Parser> parser_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // bytes of buffer_ that came and were not taken
  std::size_t header_bytes_ = 0;     // taken by the head so far
  std::uint64_t bytes_taken_ = 0;
  bool head_given_ = false;
  std::optional<HttpResponse> failure_;
};

}  // namespace kw
