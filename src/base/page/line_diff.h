#pragma once
// What changed from one text to the next, by lines.

#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct DiffLine {
  enum class Kind { same, removed, added };
  Kind kind = Kind::same;
  std::string text;
  int before = 0;  // line numbers from 1; 0: there is none on that side
  int after = 0;
};

// A longest common subsequence of lines stays, removed lines stand before added ones. Texts whose changed parts are
// longer than 2,000 lines are not compared there: everything is removed and added.
std::vector<DiffLine> line_diff(std::string_view before, std::string_view after);

std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace kw
