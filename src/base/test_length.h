#pragma once
// How much of a long test `make test` does. `make test-thorough` sets KW_THOROUGH, and everything is done: every kernel
// of every corpus, all questions of an exam. That takes the better part of two hours on two cores.

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace kw {

inline bool thorough_tests() { return std::getenv("KW_THOROUGH") != nullptr; }

// Every fourth item, from place `first` on.
template <typename Item>
std::vector<Item> tested_share(const std::vector<Item>& all, std::size_t first = 0) {
  if (thorough_tests()) return all;
  std::vector<Item> share;
  for (std::size_t i = first; i < all.size(); i += 4) share.push_back(all[i]);
  return share;
}

}  // namespace kw
