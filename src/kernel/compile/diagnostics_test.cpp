#include "kernel/compile/diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Canonical line n is the user's line 10 n, column n.
LineMap tenfold(std::uint32_t count) {
  LineMap map;
  for (std::uint32_t n = 1; n <= count; ++n) map.positions.push_back({10 * n, n});
  return map;
}

std::vector<Diagnostic> parse(std::string_view log, std::string_view ptx = "") {
  const LineMap map = tenfold(9);
  return parse_log(log, {"user.cu", &map, ptx});
}

TEST(Diagnostics, ErrorsAndWarningsWithCode) {
  const auto list = parse(
      "kernel.cu(3): error: identifier \"y\" is undefined\n  y\n  ^\n\n"
      "kernel.cu(1): warning #177-D: variable \"b\" was declared but never referenced\n  b\n  ^\n\n"
      "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n"
      "1 error detected in the compilation of \"kernel.cu\".\n");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(to_string(list[0]), "user.cu:30:3: error: identifier \"y\" is undefined");
  EXPECT_EQ(to_string(list[1]), "user.cu:10:1: warning: variable \"b\" was declared but never referenced [177-D]");
  EXPECT_THAT(list[0].notes, IsEmpty());
  EXPECT_FALSE(list[0].advice.empty());
}

TEST(Diagnostics, NotesCarryTheUsersLines) {
  const auto list = parse(
      "kernel.cu(2): error: static assertion failed with \"small\"\n  static_assert\n  ^\n"
      "          detected during instantiation of \"int f<N>() [with N=2]\" at line 4\n"
      "          and at line 5 of cuda_fp16.h\n");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_THAT(list[0].notes, ElementsAre("detected during instantiation of \"int f<N>() [with N=2]\" at line 40",
                                         "and at line 5 of cuda_fp16.h"));
}

TEST(Diagnostics, HeadersKeepTheirOwnLines) {
  const auto list = parse("cuda_fp16.h(77): error: something\n  x\n  ^\n\nkernel.cu(99): error: beyond the map\n");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(to_string(list[0]), "cuda_fp16.h:77: error: something");
  EXPECT_EQ(list[1].line, 0u);
}

TEST(Diagnostics, Ptxas) {
  const std::string_view ptx = "a\n.loc 1 4 0\nmov\n.loc 1 6 0\nbogus\n";
  const auto list = parse(
      "ptxas error   : Entry function 'k' uses too much shared data (0x61a80 bytes, 0xc000 max)\n"
      "ptxas application ptx input, line 5; error   : Not a name of any known instruction: 'bogus'\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n"
      "ptxas info    : Used 12 registers, used 1 barriers\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
      "ptxas warning : Value of threads per SM is out of range\n",
      ptx);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_THAT(list[0].advice, HasSubstr("extern __shared__"));
  EXPECT_EQ(list[1].line, 60u);
  EXPECT_EQ(list[2].severity, Severity::note);
  EXPECT_EQ(list[3].severity, Severity::warning);
}

TEST(Diagnostics, ForgedPathsAreNotBelieved) {
  EXPECT_THAT(parse("/etc/passwd(1): error: forged\nsome text (3): error: forged\n"), IsEmpty());
}

TEST(Diagnostics, CutOffLinesAreHarmless) {
  EXPECT_THAT(parse("nvrtc: "), IsEmpty());
  EXPECT_THAT(parse("ptxas"), IsEmpty());
  EXPECT_THAT(parse("kernel.cu(): error: x\nkernel.cu(3): \n(3): error: y"), IsEmpty());
  EXPECT_THAT(parse("ptxas application ptx input, line ; error : z").size(), 1u);
}

TEST(Diagnostics, Bounded) {
  std::string log;
  for (int i = 0; i < 1000; ++i) log += "kernel.cu(1): error: " + std::string(10'000, '\xff') + "\n";
  const auto list = parse(log);
  ASSERT_EQ(list.size(), max_diagnostics);
  EXPECT_LE(list[0].message.size(), 3 * max_diagnostic_bytes + 8);
}

TEST(Diagnostics, InvalidUtf8BecomesValid) {
  EXPECT_EQ(valid_utf8("a\xffz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"), "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
  EXPECT_EQ(valid_utf8("a\x07\n\tb"), "a   b");
  EXPECT_EQ(valid_utf8("\xc3"), "\xEF\xBF\xBD");
}

TEST(Diagnostics, AdviceForWhatIsFrequent) {
  EXPECT_THAT(advice_for("identifier \"__half2\" is undefined"), HasSubstr("cuda_fp16.h"));
  EXPECT_THAT(advice_for("identifier \"uint32_t\" is undefined"), HasSubstr("cstdint"));
  EXPECT_THAT(advice_for("expected a \";\""), HasSubstr("before"));
  EXPECT_THAT(advice_for("cannot open source file \"x.h\""), HasSubstr("mma.h"));
  EXPECT_EQ(advice_for("something new"), "");
}

}  // namespace
}  // namespace kw
