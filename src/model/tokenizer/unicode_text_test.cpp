#include "model/tokenizer/unicode_text.h"

#include <gtest/gtest.h>

#include "model/tokenizer/byte_alphabet.h"

namespace kw {
namespace {

TEST(UnicodeText, ReplacesMaximalSubparts) {
  // Unicode 15, table 3-8, and Python's bytes.decode(errors="replace").
  EXPECT_EQ(replace_invalid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(replace_invalid_utf8("a\xE2\x82"), "a\uFFFD");
  EXPECT_TRUE(is_valid_utf8("plain text, \u00e9, \U0001F600"));
  EXPECT_FALSE(is_valid_utf8("plain text and more than eight \xFF"));
}

TEST(UnicodeText, Nfc) {
  EXPECT_EQ(to_nfc("e\u0301"), "\u00e9");
  EXPECT_EQ(to_nfc("a\u0323\u0307"), "\u1ea1\u0307");
  EXPECT_EQ(to_nfc("a\u0307\u0323"), "\u1ea1\u0307");  // sorted by class first
  EXPECT_EQ(to_nfc("\u212B\u2126"), "\u00c5\u03a9");   // singletons
  EXPECT_EQ(to_nfc("\u1100\u1161\u11a8"), "\uac01");   // Hangul
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093c");         // excluded from composition
  EXPECT_EQ(to_nfc(std::string_view("a\0b\u0301", 5)), std::string("a\0b\u0301", 5));
  std::string marks = "a";
  for (int i = 0; i < 200000; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0323";
  EXPECT_EQ(to_nfc(marks).substr(0, 3), "\u1ea1");  // and it takes no quadratic time
}

TEST(UnicodeText, ByteAlphabet) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(from_byte_alphabet(to_byte_alphabet(all)), all);
  EXPECT_EQ(to_byte_alphabet(" a\n"), "\u0120a\u010a");
  EXPECT_FALSE(from_byte_alphabet("a b").has_value());
}

}  // namespace
}  // namespace kw
