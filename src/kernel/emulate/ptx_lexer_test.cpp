#include "kernel/emulate/ptx_lexer.h"

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kw {
namespace {

std::vector<PtxToken> tokens_of(std::string_view text) {
  std::vector<PtxToken> tokens;
  PtxLexer lexer(text);
  while (lexer.current().kind != PtxTokenKind::end) {
    tokens.push_back(lexer.current());
    if (lexer.current().kind == PtxTokenKind::invalid) break;
    lexer.advance();
  }
  return tokens;
}

PtxToken only_token(std::string_view text) {
  const auto tokens = tokens_of(text);
  EXPECT_EQ(tokens.size(), 1u) << text;
  return tokens.empty() ? PtxToken{} : tokens[0];
}

TEST(PtxLexer, SplitsAnInstruction) {
  const auto tokens = tokens_of("@%p1 ld.global.L2::128B.v2.f32 {%f1,_}, [%rd1+-8];");
  std::vector<std::string> texts;
  for (const PtxToken& token : tokens) texts.emplace_back(token.text);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"@", "%p1", "ld", ".global", ".L2::128B", ".v2", ".f32", "{", "%f1", ",",
                                      "_", "}",   ",",  "[",       "%rd1",      "+",   "-",    "8", "]",   ";"}));
}

TEST(PtxLexer, ReadsIntegersOfEveryBase) {
  EXPECT_EQ(only_token("123").number, 123u);
  EXPECT_EQ(only_token("0x7fFF").number, 0x7FFFu);
  EXPECT_EQ(only_token("0777").number, 511u);
  EXPECT_EQ(only_token("0b1011").number, 11u);
  EXPECT_EQ(only_token("0").number, 0u);
  EXPECT_TRUE(only_token("5U").is_unsigned);
  EXPECT_FALSE(only_token("9223372036854775807").is_unsigned);
  EXPECT_TRUE(only_token("18446744073709551615").is_unsigned);
  EXPECT_EQ(only_token("18446744073709551616").kind, PtxTokenKind::invalid);
  EXPECT_EQ(only_token("0x10000000000000000").kind, PtxTokenKind::invalid);
  EXPECT_EQ(only_token("089").kind, PtxTokenKind::invalid);
  EXPECT_EQ(only_token("0x").kind, PtxTokenKind::invalid);
  EXPECT_EQ(only_token("12abc").kind, PtxTokenKind::invalid);
}

TEST(PtxLexer, ReadsFloatingPointExactly) {
  const PtxToken one = only_token("0f3F800000");
  EXPECT_EQ(one.kind, PtxTokenKind::floating);
  EXPECT_TRUE(one.is_single);
  EXPECT_EQ(std::bit_cast<double>(one.number), 1.0);
  EXPECT_EQ(only_token("0d400921FB54442D18").number, 0x400921FB54442D18u);
  EXPECT_EQ(std::bit_cast<double>(only_token("1.5e-3").number), 1.5e-3);
  EXPECT_EQ(std::bit_cast<double>(only_token("2E2").number), 200.0);
  EXPECT_EQ(std::bit_cast<double>(only_token("09.5").number), 9.5);
  EXPECT_EQ(only_token("0f3F80").kind, PtxTokenKind::invalid);
  EXPECT_EQ(only_token("0d3F800000").kind, PtxTokenKind::invalid);
  EXPECT_EQ(only_token("1e999").kind, PtxTokenKind::invalid);
}

TEST(PtxLexer, WidensSinglesWithoutLoss) {
  EXPECT_EQ(double_bits_of_single(0x7FA00001u), 0x7FF4000020000000u);  // a signalling NaN stays one
  EXPECT_EQ(double_bits_of_single(0xFF800000u), 0xFFF0000000000000u);
  EXPECT_EQ(std::bit_cast<double>(double_bits_of_single(1u)), std::ldexp(1.0, -149));
}

TEST(PtxLexer, CountsLinesThroughComments) {
  const auto tokens = tokens_of("a // b\n/* c\n d */ e\n\"s\\\"t\" f");
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[0].line, 1u);
  EXPECT_EQ(tokens[1].text, "e");
  EXPECT_EQ(tokens[1].line, 3u);
  EXPECT_EQ(tokens[2].kind, PtxTokenKind::string);
  EXPECT_EQ(tokens[2].text, "\"s\\\"t\"");
  EXPECT_EQ(tokens[3].line, 4u);
}

TEST(PtxLexer, StopsAtWhatIsNotPtx) {
  for (std::string_view text : {std::string_view("/* open"), std::string_view("\"open"), std::string_view("\xC3\xA4"),
                                std::string_view("\0", 1), std::string_view(". x"), std::string_view("\"a\nb\"")}) {
    PtxLexer lexer(text);
    EXPECT_EQ(lexer.current().kind, PtxTokenKind::invalid);
    lexer.advance();
    EXPECT_EQ(lexer.current().kind, PtxTokenKind::invalid);
  }
}

TEST(PtxLexer, LooksAheadOverSpaceAndComments) {
  EXPECT_TRUE(PtxLexer("label :").next_is(':'));
  EXPECT_TRUE(PtxLexer("label /* : */ // x\n:").next_is(':'));
  EXPECT_FALSE(PtxLexer("mov /* : */ a").next_is(':'));
  EXPECT_FALSE(PtxLexer("mov").next_is(':'));
}

TEST(PtxLexer, QuotesHostileText) {
  EXPECT_EQ(quoted_ptx("a\x1b[31m\n"), "'a?[31m?'");
  EXPECT_LT(quoted_ptx(std::string(100000, 'x')).size(), 100u);
}

}  // namespace
}  // namespace kw
