#pragma once
// Python text while it is being made: lines, blocks behind a colon, and places that are filled later.

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kw {

class PythonBlock {
 public:
  void add(std::string line) { entries_.push_back({std::move(line), nullptr, false}); }
  // `header` ends with a colon; what is added to the result stands below it, indented.
  std::shared_ptr<PythonBlock> open(std::string header) {
    add(std::move(header));
    return inner(true);
  }
  // A place at this depth that may stay empty.
  std::shared_ptr<PythonBlock> reserve() { return inner(false); }
  void append(const PythonBlock& other) {
    entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
  }
  bool empty() const {
    for (const Entry& entry : entries_) {
      if (entry.inner == nullptr || entry.indented || !entry.inner->empty()) return false;
    }
    return true;
  }
  void render(std::string& out, int depth) const {
    for (const Entry& entry : entries_) {
      if (entry.inner == nullptr) {
        if (!entry.line.empty()) out += std::string(static_cast<std::size_t>(depth) * 4, ' ') + entry.line;
        out += '\n';
        continue;
      }
      const int below = depth + (entry.indented ? 1 : 0);
      if (entry.indented && entry.inner->empty()) {
        out += std::string(static_cast<std::size_t>(below) * 4, ' ') + "pass\n";
      } else {
        entry.inner->render(out, below);
      }
    }
  }

 private:
  struct Entry {
    std::string line;
    std::shared_ptr<PythonBlock> inner;  // null: a line
    bool indented = false;
  };
  std::shared_ptr<PythonBlock> inner(bool indented) {
    entries_.push_back({"", std::make_shared<PythonBlock>(), indented});
    return entries_.back().inner;
  }
  std::vector<Entry> entries_;
};

}  // namespace kw
