#include "base/page/unified_diff.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/page/line_diff.h"

namespace kw {
namespace {

// "7,3": the first line and how many; a side without lines names the line before it.
std::string range_text(int first, int count) {
  if (count == 0) --first;
  return count == 1 ? fmt::format("{}", first) : fmt::format("{},{}", first, count);
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                         std::string_view after_name, int context) {
  const std::vector<DiffLine> lines = line_diff(before, after);
  const auto changed = [](const DiffLine& line) { return line.kind != DiffLine::Kind::same; };
  const auto around = static_cast<std::size_t>(std::max(context, 0));
  std::string text;
  int before_line = 1, after_line = 1;  // of lines[at]
  std::size_t at = 0;
  const auto pass = [&](const DiffLine& line) {
    before_line += line.kind != DiffLine::Kind::added;
    after_line += line.kind != DiffLine::Kind::removed;
  };
  for (;;) {
    std::size_t first = at;
    while (first < lines.size() && !changed(lines[first])) ++first;
    if (first == lines.size()) return text;
    if (text.empty()) text = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
    // The hunk ends where two contexts' worth of lines stay the same.
    std::size_t end = first + 1;
    for (std::size_t next = end; next < lines.size() && next <= end + 2 * around; ++next)
      if (changed(lines[next])) end = next + 1;
    const std::size_t begin = first - std::min(first - at, around);
    for (; at < begin; ++at) pass(lines[at]);
    end = std::min(end + around, lines.size());
    const int before_first = before_line, after_first = after_line;
    std::string body;
    for (; at < end; ++at) {
      const DiffLine& line = lines[at];
      body += line.kind == DiffLine::Kind::added ? '+' : line.kind == DiffLine::Kind::removed ? '-' : ' ';
      body += line.text + "\n";
      pass(line);
    }
    text += fmt::format("@@ -{} +{} @@\n{}", range_text(before_first, before_line - before_first),
                        range_text(after_first, after_line - after_first), body);
  }
}

}  // namespace kw
