#include "kernel/source/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw {
namespace {

using ::testing::HasSubstr;

std::string expand(std::string_view source) {
  const TokenStream stream = lex(source, "a.cu");
  const auto result = preprocess(stream);
  if (!result.ok()) return "error: " + to_string(result.error());
  std::string text;
  for (const Token& token : result->tokens) text += (text.empty() ? "" : " ") + std::string(token.text);
  return text;
}

TEST(Preprocess, ObjectLikeMacros) {
  EXPECT_EQ(expand("#define N 256\n#define M (N * 2)\nint a = M;"), "int a = ( 256 * 2 ) ;");
  EXPECT_EQ(expand("#define A B\n#define B A\nA B"), "A B");  // no endless expansion
  EXPECT_EQ(expand("#define N 1\n#undef N\nN"), "N");
  EXPECT_EQ(expand("#undef INT_MAX\nINT_MAX"), "INT_MAX");
}

TEST(Preprocess, FunctionLikeMacros) {
  EXPECT_EQ(expand("#define DIV(a, b) (((a) + (b) - 1) / (b))\nDIV(n, f(1, 2))"),
            "( ( ( n ) + ( f ( 1 , 2 ) ) - 1 ) / ( f ( 1 , 2 ) ) )");
  EXPECT_EQ(expand("#define F(x) x\nF F(F)(1)"), "F F ( 1 )");
  EXPECT_EQ(expand("#define F() 1\nF() F ()"), "1 1");
  EXPECT_EQ(expand("#define G F\n#define F(x) [x]\nG(2)"), "[ 2 ]");
}

TEST(Preprocess, StandardExampleOfRescanning) {  // [cpp.rescan] of the C++ standard
  EXPECT_EQ(expand("#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n#define z z[0]\n"
                   "#define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n#define p() int\n#define q(x) x\n"
                   "f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);"),
            "f ( 2 * ( y + 1 ) ) + f ( 2 * ( f ( 2 * ( z [ 0 ] ) ) ) ) % f ( 2 * ( 0 ) ) + t ( 1 ) ;");
}

TEST(Preprocess, PastingAndStringising) {
  EXPECT_EQ(expand("#define J(a, b) a##b\nJ(ker, nel)<J(1, 2)>"), "kernel < 12 >");
  EXPECT_EQ(expand("#define S(x) #x\nS(a  + \"b\\n\")"), "\"a + \\\"b\\\\n\\\"\"");
  EXPECT_EQ(expand("#define J(a, b) a ## b\n#define X J(J(a, b), c)\nJ(, b) J(a, )"), "b a");
  EXPECT_THAT(expand("#define J(a, b) a##b\nJ(+, x)"), HasSubstr("one token"));
}

TEST(Preprocess, VariadicMacros) {
  EXPECT_EQ(expand("#define L(k, ...) k<<<1>>>(__VA_ARGS__)\nL(f, a, b)"), "f <<< 1 >>> ( a , b )");
  EXPECT_EQ(expand("#define P(f, ...) p(f, ##__VA_ARGS__)\nP(1) P(1, 2)"), "p ( 1 ) p ( 1 , 2 )");
  EXPECT_EQ(expand("#define P(args...) p(args)\nP(1, 2)"), "p ( 1 , 2 )");
}

TEST(Preprocess, Conditionals) {
  EXPECT_EQ(expand("#if defined(__CUDACC__) && !defined __CUDA_ARCH__\nhost\n#else\ndevice\n#endif"), "host");
  EXPECT_EQ(expand("#define V 3\n#if V == 1\na\n#elif V == 3\nb\n#elif 1\nc\n#else\nd\n#endif"), "b");
  EXPECT_EQ(expand("#ifndef X\na\n#ifdef X\nb\n#else\nc\n#endif\n#endif"), "a c");
  EXPECT_EQ(expand("#if 0\n#if 1\na\n#else\nb\n#endif\n#error not reached\n#endif\nc"), "c");
  EXPECT_EQ(expand("#if (1 ? 2 : 1/0) == 2 && -1 < 0 && 0xFFu > 0 && ~0 == -1 && (5 % 3) << 2 == 8\nyes\n#endif"),
            "yes");
  EXPECT_EQ(expand("#if -1 > 0u\nwraps\n#endif"), "wraps");
  EXPECT_EQ(expand("#define F(x) x +\nF(\n#if 1\n1\n#else\n2\n#endif\n) 3"), "1 + 3");
}

TEST(Preprocess, Errors) {
  EXPECT_THAT(expand("int a;\n#error no good\n"), HasSubstr("a.cu:2:1: #error: no good"));
  EXPECT_THAT(expand("#if 1\n"), HasSubstr("a.cu:1:1: an #if is not closed"));
  EXPECT_THAT(expand("#endif"), HasSubstr("without #if"));
  EXPECT_THAT(expand("#if 1/0\n#endif"), HasSubstr("division by zero"));
  EXPECT_THAT(expand("#if f(1)\n#endif"), HasSubstr("f"));
  EXPECT_THAT(expand("#define F(a) a\nF(1, 2)"), HasSubstr("takes 1 arguments, not 2"));
  EXPECT_THAT(expand("#define F(a) a\nF(1"), HasSubstr("not closed"));
  EXPECT_THAT(expand("#nonsense"), HasSubstr("unknown directive #nonsense"));
}

TEST(Preprocess, Includes) {
  const TokenStream stream = lex("#include <cuda_fp16.h>\n#include \"a.h\"\n#define H <mma.h>\n#include H\n", "a.cu");
  const auto result = preprocess(stream);
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  ASSERT_EQ(result->includes.size(), 3u);
  EXPECT_EQ(result->includes[0].name, "cuda_fp16.h");
  EXPECT_TRUE(result->includes[0].angled);
  EXPECT_EQ(result->includes[1].name, "a.h");
  EXPECT_FALSE(result->includes[1].angled);
  EXPECT_EQ(result->includes[1].where.line, 2);
  EXPECT_EQ(result->includes[2].name, "mma.h");
}

TEST(Preprocess, PositionsCoverTheInvocation) {
  const std::string source = "#define ADD(a, b) a + b\nint x = ADD(one,\n  two);";
  const TokenStream stream = lex(source, "a.cu");
  const auto result = preprocess(stream);
  ASSERT_TRUE(result.ok());
  const Token& one = result->tokens[3];
  const Token& plus = result->tokens[4];
  const Token& two = result->tokens[5];
  EXPECT_EQ(one.text, "one");
  EXPECT_EQ(one.line, 2u);
  EXPECT_EQ(one.column, 13u);
  EXPECT_EQ(plus.line, 2u);
  EXPECT_EQ(plus.column, 9u);
  EXPECT_EQ(source.substr(plus.offset, plus.bytes), "ADD(one,\n  two)");
  EXPECT_EQ(two.line, 3u);
}

TEST(Preprocess, BombsAreErrors) {
  std::string bomb = "#define A0 x x x x x x x x\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "A" + std::to_string(i - 1);
    bomb += "#define A" + std::to_string(i);
    for (int k = 0; k < 8; ++k) bomb += " " + before;
    bomb += "\n";
  }
  EXPECT_THAT(expand(bomb + "\n\nA11"), HasSubstr("too many tokens"));
  EXPECT_THAT(expand(bomb + "#if A11\n#endif"), HasSubstr("too many tokens"));
  std::string nested = "#define F(x) x x\n";
  std::string call = "1";
  for (int i = 0; i < 40; ++i) call = "F(" + call + ")";
  EXPECT_THAT(expand(nested + call), HasSubstr("too many tokens"));
  // Each # doubles the backslashes of the one inside it.
  std::string quoted = "\"\"";
  for (int i = 0; i < 26; ++i) quoted = "S(" + quoted + ")";
  EXPECT_THAT(expand("#define T(x) #x\n#define S(x) T(x)\n" + quoted), HasSubstr("too many tokens"));
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "F(";
  EXPECT_THAT(expand(nested + deep), HasSubstr("error"));
  EXPECT_THAT(expand("#if " + std::string(100000, '(') + "\n#endif"), HasSubstr("nested too deeply"));
  EXPECT_THAT(expand("#if " + std::string(100000, '!') + "1\n#endif"), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace kw
