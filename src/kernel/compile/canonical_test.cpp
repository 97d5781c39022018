#include "kernel/compile/canonical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"

namespace kw {
namespace {

std::string text_of(std::string_view source) { return canonicalise(source, "user.cu").value().text; }

TEST(Canonical, OneTokenALine) {
  const CanonicalSource source = canonicalise("int  x = f(1.5f); // end\n", "user.cu").value();
  EXPECT_EQ(source.text, "int\nx\n=\nf\n(\n1.5f\n)\n;\n");
  EXPECT_EQ(source.lines.at(1), (UserPosition{1, 1}));
  EXPECT_EQ(source.lines.at(2), (UserPosition{1, 6}));
  EXPECT_EQ(source.lines.at(6), (UserPosition{1, 12}));
  EXPECT_EQ(source.lines.at(9), UserPosition{});
  EXPECT_EQ(source.lines.at(0), UserPosition{});
}

TEST(Canonical, LayoutAndCommentsDoNotMatter) {
  EXPECT_EQ(text_of("a+b;/* c */"), text_of("a\n\t+ // x\n b ;\n\n"));
  EXPECT_NE(text_of("a+b;"), text_of("a+ +b;"));
  EXPECT_NE(text_of("a b"), text_of("ab"));
}

TEST(Canonical, DirectivesStayOnOneLine) {
  EXPECT_EQ(text_of("#define f(x) \\\n  ((x) + 1) // comment\nint y;\n"), "#define f(x) ((x) + 1)\nint\ny\n;\n");
  EXPECT_NE(text_of("#define f(x) 1\n"), text_of("#define f (x) 1\n"));
  EXPECT_EQ(text_of("  #  include   <cuda_fp16.h>  \n"), "#include <cuda_fp16.h>\n");
  EXPECT_EQ(text_of("#pragma unroll 4\nfor\n"), "#pragma unroll 4\nfor\n");
}

TEST(Canonical, LineDirectivesAreDropped) {
  EXPECT_EQ(text_of("#line 7 \"other.cu\"\n# 9 \"x\"\nint\n"), "int\n");
  EXPECT_EQ(canonicalise("#line 7\nint\n", "u").value().lines.at(1), (UserPosition{2, 1}));
}

TEST(Canonical, StrayHashStaysAnError) {
  EXPECT_EQ(text_of("int x; # include <a>\n"), "int\nx\n; #\ninclude\n<\na\n>\n");
}

TEST(Canonical, DigraphsAndLiteralSuffixesStayTogether) {
  EXPECT_EQ(text_of("x<:0:> <% %>"), "x\n<:\n0\n:>\n<%\n%>\n");
  EXPECT_EQ(text_of("\"a\"_km \"b\" _c"), "\"a\"_km\n\"b\"\n_c\n");
}

TEST(Canonical, RawStringsKeepTheirLinesAndTheMapCountsThem) {
  const CanonicalSource source = canonicalise("R\"(a\n b)\" x", "u").value();
  EXPECT_EQ(source.text, "R\"(a\n b)\"\nx\n");
  EXPECT_EQ(source.lines.at(3), (UserPosition{2, 6}));
}

TEST(Canonical, MapHasOneEntryForEachLine) {
  const std::string_view source =
      "#define A 1\n__global__ void k(int* x) {\n  x[0] = A; asm(R\"(\n\n)\");\n}\n#if 0\nit's\n#endif\n";
  const CanonicalSource canonical = canonicalise(source, "u").value();
  EXPECT_EQ(static_cast<std::size_t>(std::count(canonical.text.begin(), canonical.text.end(), '\n')),
            canonical.lines.positions.size());
}

TEST(Canonical, WhatNoCompilerShouldSeeIsRefusedWithItsPlace) {
  const auto nul = canonicalise(std::string_view("int x;\n\0", 8), "u");
  ASSERT_FALSE(nul);
  EXPECT_EQ(nul.error().where, (Position{"u", 2, 1}));
  EXPECT_FALSE(canonicalise("int \xff;", "u"));
  EXPECT_FALSE(canonicalise("int x; /* open", "u"));
  EXPECT_FALSE(canonicalise("a \\ b", "u"));
  EXPECT_TRUE(canonicalise("it's open\n", "u"));
}

}  // namespace
}  // namespace kw
