#pragma once
// The bytes before an answer's body, and around the parts of a stream.

#include <string>
#include <string_view>

#include "base/http/http_message.h"

namespace kw {

struct HttpHeadForm {
  bool http_1_1 = true;
  bool keep_alive = true;
  bool stream = false;  // no length: chunks, or for HTTP/1.0 all until the end of the connection
};

// With Date, X-Request-Id and the headers that keep browsers from guessing. What the server itself decides (lengths,
// Connection) and headers that are no headers (a line end in a value) are left out of `response.headers`.
std::string http_head(const HttpResponse& response, std::string_view request_id, const HttpHeadForm& form);

// A part of a stream that is not empty; an empty one would be its end.
std::string http_chunk(std::string_view bytes);
inline constexpr std::string_view http_last_chunk = "0\r\n\r\n";

// Answers with these numbers have no body.
constexpr bool status_has_body(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace kw
