#include "model/tokenizer/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw {
namespace {

using testing::ElementsAre;
using Kind = PreTokenizerStep::Kind;

std::vector<std::string> words(const std::vector<PreTokenizerStep>& steps, std::string_view text) {
  const auto pre_tokenizer = PreTokenizer::compile(steps);
  if (!pre_tokenizer.ok()) return {"error: " + pre_tokenizer.error().message};
  RegexScratch scratch;
  Words out;
  const auto done = pre_tokenizer->split(text, scratch, out);
  if (!done.ok()) return {"error: " + done.error().message};
  return {out.words.begin(), out.words.end()};
}

std::vector<PreTokenizerStep> split_at_dash(SplitBehavior behavior, bool invert = false) {
  return {{.kind = Kind::split, .pattern = "-", .literal = true, .behavior = behavior, .invert = invert},
          {.kind = Kind::byte_level, .use_regex = false}};
}

TEST(PreTokenizer, Gpt2AndSmolLm) {
  EXPECT_THAT(words(gpt2_steps(), "I'm  here 123\n\n x"), ElementsAre("I", "'m", " ", " here", " 123", "\n\n", " x"));
  EXPECT_THAT(words(smollm_steps(), "a 12 b"), ElementsAre("a", " ", "1", "2", " b"));
  EXPECT_THAT(words(gpt2_steps(), ""), ElementsAre());
}

TEST(PreTokenizer, Qwen2) {
  EXPECT_THAT(words(pattern_steps(qwen2_pattern), "x'LL 12 {\n\n  }"),
              ElementsAre("x", "'LL", " ", "1", "2", " {\n\n", " ", " }"));
}

TEST(PreTokenizer, BehaviorsOfTheHuggingFaceDocumentation) {
  const std::string text = "the-final--countdown";
  EXPECT_THAT(words(split_at_dash(SplitBehavior::removed), text), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(words(split_at_dash(SplitBehavior::isolated), text),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(words(split_at_dash(SplitBehavior::merged_with_previous), text),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(words(split_at_dash(SplitBehavior::merged_with_next), text),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(words(split_at_dash(SplitBehavior::contiguous), text),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(words(split_at_dash(SplitBehavior::removed, true), text), ElementsAre("-", "-", "-"));
}

TEST(PreTokenizer, EmptyMatchesCut) {
  EXPECT_THAT(words(pattern_steps("x*"), "abxxc"), ElementsAre("a", "b", "xx", "c"));
}

TEST(PreTokenizer, PrefixSpace) {
  EXPECT_THAT(words({{.kind = Kind::byte_level, .add_prefix_space = true}}, "a b"), ElementsAre(" a", " b"));
  EXPECT_THAT(words({{.kind = Kind::byte_level, .add_prefix_space = true}}, " a"), ElementsAre(" a"));
}

TEST(PreTokenizer, WhiteSpaceIsUnicodesNotPerls) {
  // U+180E was white space once; Oniguruma and Rust no longer say so.
  EXPECT_THAT(words(gpt2_steps(), " \u180e"), ElementsAre(" \u180e"));
  EXPECT_THAT(words(gpt2_steps(), "\u0085a"), ElementsAre("\u0085", "a"));
}

TEST(PreTokenizer, HostilePatterns) {
  const std::string evil = std::string(5000, 'a') + "b";
  for (const char* pattern : {"(a+)+$", "(a|aa)+$", "(a*)*$", "(?:a?){40}a{40}$"}) {
    const auto out = words(pattern_steps(pattern), evil);
    ASSERT_FALSE(out.empty()) << pattern;  // an error or an answer, in bounded time
  }
  EXPECT_THAT(words(pattern_steps("(a|aa)+$"), evil).front(), testing::HasSubstr("was given up"));
  for (const std::string& pattern : {std::string("("), std::string("[a"), std::string(), std::string(300, '('),
                                     std::string(max_pattern_bytes + 1, 'a'), std::string("(*NO_JIT)a"),
                                     std::string("((a{1000}){1000}){1000}"), std::string("\\C")}) {
    EXPECT_THAT(words(pattern_steps(pattern), "a").front(), testing::StartsWith("error: ")) << pattern;
  }
}

TEST(PreTokenizer, LongRunsAreNotRefused) {
  EXPECT_EQ(words(pattern_steps(qwen2_pattern), std::string(1000000, ' ') + "x").size(), 2u);
  EXPECT_EQ(words(gpt2_steps(), std::string(1000000, ' ') + "x").size(), 2u);
  EXPECT_EQ(words(gpt2_steps(), std::string(1000000, 'x')).size(), 1u);
}

TEST(PreTokenizer, ByteLevelHasToBeLast) {
  EXPECT_FALSE(PreTokenizer::compile({}).ok());
  EXPECT_FALSE(PreTokenizer::compile({{.kind = Kind::byte_level}, {.kind = Kind::digits}}).ok());
}

}  // namespace
}  // namespace kw
