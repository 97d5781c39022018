#pragma once
// A request as a handler gets it, and an answer as it gives it. No bytes of the wire are in here.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kw {

struct HttpRequest {
  std::string id;                            // X-Request-Id: the client's own if it is [A-Za-z0-9_.-]{1,64}, else ours
  std::string method;                        // "GET", in upper case as clients send it
  std::string path;                          // percent-decoded UTF-8 without the query; no "..", no control characters
  std::string raw_path;                      // as it came, so that /v1/runs/a%2Fb can be told apart
  std::map<std::string, std::string> query;  // decoded; of a name that comes twice the last value
  std::map<std::string, std::string> headers;  // names in lower case; values of one name joined by ", "
  std::map<std::string, std::string> parts;    // what the {name} parts of the router's pattern stand for
  std::string body;
  std::string peer;  // "127.0.0.1:40312", "[::1]:40312" or "unix"
  std::string user;  // the key's name, where keys are used; else empty

  // Empty where there is none.
  const std::string& header(const std::string& lower_case_name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// The error form of OpenAI, which all of the service's errors have; the type follows from the status. 429 and 503 get a
// Retry-After of a second; give another one by headers.
HttpResponse http_error(int status, std::string_view message, std::string_view param = "", std::string_view code = "");

// "Not Found"; "Unknown" for numbers without a name.
std::string_view http_reason(int status);

}  // namespace kw
