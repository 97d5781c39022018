#pragma once
// The target of a request line ("/v1/runs/a%2Fb?after=3") and other short texts of a request, which are all hostile.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

struct HttpTarget {
  std::string path;      // decoded, UTF-8, no "..", no control characters; "*" for OPTIONS *
  std::string raw_path;  // as it came
  std::map<std::string, std::string> query;
};

// Takes "/path?query", "http://host/path?query", as a proxy would send it, and "*".
Result<HttpTarget> parse_http_target(std::string_view target);

// nullopt where a % is not followed by two hexadecimal digits. A plus becomes a space in forms and queries only.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space = false);

bool is_utf8(std::string_view text);

// Of ASCII letters, as names of headers are compared.
std::string lower_case(std::string_view text);

// What may stand in an X-Request-Id: [A-Za-z0-9_.-]{1,64}.
bool is_request_id(std::string_view text);

}  // namespace kw
