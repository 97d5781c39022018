// What the interpreter refuses, and how it says so: each message names the construct and its place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/source/interpreter_test_support.h"

namespace kw {
namespace {

using ::testing::HasSubstr;

void expect_refusals(const std::vector<std::pair<std::string, std::string>>& cases) {
  for (const auto& [body, message] : cases) EXPECT_THAT(refusal(body), HasSubstr(message)) << body;
}

TEST(InterpreterRefusal, Signature) {
  const auto refuse = [](const std::string& signature) {
    const auto plan = plan_text(signature + " {}");
    return plan.ok() ? std::string("accepted") : to_string(plan.error());
  };
  EXPECT_EQ(refuse("extern \"C\" void launch(const float* a, float* b, int c, int d, cudaStream_t e)"), "accepted");
  EXPECT_EQ(refuse("void launch(const float* __restrict__ a, float* b, const int c, int, cudaStream_t)"), "accepted");
  EXPECT_THAT(refuse("void launch(float* x, float* y, int rows, int cols, cudaStream_t stream)"),
              HasSubstr("a.cu:1:20: parameter 1 of the launcher is float*, not const float* (the task expects: extern "
                        "\"C\" void launch("));
  EXPECT_THAT(refuse("void launch(const float* x, float* y, int rows, cudaStream_t stream)"),
              HasSubstr("has 4 parameters, not 5"));
  EXPECT_THAT(refuse("void launch(const float* x, float* y, long rows, int cols, cudaStream_t s)"),
              HasSubstr("is long, not int"));
  EXPECT_THAT(refuse("int launch(const float* x, float* y, int rows, int cols, cudaStream_t s)"),
              HasSubstr("must return void"));
}

TEST(InterpreterRefusal, UndefinedBehaviour) {
  expect_refusals({{"  int a = 1 / (rows - 7);", "a.cu:3:13: division by zero"},
                   {"int a = rows % 0;", "division by zero"},
                   {"int a = 2147483647 + rows;", "signed integer overflow in `+` of type int"},
                   {"int a = 100000 * 100000;", "signed integer overflow"},
                   {"int a = -2147483648 - 1; int b = (-2147483647 - 1) / -1;", "signed integer overflow"},
                   {"int a = 1 << 32;", "a shift of int by 32"},
                   {"int a = 1 >> -1;", "a shift of int by -1"},
                   {"int a; int b = a + 1;", "`a` is used before it has a value"},
                   {"int a[3]; int b = a[0];", "before it has a value"},
                   {"int a[3] = {}; int b = a[3];", "element 3 of an array of 3"},
                   {"int a[3] = {}; int b = a[-1];", "leaves its array"},
                   {"int* p; { int a = 1; p = &a; } int b = *p;", "scope has ended"},
                   {"int a = 3e10;", "does not fit int"},
                   {"const int a = 1; a = 2;", "a constant is assigned to"},
                   {"int* p = nullptr; *p = 1;", "a null pointer is followed"}});
}

TEST(InterpreterRefusal, DeviceMemoryOnTheHost) {
  expect_refusals({{"float a = x[0];", "device memory on the host"},
                   {"*y = 1;", "device memory on the host"},
                   {"y[rows] += 2;", "device memory on the host"},
                   {"float h[4]; cudaMemcpy(h, x, 16, cudaMemcpyDeviceToHost);", "copied to or from the host"},
                   {"int n = 1; k<<<1, 1>>>(x, (float*)&n, 1);", "casts a pointer to its own variables"},
                   {"float f = 1; k<<<1, 1>>>(&f, y, 1);", "points to a variable of the host"}});
}

TEST(InterpreterRefusal, LaunchesThatWouldFail) {
  expect_refusals(
      {{"k<<<0, 32>>>(x, y, 1);", "would fail silently: the grid (0, 1, 1) has no blocks"},
       {"k<<<1, 0>>>(x, y, 1);", "has no threads"},
       {"k<<<1, 1025>>>(x, y, 1);", "more threads than a block can have"},
       {"k<<<1, dim3(1, 1, 65)>>>(x, y, 1);", "more threads than a block can have"},
       {"k<<<dim3(1, 65536), 1>>>(x, y, 1);", "the grid (1, 65536, 1) is too large"},
       {"k<<<rows - 8, 1>>>(x, y, 1);", "the grid (4294967295, 1, 1) is too large"},
       {"k<<<1, 1, 50000>>>(x, y, 1);", "call cudaFuncSetAttribute"},
       {"k<<<1, 1, 300000>>>(x, y, 1);", "more than the device has"},
       {"cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000);", "would fail"},
       {"k<<<1, 1>>>(x, y);", "the kernel `k` does not take 2 arguments but 3"},
       {"k<<<1, 1>>>(y, x, 1);", "argument `y` of `k`: a value of type const float* cannot become float*"},
       {"k<<<1, 1>>>((int*)x, y, 1);", "argument `x` of `k`: a value of type int* cannot become const float*"},
       {"k<<<1>>>(x, y, 1);", "a launch needs <<<grid, block>>>"},
       {"k(x, y, 1);", "the kernel `k` is called like a function"},
       {"t<<<1, 1>>>(y);", "the template argument `N` of `t` is neither given nor can it be deduced"},
       {"t<1, 2><<<1, 1>>>(y);", "too many template arguments"},
       {"t<int><<<1, 1>>>(y);", "must be a value"},
       {"nothing<<<1, 1>>>(y);", "`nothing`"}});
  const auto bounded =
      plan_text("__global__ void __launch_bounds__(64) b() {}\n" + row_signature + " { b<<<1, 65, 0, stream>>>(); }");
  ASSERT_FALSE(bounded.ok());
  EXPECT_THAT(bounded.error().message, HasSubstr("__launch_bounds__(64)"));
}

TEST(InterpreterRefusal, Scratch) {
  expect_refusals(
      {{"float* t; cudaMallocAsync(&t, 64, stream);", "a.cu:3:11: scratch memory `t` is allocated and never freed"},
       {"float* t; cudaMalloc(&t, 64); cudaFree(t); k<<<1, 1>>>(x, t, 1);", "used after it was freed"},
       {"float* t; cudaMalloc(&t, 64); cudaFree(t); cudaFree(t);", "freed twice"},
       {"float* t; cudaMalloc(&t, 64); cudaFree(t + 1);", "into its middle"},
       {"cudaFree(y);", "an input or output is freed"},
       {"float* t; cudaMalloc(&t, 0);", "0 bytes"},
       {"float* t; cudaMalloc(&t, -1);", "a size is negative"},
       {"float* t; cudaMalloc(&t, 1ull << 50);", "over the limit"},
       {"cudaMemset(y, 0, 4000);", "leave its 3612 bytes"},
       {"cudaMemset((void*)x, 0, 4);", "the input `x` is overwritten"}});
}

TEST(InterpreterRefusal, UnknownConstructs) {
  expect_refusals(
      {{"  int a = 1;\n  goto end;", "a.cu:4:3: the launcher uses goto, which the interpreter does not know"},
       {"try { } catch (...) { }", "the launcher uses try"},
       {"int* p = new int[4];", "the launcher uses new"},
       {"cudaEvent_t e;", "the type cudaEvent_t"},
       {"std::vector<int> v;", "std::vector"},
       {"cudaStream_t s; cudaStreamCreate(&s);", "`cudaStreamCreate`"},
       {"getenv(\"HOME\");", "the function `getenv`"},
       {"auto [a, b] = f();", "a structured binding"},
       {"asm(\"nop\");", "asm"},
       {"static int calls = 0;", "keep its value between calls"},
       {"long double a = 1.0L;", "the launcher uses"},
       {"throw 1;", "the launcher uses throw"},
       {"if (rows < 0) throw std::runtime_error(\"no\");", "accepted"},
       {"std::string s = \"a\";", "the type std::string"},
       {"int a = rows", "syntax error: expected `;`"},
       {"for (int i = 0; i < 3 i++) {}", "syntax error: expected `;` near `i`"}});
  const auto mutable_global = plan_text("int calls = 0;\n" + row_signature + " { if (calls++ > 3) return; }");
  ASSERT_FALSE(mutable_global.ok());
  EXPECT_THAT(mutable_global.error().message, HasSubstr("may change between calls"));
  const auto read_first = plan_text("int calls;\n" + row_signature + " { if (calls > 3) return; calls = 1; }");
  ASSERT_FALSE(read_first.ok());
  EXPECT_THAT(read_first.error().message, HasSubstr("may change between calls"));
}

TEST(InterpreterRefusal, HarmlessPartsOfPlainProjects) {
  const auto answer = [](const std::string& text) {
    const auto plan = plan_text(text);
    return plan.ok() ? std::string("accepted") : to_string(plan.error());
  };
  // A global that this call has set, a host function with its kernel's name, output.
  EXPECT_EQ(answer("int threads;\n__global__ void k(float* y) {}\nvoid k(float* y, int n) { k<<<n, threads>>>(y); }\n" +
                   row_signature + " { threads = 64; k(y, rows); printf(\"%d\\n\", threads); fflush(stdout); }"),
            "accepted");
  // A plain number that nobody writes keeps its value.
  const std::string kernel = "__global__ void k(float* y) {}\n";
  EXPECT_EQ(answer(kernel + "int width = 16;\n" + row_signature + " { k<<<rows / width + 1, width * 2>>>(y); }"),
            "accepted");
  for (const char* writes :
       {"void f() { width = 3; }", "void f() { ++width; }", "int* p = &width;", "int& r = width;",
        "int& f() { return width; }", "void f() { std::cin >> width; }", "void g(int& a); void f() { g(width); }",
        "void f() { width++; }", "void f() { width--; }", "void f() { width += 3; }", "int &r{width};"}) {
    EXPECT_NE(answer(kernel + "int width = 16;\n" + writes + "\n" + row_signature + " { k<<<rows / width, 1>>>(y); }"),
              "accepted")
        << writes;
  }
}

TEST(InterpreterRefusal, Budgets) {
  EXPECT_THAT(refusal("while (true) {}"), HasSubstr("budget of steps"));
  EXPECT_THAT(refusal("for (;;) k<<<1, 1>>>(x, y, 1);"), HasSubstr("more than 10000 launches"));
  EXPECT_THAT(refusal("int a[100000];"), HasSubstr("an array needs a size"));
  EXPECT_THAT(refusal("for (int i = 0; i < 100; ++i) { int a[60000]; }"), HasSubstr("arrays are too large"));
  const auto recursion = plan_text("int f(int n) { return f(n + 1); }\n" + row_signature + " { f(0); }");
  ASSERT_FALSE(recursion.ok());
  EXPECT_THAT(recursion.error().message, HasSubstr("deeply"));
  const auto templates =
      plan_text("template <int N> int f() { return f<N + 1>(); }\n" + row_signature + " { f<0>(); }");
  ASSERT_FALSE(templates.ok());
  EXPECT_THAT(templates.error().message, HasSubstr("deeply"));
  const auto constants = plan_text("template <int N> struct S { static constexpr int v = S<N + 1>::v; };\n" +
                                   row_signature + " { int a = S<0>::v; }");
  ASSERT_FALSE(constants.ok());
  for (const char* code : {"template <int N = f<>()> int f() { return N; }", "int f(int n = f()) { return n; }",
                           "struct S { int a; S(int n) : a(S(n + 1).a) {} }; int f() { return S(1).a; }",
                           "template <int N> struct A { A<N + 1> x; }; int f() { A<0> a; return 1; }"}) {
    const auto endless = plan_text(std::string(code) + "\n" + row_signature + " { f(); }");
    ASSERT_FALSE(endless.ok()) << code;
  }
  const auto growing = plan_text(
      "template <class A, class B> struct P {}; template <class A, int N> struct G { static constexpr int v = G<P<A, "
      "A>, N - 1>::v; };\n" +
      row_signature + " { int a = G<int, 60>::v; }");
  ASSERT_FALSE(growing.ok());
  EXPECT_THAT(growing.error().message, HasSubstr("too long"));
  const auto copies = plan_text("struct S { int a[30000]; };\n" + row_signature + " { S a{}; for (;;) { S b = a; } }");
  ASSERT_FALSE(copies.ok());
  const auto arguments = plan_text("struct S { int a[30000]; }; __global__ void s(S) {}\n" + row_signature +
                                   " { S a{}; s<<<1, 1>>>(a); }");
  ASSERT_FALSE(arguments.ok());
  EXPECT_THAT(arguments.error().message, HasSubstr("bytes that a kernel can take"));
  const auto circle =
      plan_text("extern const int b; const int a = b + 1; const int b = a + 1;\n" + row_signature + " { int c = a; }");
  ASSERT_FALSE(circle.ok());
}

TEST(Refusals, AStructOfTheFileThatIsNamedLikeTheRuntimes) {
  const auto plan =
      plan_text("struct cudaDeviceProp { int maxGridSize[1000]; };\n__global__ void k(float* y) {}\n" + row_signature +
                " { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); k<<<1, p.maxGridSize[0]>>>(y); }");
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("CUDA's cudaDeviceProp"), std::string::npos) << plan.error().message;
}

}  // namespace
}  // namespace kw
