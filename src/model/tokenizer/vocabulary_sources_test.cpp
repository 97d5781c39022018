#include "model/tokenizer/vocabulary_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/tokenizer/tokenizer.h"

namespace kw {
namespace {

using testing::ElementsAre;

VocabularyArrays small() {
  VocabularyArrays out;
  out.pre = "smollm";
  out.tokens = {"<|im_start|>", "a", "b", "ab", "Ġ", "1"};
  out.types = {3, 1, 1, 1, 1, 1};
  out.merges = {"a b"};
  return out;
}

TEST(VocabularyArrays, Encodes) {
  auto spec = spec_from_gguf(small());
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  const auto tokenizer = Tokenizer::make(std::move(*spec));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_THAT(*tokenizer->encode("<|im_start|>ab 11", SpecialTokens::recognised), ElementsAre(0, 3, 4, 5, 5));
  EXPECT_TRUE(tokenizer->is_special(0));
  EXPECT_FALSE(tokenizer->is_special(1));
}

TEST(VocabularyArrays, Hostile) {
  const auto wrong = [](auto change) {
    VocabularyArrays vocabulary = small();
    change(vocabulary);
    auto spec = spec_from_gguf(vocabulary);
    EXPECT_FALSE(spec.ok() && Tokenizer::make(std::move(*spec)).ok());
  };
  wrong([](VocabularyArrays& v) { v.model = "llama"; });
  wrong([](VocabularyArrays& v) { v.pre = "unheard-of"; });
  wrong([](VocabularyArrays& v) { v.types.pop_back(); });
  wrong([](VocabularyArrays& v) { v.types[1] = 77; });
  wrong([](VocabularyArrays& v) { v.tokens[1] = "b"; });
  wrong([](VocabularyArrays& v) { v.tokens[1] = "\xFF"; });
  wrong([](VocabularyArrays& v) { v.tokens.clear(), v.types.clear(), v.merges.clear(); });
  for (const char* merge : {"a", "", " ", "a z", "a b ", "b a", "a b"}) {
    wrong([&](VocabularyArrays& v) { v.merges.emplace_back(merge); });
  }
}

TEST(Tiktoken, RanksAreMerges) {
  // a, b, c, bc, ab, abc: "abc" is bc first (rank 3), then a + bc.
  auto spec = spec_from_tiktoken("YQ== 0\nYg== 1\nYw== 2\nYmM= 3\nYWI= 4\nYWJj 5\n", qwen2_pattern, true, {"<s>"});
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->merges.size(), 4u);
  const auto tokenizer = Tokenizer::make(std::move(*spec));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_THAT(*tokenizer->encode("abc<s>ab", SpecialTokens::recognised), ElementsAre(5, 6, 4));
  EXPECT_THAT(*tokenizer->encode("abcbc"), ElementsAre(5, 3));
}

TEST(Tiktoken, Hostile) {
  for (const char* file : {"YQ==", "YQ== 1", "YQ== x", "YQ== 0 0", "Y 0", "Y*== 0", "==== 0", "YQ== 0\nYQ== 1", " 0",
                           "YQ== -1", "YQ== 99999999999999999999999"}) {
    EXPECT_FALSE(spec_from_tiktoken(file, qwen2_pattern, true, {}).ok()) << file;
  }
  auto empty = spec_from_tiktoken("", qwen2_pattern, true, {});
  EXPECT_FALSE(Tokenizer::make(std::move(*empty)).ok());
}

}  // namespace
}  // namespace kw
