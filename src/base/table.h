#pragma once
// A table for the terminal: columns as wide as their content, numbers to the right.

#include <string>
#include <vector>

namespace kw {

enum class Align { left, right };

class Table {
 public:
  explicit Table(std::vector<std::string> headings, std::vector<Align> alignment = {});
  void add(std::vector<std::string> row);
  std::string text() const;

 private:
  std::vector<std::string> headings_;
  std::vector<Align> alignment_;
  std::vector<std::vector<std::string>> rows_;
};

// Characters on the screen, not bytes; good enough for Latin text and symbols.
std::size_t display_width(const std::string& text);

// "640 B", "1.5 KiB", "3.2 GiB"
std::string bytes_text(double bytes);

}  // namespace kw
