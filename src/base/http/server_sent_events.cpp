#include "base/http/server_sent_events.h"

#include "base/check.h"

namespace kw {
namespace {

bool one_line(std::string_view text) { return text.find_first_of("\r\n") == std::string_view::npos; }

// The standard ends a line at \n, \r\n and \r alike, so each of them would end the field.
void add_data(std::string& text, std::string_view data) {
  while (true) {
    const std::size_t end = data.find_first_of("\r\n");
    text.append("data: ").append(data.substr(0, end)).push_back('\n');
    if (end == std::string_view::npos) return;
    data.remove_prefix(data.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
}

}  // namespace

std::string sse_event(std::int64_t id, std::string_view event, std::string_view data) {
  KW_CHECK(one_line(event));
  std::string text;
  text.reserve(data.size() + event.size() + 48);
  if (id >= 0) text.append("id: ").append(std::to_string(id)).push_back('\n');
  if (!event.empty()) text.append("event: ").append(event).push_back('\n');
  add_data(text, data);
  text.push_back('\n');
  return text;
}

std::string sse_data(std::string_view data) { return sse_event(-1, "", data); }

std::string sse_comment(std::string_view text) {
  KW_CHECK(one_line(text));
  return ": " + std::string(text) + "\n\n";
}

}  // namespace kw
