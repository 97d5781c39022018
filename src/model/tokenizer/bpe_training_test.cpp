#include "model/tokenizer/bpe_training.h"

#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/tokenizer_json.h"

namespace kw {
namespace {

// Counts all pairs anew after each merge: slow, and hard to get wrong.
std::vector<std::pair<std::string, std::string>> merges_counted_anew(std::map<std::vector<std::string>, int> words,
                                                                     std::size_t merges,
                                                                     std::map<std::string, int> ids) {
  std::vector<std::pair<std::string, std::string>> out;
  while (out.size() < merges) {
    std::map<std::pair<int, int>, std::pair<int, std::pair<std::string, std::string>>> counts;
    for (const auto& [word, count] : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) {
        auto& entry = counts[{ids.at(word[i]), ids.at(word[i + 1])}];
        entry.first += count;
        entry.second = {word[i], word[i + 1]};
      }
    }
    int best = 1;
    std::pair<std::string, std::string> pair;
    for (const auto& [key, entry] : counts) {
      if (entry.first > best) best = entry.first, pair = entry.second;
    }
    if (best < 2) break;
    out.push_back(pair);
    ids.emplace(pair.first + pair.second, static_cast<int>(ids.size()));
    std::map<std::vector<std::string>, int> next;
    for (const auto& [word, count] : words) {
      std::vector<std::string> merged;
      for (std::size_t i = 0; i < word.size(); ++i) {
        if (i + 1 < word.size() && word[i] == pair.first && word[i + 1] == pair.second) {
          merged.push_back(word[i] + word[i + 1]);
          ++i;
        } else {
          merged.push_back(word[i]);
        }
      }
      next[merged] += count;
    }
    words = std::move(next);
  }
  return out;
}

TEST(BpeTraining, EqualsCountingAnew) {
  std::uint32_t state = 5;
  for (int round = 0; round < 20; ++round) {
    std::map<std::vector<std::string>, int> words;
    std::string text;
    for (int w = 0; w < 200; ++w) {
      std::vector<std::string> word;
      state = state * 1664525u + 1013904223u;
      for (std::uint32_t i = 0, size = 1 + (state >> 20) % 9; i < size; ++i) {
        state = state * 1664525u + 1013904223u;
        word.emplace_back(1, static_cast<char>('a' + (state >> 24) % 3));
      }
      for (const auto& letter : word) text += letter;
      text += '\n';
      ++words[word];
    }
    PreTokenizerStep lines{
        .kind = PreTokenizerStep::Kind::split, .pattern = "\n", .literal = true, .behavior = SplitBehavior::removed};
    const auto spec =
        train_bpe({text}, {.vocabulary = 256 + 60,
                           .pre_tokenizer = {lines, {.kind = PreTokenizerStep::Kind::byte_level, .use_regex = false}}});
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    std::map<std::string, int> ids;
    for (int id = 0; id < 256; ++id) ids.emplace(spec->tokens[id], id);
    const auto expected = merges_counted_anew(words, spec->merges.size(), ids);
    ASSERT_EQ(expected.size(), spec->merges.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Merge& merge = spec->merges[i];
      ASSERT_EQ(expected[i], std::make_pair(spec->tokens[merge.left], spec->tokens[merge.right])) << round << " " << i;
    }
  }
}

TEST(BpeTraining, TheResultIsATokenizerAndTheSameAgain) {
  const auto text = read_file(std::filesystem::path(KW_SOURCE_ROOT) / "ARCHITECTURE.md");
  ASSERT_TRUE(text.ok());
  const BpeTrainingOptions options{.vocabulary = 600, .special = {"<|endoftext|>"}, .pre_tokenizer = smollm_steps()};
  auto spec = train_bpe({*text}, options);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->tokens.size(), 600u);
  EXPECT_EQ(to_tokenizer_json(*spec), to_tokenizer_json(*train_bpe({*text}, options)));
  const auto tokenizer = Tokenizer::make(std::move(*spec));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const auto ids = tokenizer->encode(*text);
  EXPECT_EQ(*tokenizer->decode(*ids), *text);
  EXPECT_LT(ids->size() * 2, text->size());
  EXPECT_TRUE(tokenizer->missing_bytes().empty());
}

TEST(BpeTraining, Bounds) {
  EXPECT_FALSE(train_bpe({"abc"}, {.vocabulary = 255}).ok());
  EXPECT_FALSE(train_bpe({"abc"}, {.vocabulary = max_vocabulary + 1}).ok());
  EXPECT_EQ(train_bpe({}, {.vocabulary = 300})->tokens.size(), 256u);
  EXPECT_EQ(train_bpe({"abab abab"}, {.vocabulary = 300, .min_frequency = 100})->merges.size(), 0u);
  EXPECT_EQ(train_bpe({"aaaa\xFF\xFF"}, {.vocabulary = 300, .min_frequency = 1})->tokens.size() > 256u, true);
}

}  // namespace
}  // namespace kw
