#pragma once
// What is known of some of a graph's terms, by their numbers: walks over a body ask it about every part.

#include <utility>
#include <vector>

#include "agents/program/graph.h"

namespace kw::program {

class TermMap {
 public:
  // nullptr: nothing is known.
  const int* find(TermId term) const {
    const auto& [key, value] = slots_[slot_of(term)];
    return key == term ? &value : nullptr;
  }
  // False where something is known already, which stays.
  bool add(TermId term, int value) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    auto& slot = slots_[slot_of(term)];
    if (slot.first == term) return false;
    slot = {term, value};
    ++count_;
    return true;
  }

 private:
  static constexpr std::pair<TermId, int> free{-1, 0};

  std::size_t slot_of(TermId term) const {
    std::size_t slot = static_cast<std::uint32_t>(term) * 0x9E3779B9u >> 7 & (slots_.size() - 1);
    while (slots_[slot].first >= 0 && slots_[slot].first != term) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  void grow() {
    std::vector<std::pair<TermId, int>> before(2 * slots_.size(), free);
    before.swap(slots_);
    for (const auto& each : before)
      if (each.first >= 0) slots_[slot_of(each.first)] = each;
  }

  std::vector<std::pair<TermId, int>> slots_ = std::vector<std::pair<TermId, int>>(64, free);
  std::size_t count_ = 0;
};

}  // namespace kw::program
