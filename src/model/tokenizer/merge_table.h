#pragma once
// Byte-pair merging of one word: again and again the pair with the lowest rank, the leftmost first.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/tokenizer_spec.h"

namespace kw {

class MergeTable {
 public:
  struct Entry {
    std::int32_t rank;
    TokenId result;
  };

  MergeTable() : MergeTable(0) {}
  explicit MergeTable(std::size_t expected);

  // False where the pair is there already.
  bool insert(TokenId left, TokenId right, Entry entry);
  const Entry* find(TokenId left, TokenId right) const;

 private:
  struct Slot {
    std::uint64_t pair = empty;
    Entry entry{};
  };
  static constexpr std::uint64_t empty = ~std::uint64_t{0};
  std::size_t slot_of(std::uint64_t pair) const { return (pair * 0x9E3779B97F4A7C15u) >> shift_; }

  int shift_ = 63;
  std::vector<Slot> slots_;
};

// Merges `symbols` in place. Short words are scanned; long ones keep their pairs in a heap, so that n symbols take n
// log n steps.
void merge_word(const MergeTable& table, std::vector<TokenId>& symbols);

// The two ways of merge_word, for tests.
void merge_word_scanning(const MergeTable& table, std::vector<TokenId>& symbols);
void merge_word_with_heap(const MergeTable& table, std::vector<TokenId>& symbols);

}  // namespace kw
