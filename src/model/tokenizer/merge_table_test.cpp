#include "model/tokenizer/merge_table.h"

#include <gtest/gtest.h>

#include <random>

namespace kw {
namespace {

TEST(MergeTable, InsertsOnce) {
  MergeTable table(2);
  EXPECT_TRUE(table.insert(0, 1, {0, 2}));
  EXPECT_FALSE(table.insert(0, 1, {1, 3}));
  ASSERT_NE(table.find(0, 1), nullptr);
  EXPECT_EQ(table.find(0, 1)->result, 2);
  EXPECT_EQ(table.find(1, 0), nullptr);
}

TEST(MergeTable, LowestRankThenLeftmost) {
  MergeTable table(2);
  table.insert(0, 0, {0, 1});  // aa
  table.insert(1, 0, {1, 2});  // aaa
  std::vector<TokenId> symbols{0, 0, 0, 0, 0};
  merge_word(table, symbols);
  EXPECT_EQ(symbols, (std::vector<TokenId>{1, 2}));
}

// The fast path equals the slow one: random tables, in which a result is always a longer string than its parts.
TEST(MergeTable, HeapEqualsScanning) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> tokens{"a", "b", "c"};
    MergeTable table(40);
    for (int rank = 0; rank < 40; ++rank) {
      const auto left = static_cast<TokenId>(random() % tokens.size()),
                 right = static_cast<TokenId>(random() % tokens.size());
      const std::string both = tokens[left] + tokens[right];
      const auto known = std::find(tokens.begin(), tokens.end(), both);
      const auto result = static_cast<TokenId>(known - tokens.begin());
      if (table.insert(left, right, {rank / 2, result}) && known == tokens.end()) tokens.push_back(both);
    }
    std::vector<TokenId> word(1 + random() % 120);
    for (TokenId& symbol : word) symbol = static_cast<TokenId>(random() % 3);
    auto scanned = word, heaped = word;
    merge_word_scanning(table, scanned);
    merge_word_with_heap(table, heaped);
    ASSERT_EQ(scanned, heaped);
  }
}

}  // namespace
}  // namespace kw
