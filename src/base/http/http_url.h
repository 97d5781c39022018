#pragma once
// Where a client finds a server: "https://host:8443/v1", "http://[::1]:8000", or "unix:/tmp/kw.sock". A name and a
// password in it are refused: what is on a command line can be read by everybody on the machine.

#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

struct HttpUrl {
  bool tls = false;
  std::string host;  // a name or an address, without brackets; empty: a Unix socket
  int port = 0;
  std::string socket;  // the path of a Unix socket
  std::string path;    // "/v1"; empty where the URL has none, and never with a slash at its end
};

// Does it begin as one? What does not is somebody's name for something else.
bool looks_like_http_url(std::string_view text);
Result<HttpUrl> parse_http_url(std::string_view text);

std::string to_string(const HttpUrl& url);
// As the Host header has it: without the port that everybody expects.
std::string host_header(const HttpUrl& url);
// Does what is sent stay on this machine?
bool is_this_machine(const HttpUrl& url);

}  // namespace kw
