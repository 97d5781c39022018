#pragma once
// Server-sent events (the HTML standard, 9.2): the text of one event of a stream.

#include <cstdint>
#include <string>
#include <string_view>

namespace kw {

inline constexpr std::string_view sse_content_type = "text/event-stream";

// "id: 3\nevent: verdict\ndata: {...}\n\n". Lines of data are split, which the client undoes. No id where it is
// negative, no event name where it is empty; a name must be one line.
std::string sse_event(std::int64_t id, std::string_view event, std::string_view data);
// OpenAI's "data: ...\n\n".
std::string sse_data(std::string_view data);
// A line that clients ignore.
std::string sse_comment(std::string_view text);

}  // namespace kw
