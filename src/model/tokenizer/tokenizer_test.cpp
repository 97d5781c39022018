#include "model/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/unicode_text.h"

namespace kw {
namespace {

using testing::ElementsAre;

const std::filesystem::path golden = std::filesystem::path(KW_SOURCE_ROOT) / "tests/tokenizer";

Tokenizer letters(std::vector<AddedToken> added, bool nfc = false) {
  TokenizerSpec spec;
  spec.pre_tokenizer = gpt2_steps();
  spec.tokens = {"a", "b", "\u0120", "<", "x", ">", "\u010a"};
  spec.added = std::move(added);
  spec.nfc = nfc;
  auto tokenizer = Tokenizer::make(std::move(spec));
  KW_CHECK(tokenizer.ok());
  return std::move(*tokenizer);
}

TEST(Tokenizer, LongestAddedTokenFirst) {
  const Tokenizer tokenizer = letters({{.id = 7, .content = "<x"}, {.id = 8, .content = "<x>"}});
  EXPECT_THAT(*tokenizer.encode("a<x><xb", SpecialTokens::recognised), ElementsAre(0, 8, 7, 1));
  EXPECT_THAT(*tokenizer.encode("a<x>"), ElementsAre(0, 3, 4, 5));
  EXPECT_EQ(*tokenizer.decode(std::vector<TokenId>{0, 8, 1}), "a<x>b");
  EXPECT_EQ(*tokenizer.decode(std::vector<TokenId>{0, 8, 1}, true), "ab");
  EXPECT_EQ(tokenizer.find("<x>"), 8);
  EXPECT_EQ(tokenizer.find("zz"), std::nullopt);
}

TEST(Tokenizer, AddedTokensThatAreNotSpecialAreAlwaysFound) {
  const Tokenizer tokenizer = letters({{.id = 7, .content = "<x>", .special = false}});
  EXPECT_THAT(*tokenizer.encode("a<x>"), ElementsAre(0, 7));
}

TEST(Tokenizer, WhiteSpaceThatATokenTakesAlong) {
  const Tokenizer left = letters({{.id = 7, .content = "<x>", .lstrip = true}});
  EXPECT_THAT(*left.encode("a \n <x> b", SpecialTokens::recognised), ElementsAre(0, 7, 2, 1));
  const Tokenizer right = letters({{.id = 7, .content = "<x>", .rstrip = true}});
  EXPECT_THAT(*right.encode("a <x> \u3000\n b<x>", SpecialTokens::recognised), ElementsAre(0, 2, 7, 1, 7));
}

TEST(Tokenizer, NormalizedTokensAreFoundAfterNormalisation) {
  const Tokenizer tokenizer =
      letters({{.id = 7, .content = "\u00e9", .normalized = true}, {.id = 8, .content = "\u00e8"}}, true);
  EXPECT_THAT(*tokenizer.encode("ae\u0301\u00e8", SpecialTokens::recognised), ElementsAre(0, 7, 8));
  EXPECT_THAT(*tokenizer.encode("ae\u0300", SpecialTokens::recognised),
              ElementsAre(0));  // not as it is written in the text
}

TEST(Tokenizer, BytesWithoutATokenAreLeftOutAndNamed) {
  const Tokenizer tokenizer = letters({});
  EXPECT_THAT(*tokenizer.encode("azb"), ElementsAre(0, 1));
  EXPECT_EQ(tokenizer.missing_bytes().size(), 256u - 13u - 7u);  // 13 never occur in UTF-8
}

TEST(Tokenizer, DecodeRefusesWhatIsNoId) {
  const Tokenizer tokenizer = letters({});
  EXPECT_FALSE(tokenizer.decode(std::vector<TokenId>{7}).ok());
  EXPECT_FALSE(tokenizer.decode(std::vector<TokenId>{-1}).ok());
  EXPECT_EQ(*tokenizer.decode({}), "");
}

// A vocabulary of 1,500 tokens that we trained; the ids are Hugging Face's (scripts/tokenizer_parity.py --golden).
TEST(TokenizerGolden, IdsAreHuggingFaces) {
  for (const std::string name : {"trained", "qwen_like"}) {
    const auto tokenizer = load_tokenizer_json(golden / (name + ".json"));
    ASSERT_TRUE(tokenizer.ok()) << to_string(tokenizer.error());
    Encoder encoder(*tokenizer);
    std::ifstream file(golden / (name + ".jsonl"));
    int lines = 0;
    for (std::string line; std::getline(file, line); ++lines) {
      const auto entry = nlohmann::json::parse(line);
      const auto text = entry[0].get<std::string>();
      const auto ids = encoder.encode(text, SpecialTokens::recognised);
      ASSERT_TRUE(ids.ok()) << ids.error().message;
      ASSERT_EQ(*ids, entry[1].get<std::vector<TokenId>>()) << line;
      EXPECT_EQ(*tokenizer->decode(*ids), tokenizer->spec().nfc ? to_nfc(text) : text);
    }
    EXPECT_GE(lines, 300);
  }
}

TEST(TokenizerGolden, AnyBytesAndAnyCacheGiveTheSame) {
  const auto tokenizer = load_tokenizer_json(golden / "trained.json");
  ASSERT_TRUE(tokenizer.ok()) << to_string(tokenizer.error());
  Encoder big(*tokenizer), small(*tokenizer, 1);
  constexpr std::string_view likely = "ab \n\xC3\xA9\xE2\x82 int";
  std::uint64_t state = 1;
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    for (int i = 0; i < 200; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      bytes += static_cast<char>(round % 2 == 0 ? state >> 56 : likely[(state >> 33) % likely.size()]);
    }
    const auto ids = big.encode(bytes);
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(*ids, *small.encode(bytes));
    EXPECT_EQ(*ids, *tokenizer->encode(bytes));
    EXPECT_EQ(*tokenizer->decode(*ids), replace_invalid_utf8(bytes));
  }
}

TEST(TokenizerGolden, SharedByThreads) {
  const auto tokenizer = load_tokenizer_json(golden / "trained.json");
  ASSERT_TRUE(tokenizer.ok());
  const std::string text = "__global__ void add(const float* a, int n) { if (n > 0) return; }\n";
  const auto expected = *tokenizer->encode(text);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Encoder encoder(*tokenizer);
      for (int i = 0; i < 200; ++i) EXPECT_EQ(*encoder.encode(text), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TokenizerGolden, LongWordsTakeNoQuadraticTime) {
  const auto tokenizer = load_tokenizer_json(golden / "trained.json");
  ASSERT_TRUE(tokenizer.ok());
  const auto ids = tokenizer->encode(std::string(1000000, 'a'));
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(tokenizer->decode(*ids)->size(), 1000000u);
}

}  // namespace
}  // namespace kw
