#include "model/rollout/answer_text.h"

#include <algorithm>

#include "base/check.h"

namespace kw {
namespace {

// Bytes at the end of `text` that begin a UTF-8 character and do not finish it.
std::size_t unfinished_character(std::string_view text) {
  const std::size_t reach = std::min<std::size_t>(text.size(), 3);
  for (std::size_t back = 1; back <= reach; ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0u) == 0x80u) continue;  // a following byte: its first one lies further left
    const std::size_t length = byte >= 0xF0u ? 4 : byte >= 0xE0u ? 3 : byte >= 0xC0u ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

AnswerText::AnswerText(std::span<const std::string> stops) : stops_(stops.begin(), stops.end()) {
  for (const std::string& stop : stops_) KW_CHECK(!stop.empty());
}

bool AnswerText::append(std::string_view bytes) {
  const std::size_t before = text_.size();
  text_ += bytes;
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops_) {
    // A match that is new ends in the new bytes.
    const std::size_t from = before - std::min(before, stop.size() - 1);
    first = std::min(first, text_.find(stop, from));
  }
  if (first == std::string::npos) return false;
  text_.resize(first);
  return true;
}

std::string_view AnswerText::take_visible(bool all) {
  std::size_t end = text_.size();
  if (!all) {
    std::size_t held = unfinished_character(text_);
    for (const std::string& stop : stops_) {
      for (std::size_t length = std::min(stop.size() - 1, text_.size()); length > held; --length) {
        if (text_.ends_with(std::string_view(stop).substr(0, length))) held = length;
      }
    }
    end -= held;
  }
  // What was shown is never part of a stop string that comes later, so `end` moves forward only.
  if (end <= shown_) return {};
  const std::string_view visible = std::string_view(text_).substr(shown_, end - shown_);
  shown_ = end;
  return visible;
}

}  // namespace kw
