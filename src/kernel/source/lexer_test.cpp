#include "kernel/source/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/source/repeated_text.h"

namespace kw {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> texts(std::string_view source) {
  std::vector<std::string> result;
  const TokenStream stream = lex(source, "a.cu");
  for (const Token& token : stream.tokens) result.emplace_back(token.text);
  return result;
}

TokenKind only_kind(std::string_view source) {
  const TokenStream stream = lex(source, "a.cu");
  EXPECT_EQ(stream.tokens.size(), 1u) << source;
  return stream.tokens.at(0).kind;
}

TEST(Lexer, SplitsALaunch) {
  EXPECT_THAT(texts("k<4><<<g, b>>>(x);"),
              ElementsAre("k", "<", "4", ">", "<<<", "g", ",", "b", ">>>", "(", "x", ")", ";"));
  EXPECT_THAT(texts("a>>=b<<=c->d...e::f"), ElementsAre("a", ">>=", "b", "<<=", "c", "->", "d", "...", "e", "::", "f"));
}

TEST(Lexer, KnowsKinds) {
  for (const char* number : {"0", "1'000u", "0x1p-3f", ".5", "1.e+10", "0b101", "12ull", "1e5f"}) {
    EXPECT_EQ(only_kind(number), TokenKind::number) << number;
  }
  for (const char* text : {"\"a\\\"b\"", "u8\"x\"", "L\"x\"", "R\"(a\"b)\"", "uR\"xy(\n)x\")xy\""}) {
    EXPECT_EQ(only_kind(text), TokenKind::string) << text;
  }
  EXPECT_EQ(only_kind("'\\''"), TokenKind::character);
  EXPECT_EQ(only_kind("__global__"), TokenKind::identifier);
  EXPECT_EQ(only_kind("gr\xc3\xb6\xc3\x9f"
                      "e"),
            TokenKind::identifier);
  EXPECT_EQ(only_kind("@"), TokenKind::unknown);
}

TEST(Lexer, DropsComments) {
  EXPECT_THAT(texts("a /* b \n c */ d // e\nf"), ElementsAre("a", "d", "f"));
  EXPECT_THAT(texts("a // b \\\n still a comment\nc"), ElementsAre("a", "c"));
}

TEST(Lexer, PositionsAreTheUsers) {
  const TokenStream stream = lex("ab cd\n  ef\\\ngh ij\r\n\tk", "a.cu");
  ASSERT_EQ(stream.tokens.size(), 5u);
  const Token& spliced = stream.tokens[2];
  EXPECT_EQ(spliced.text, "efgh");
  EXPECT_EQ(spliced.line, 2u);
  EXPECT_EQ(spliced.column, 3u);
  EXPECT_EQ(spliced.offset, 8u);
  EXPECT_EQ(spliced.bytes, 6u);  // with the continuation
  EXPECT_EQ(stream.tokens[3].line, 3u);
  EXPECT_EQ(stream.tokens[3].column, 4u);
  EXPECT_EQ(stream.tokens[4].line, 4u);
  EXPECT_EQ(stream.tokens[4].column, 2u);
  EXPECT_EQ(stream.source.substr(stream.tokens[4].offset, 1), "k");
}

TEST(Lexer, DirectivesKeepTheirTokens) {
  const TokenStream stream = lex("#include <cuda_fp16.h> // why\n # define F(x) \\\n x\nint a;\n#\n", "a.cu");
  ASSERT_EQ(stream.tokens.size(), 6u);
  EXPECT_EQ(stream.tokens[0].kind, TokenKind::directive);
  const auto include = stream.inside(stream.tokens[0]);
  ASSERT_EQ(include.size(), 2u);
  EXPECT_EQ(include[1].kind, TokenKind::header_name);
  EXPECT_EQ(include[1].text, "<cuda_fp16.h>");
  const auto define = stream.inside(stream.tokens[1]);
  ASSERT_EQ(define.size(), 6u);
  EXPECT_FALSE(define[2].space_before);  // F( is function-like
  EXPECT_EQ(define[5].line, 3u);
  EXPECT_EQ(stream.inside(stream.tokens[5]).size(), 0u);
  // A # in the middle of a line is no directive.
  EXPECT_EQ(lex("a # b", "a.cu").tokens[1].kind, TokenKind::punctuator);
}

TEST(Lexer, RawStringsKeepContinuations) {
  const TokenStream stream = lex("x \\\n R\"(a\\\nb)\" y", "a.cu");
  ASSERT_EQ(stream.tokens.size(), 3u);
  EXPECT_EQ(stream.tokens[1].text, "R\"(a\\\nb)\"");
  EXPECT_EQ(stream.tokens[2].text, "y");
  EXPECT_EQ(stream.tokens[2].line, 3u);
}

TEST(Lexer, ReportsWhatNoCompilerShouldSee) {
  struct Case {
    std::string text;
    std::string message;
    int line, column;
  };
  const Case cases[] = {{std::string("a\nb\0c", 5), "NUL", 2, 2},
                        {"int \xff;", "UTF-8", 1, 5},
                        {"// \xc0\xaf", "UTF-8", 1, 4},
                        {"a\n \"bc\nd", "string is not closed", 2, 2},
                        {"'a", "character", 1, 1},
                        {"x /* y", "comment is not closed", 1, 3},
                        {"R\"(abc", "raw string", 1, 1}};
  for (const Case& c : cases) {
    const TokenStream stream = lex(c.text, "a.cu");
    ASSERT_FALSE(stream.errors.empty()) << c.message;
    EXPECT_THAT(stream.errors[0].message, HasSubstr(c.message));
    EXPECT_EQ(stream.errors[0].where.line, c.line) << c.message;
    EXPECT_EQ(stream.errors[0].where.column, c.column) << c.message;
  }
  EXPECT_TRUE(lex("int a = 1; // \xc3\xa4\n", "a.cu").errors.empty());
  EXPECT_LE(lex(std::string(1000, '\xff'), "a.cu").errors.size(), max_lexer_errors);
}

TEST(Lexer, ReadsAMillionBytesOfAnything) {
  for (const RepeatedText& repeated : repeated_tokens()) {
    const std::string text = repeated.of_bytes(std::size_t{1} << 20);
    const TokenStream stream = lex(text, "a.cu");
    EXPECT_LE(stream.tokens.size(), text.size() + 1) << repeated.piece;
    EXPECT_LE(stream.errors.size(), max_lexer_errors) << repeated.piece;
  }
}

}  // namespace
}  // namespace kw
