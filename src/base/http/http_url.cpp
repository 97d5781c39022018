#include "base/http/http_url.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>

#include "base/http/http_target.h"

namespace kw {
namespace {

constexpr std::string_view plain = "http://", secure = "https://", local = "unix:";
constexpr std::size_t max_url_bytes = 2048;
constexpr int plain_port = 80, secure_port = 443;

Error wrong(std::string_view url, const std::string& what) {
  return {fmt::format("'{}' is no address of a server: {}", url, what),
          "for example http://127.0.0.1:8000/v1, https://host/v1 or unix:/path/of.sock",
          {}};
}

bool is_host_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}
bool is_address_letter(char c) {
  return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.' || c == '%';
}

std::string without_slash(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

// "host:port" into both.
bool read_authority(std::string_view text, HttpUrl& url) {
  std::string_view host = text.substr(0, text.rfind(':')), port;
  const bool brackets = text.starts_with('[');
  if (brackets) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && port[0] != ':') return false;
  } else if (host.size() < text.size()) {
    port = text.substr(host.size());
  }
  url.host = lower_case(host);
  if (url.host.empty() || !std::ranges::all_of(url.host, brackets ? is_address_letter : is_host_letter)) return false;
  url.port = url.tls ? secure_port : plain_port;
  if (port.empty()) return true;
  const auto [end, problem] = std::from_chars(port.data() + 1, port.data() + port.size(), url.port);
  return problem == std::errc() && end == port.data() + port.size() && url.port > 0 && url.port < 65536;
}

}  // namespace

bool looks_like_http_url(std::string_view text) {
  return text.starts_with(plain) || text.starts_with(secure) || text.starts_with(local);
}

Result<HttpUrl> parse_http_url(std::string_view text) {
  // It may hold what must not be shown again; so it is cut where a password would stand.
  const std::string_view shown = text.substr(0, std::min<std::size_t>(text.find('@'), 200));
  if (!looks_like_http_url(text)) return wrong(shown, "it begins with none of http://, https:// and unix:");
  if (text.size() > max_url_bytes) return wrong(shown, "it is too long");
  if (!std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; }))
    return wrong("...", "it has a character that no URL has");
  HttpUrl url;
  if (text.starts_with(local)) {
    url.socket = std::string(text.substr(local.size()));
    if (url.socket.empty() || url.socket.size() >= sizeof(sockaddr_un::sun_path))
      return wrong(shown, "the path of a socket is missing or too long");
    return url;
  }
  url.tls = text.starts_with(secure);
  text.remove_prefix(url.tls ? secure.size() : plain.size());
  const std::string_view authority = text.substr(0, text.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos)
    return Error{"a URL may not hold a name or a password", "give the key by the environment", {}};
  const std::string_view path = text.substr(authority.size());
  if (path.find_first_of("?#\\\"<>") != std::string_view::npos) return wrong(shown, "it may not have a query");
  if (!read_authority(authority, url)) return wrong(shown, "host or port are not right");
  url.path = without_slash(path);
  return url;
}

std::string host_header(const HttpUrl& url) {
  if (url.host.empty()) return "localhost";
  const std::string host = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  return url.port == (url.tls ? secure_port : plain_port) ? host : fmt::format("{}:{}", host, url.port);
}

std::string to_string(const HttpUrl& url) {
  if (url.host.empty()) return std::string(local) + url.socket;
  return std::string(url.tls ? secure : plain) + host_header(url) + url.path;
}

bool is_this_machine(const HttpUrl& url) {
  return url.host.empty() || url.host == "localhost" || url.host == "::1" || url.host.starts_with("127.");
}

}  // namespace kw
