#pragma once
// What a term is made of, in the term itself: at most a load's indices and its guard. Terms are made by the hundred for
// a program, most to be found known already.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/check.h"

namespace kw::program {

using TermId = int;

class TermParts {
 public:
  static constexpr std::size_t most = 14;

  TermParts() = default;
  TermParts(std::initializer_list<TermId> parts) : TermParts(std::span(parts.begin(), parts.size())) {}
  explicit TermParts(std::span<const TermId> parts) {
    for (const TermId part : parts) push_back(part);
  }

  const TermId* begin() const { return parts_.data(); }
  const TermId* end() const { return parts_.data() + count_; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  TermId operator[](std::size_t place) const { return parts_[place]; }
  TermId back() const { return parts_[count_ - 1]; }
  void push_back(TermId part) {
    KW_CHECK(count_ < most);
    parts_[count_++] = part;
  }
  void pop_back() { --count_; }
  friend bool operator==(const TermParts& one, const TermParts& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
  }

 private:
  std::array<TermId, most> parts_{};
  std::uint32_t count_ = 0;
};

}  // namespace kw::program
