#include "base/http/http_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "base/http/http_target.h"

namespace kw {
namespace {

bool is_header_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool is_header_value(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

// "Wed, 18 Nov 2026 05:34:38 GMT", whatever the locale.
std::string http_date(std::time_t now) {
  static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days[utc.tm_wday], utc.tm_mday, months[utc.tm_mon],
                     utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace

std::string http_head(const HttpResponse& response, std::string_view request_id, const HttpHeadForm& form) {
  static const std::set<std::string> ours = {"content-length", "transfer-encoding", "connection", "keep-alive",
                                             "date",           "x-request-id"};
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\nX-Request-Id: {}\r\n", response.status,
                                 http_reason(response.status), http_date(std::time(nullptr)), request_id);
  const auto add = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  std::set<std::string> given;
  for (const auto& [name, value] : response.headers) {
    if (!is_header_name(name) || !is_header_value(value) || ours.contains(lower_case(name))) continue;
    given.insert(lower_case(name));
    add(name, value);
  }
  const auto add_default = [&](std::string_view name, std::string_view value) {
    if (!given.contains(lower_case(name))) add(name, value);
  };
  const bool is_events = response.content_type.starts_with("text/event-stream");
  if (!response.content_type.empty() && is_header_value(response.content_type)) {
    add_default("Content-Type", response.content_type);
  }
  add_default("X-Content-Type-Options", "nosniff");
  if (response.content_type.starts_with("text/html")) {
    add_default("X-Frame-Options", "DENY");
    add_default("Referrer-Policy", "no-referrer");
  } else if (is_events || response.content_type.starts_with("application/json")) {
    add_default("Cache-Control", "no-store");  // answers are about now, and some are one user's
  }
  if (is_events) add_default("X-Accel-Buffering", "no");  // nginx would hold events back
  if (form.stream) {
    if (form.http_1_1) add("Transfer-Encoding", "chunked");
  } else if (status_has_body(response.status)) {
    add("Content-Length", std::to_string(response.body.size()));
  }
  add("Connection", form.keep_alive ? "keep-alive" : "close");
  head.append("\r\n");
  return head;
}

std::string http_chunk(std::string_view bytes) {
  std::string chunk = fmt::format("{:x}\r\n", bytes.size());
  chunk.append(bytes).append("\r\n");
  return chunk;
}

}  // namespace kw
