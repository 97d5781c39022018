#include "base/page/line_diff.h"

#include <algorithm>
#include <cstdint>

namespace kw {
namespace {

constexpr std::size_t most_lines = 2000;

using Lines = std::vector<std::string_view>;

class Differ {
 public:
  Differ(const Lines& before, const Lines& after) : before_(before), after_(after) {}

  std::vector<DiffLine> run() {
    std::size_t head = 0;
    const std::size_t shorter = std::min(before_.size(), after_.size());
    while (head < shorter && before_[head] == after_[head]) ++head;
    std::size_t tail = 0;
    while (tail < shorter - head && before_[before_.size() - 1 - tail] == after_[after_.size() - 1 - tail]) ++tail;
    for (std::size_t i = 0; i < head; ++i) keep(i, i);
    middle(head, before_.size() - tail, head, after_.size() - tail);
    for (std::size_t i = tail; i > 0; --i) keep(before_.size() - i, after_.size() - i);
    return std::move(out_);
  }

 private:
  void keep(std::size_t i, std::size_t j) {
    out_.push_back({DiffLine::Kind::same, std::string(before_[i]), static_cast<int>(i) + 1, static_cast<int>(j) + 1});
  }
  void remove(std::size_t i) {
    out_.push_back({DiffLine::Kind::removed, std::string(before_[i]), static_cast<int>(i) + 1, 0});
  }
  void add(std::size_t j) {
    out_.push_back({DiffLine::Kind::added, std::string(after_[j]), 0, static_cast<int>(j) + 1});
  }

  void middle(std::size_t i, std::size_t i_end, std::size_t j, std::size_t j_end) {
    const std::size_t rows = i_end - i, columns = j_end - j;
    if (rows > most_lines || columns > most_lines) {
      for (; i < i_end; ++i) remove(i);
      for (; j < j_end; ++j) add(j);
      return;
    }
    // common[r][c]: the longest common subsequence of what comes from line r and line c on.
    std::vector<std::uint16_t> common((rows + 1) * (columns + 1), 0);
    const auto at = [&](std::size_t r, std::size_t c) -> std::uint16_t& { return common[r * (columns + 1) + c]; };
    for (std::size_t r = rows; r-- > 0;)
      for (std::size_t c = columns; c-- > 0;)
        at(r, c) = before_[i + r] == after_[j + c] ? static_cast<std::uint16_t>(at(r + 1, c + 1) + 1)
                                                   : std::max(at(r + 1, c), at(r, c + 1));
    std::size_t r = 0, c = 0;
    std::vector<std::size_t> added;
    const auto flush = [&] {
      for (const std::size_t line : added) add(line);
      added.clear();
    };
    while (r < rows || c < columns) {
      if (r < rows && c < columns && before_[i + r] == after_[j + c]) {
        flush();
        keep(i + r++, j + c++);
      } else if (c == columns || (r < rows && at(r + 1, c) >= at(r, c + 1))) {
        remove(i + r++);
      } else {
        added.push_back(j + c++);
      }
    }
    flush();
  }

  const Lines& before_;
  const Lines& after_;
  std::vector<DiffLine> out_;
};

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<DiffLine> line_diff(std::string_view before, std::string_view after) {
  const Lines of_before = lines_of(before), of_after = lines_of(after);
  return Differ(of_before, of_after).run();
}

}  // namespace kw
