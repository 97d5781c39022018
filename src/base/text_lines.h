#pragma once
// A text line by line.

#include <string_view>
#include <vector>

namespace kw {

// visit(line), without its end; what follows the last end is a line where it is not empty.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

struct TextLine {
  std::string_view text;
  int number = 0;  // from 1, as a message names it
};

// The lines that hold more than blanks. The text must outlive them.
inline std::vector<TextLine> written_lines(std::string_view text) {
  std::vector<TextLine> lines;
  int number = 0;
  for_each_line(text, [&](std::string_view line) {
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.push_back({line, number});
  });
  return lines;
}

}  // namespace kw
