#pragma once
// From the bytes that a server sends to one answer. The grammar is Boost.Beast's parser; bounds are ours, because a
// server may be hostile. No sockets here, so the fuzzer reaches all of it.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/http/http_message.h"

namespace kw {

class ResponseReader {
 public:
  ResponseReader(std::size_t max_header_bytes, std::size_t max_body_bytes);
  ~ResponseReader();
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  enum class Step { need_more, complete, failed };
  enum class Fault { none, not_http, too_large, cut_off };
  Step add(std::string_view bytes);
  Step end();  // the connection has ended: some answers end with it

  Fault fault() const { return fault_; }
  const std::string& problem() const { return problem_; }
  // After `complete`. Names of headers are in lower case; one that comes twice is there twice.
  HttpResponse take();

 private:
  class Parser;
  Step fail(Fault fault, std::string problem);
  Step settle();  // what the parser has come to
  void restart();

  const std::size_t max_header_bytes_;
  const std::size_t max_body_bytes_;
  std::unique_ptr<Parser> parser_;
  std::string pending_;           // bytes that the parser has not taken
  std::size_t header_bytes_ = 0;  // of heads, those before the real one too
  Fault fault_ = Fault::none;
  std::string problem_;
};

// The first header of this name, in lower case; empty: there is none.
std::string_view header_of(const HttpResponse& response, std::string_view lower_case_name);

}  // namespace kw
