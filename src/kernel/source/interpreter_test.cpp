#include "kernel/source/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/source/interpreter_test_support.h"

namespace kw {
namespace {

using ::testing::HasSubstr;

TEST(Interpreter, MakesAPlan) {
  const auto plan =
      plan_body("  k<<<(rows * cols + 255) / 256, dim3(32, 8), 16 * sizeof(float), stream>>>(x + cols, y, rows);");
  ASSERT_TRUE(plan.ok()) << to_string(plan.error());
  ASSERT_EQ(plan->buffers.size(), 2u);
  EXPECT_EQ(plan->buffers[0].kind, Buffer::Kind::input);
  EXPECT_EQ(plan->buffers[1].kind, Buffer::Kind::output);
  EXPECT_EQ(plan->buffers[1].name, "y");
  EXPECT_EQ(plan->buffers[1].bytes, 7u * 129 * 4);
  ASSERT_EQ(plan->steps.size(), 1u);
  const KernelLaunch& launch = *plan->launches()[0];
  EXPECT_EQ(launch.kernel, "k");
  EXPECT_EQ(launch.grid, (Dim3{4, 1, 1}));
  EXPECT_EQ(launch.block, (Dim3{32, 8, 1}));
  EXPECT_EQ(launch.dynamic_shared_bytes, 64u);
  EXPECT_FALSE(launch.default_stream);
  EXPECT_EQ(launch.where.line, 3);
  EXPECT_EQ(std::get<DevicePointer>(launch.arguments[0].value), (DevicePointer{0, 129 * 4}));
  EXPECT_EQ(launch.arguments[0].type, "const float*");
  EXPECT_EQ(launch.arguments[2].name, "n");
  EXPECT_EQ(std::get<std::string>(launch.arguments[2].value), std::string("\x07\0\0\0", 4));
}

// As device code has them, see kernel/compile/implicit_names.h.
TEST(Interpreter, KnowsTheTypesAndConstantsThatNvccGives) {
  EXPECT_EQ(value_of("u_char", "300"), value_of("unsigned char", "300"));
  EXPECT_EQ(value_of("u_int64_t", "~0ul"), value_of("unsigned long", "~0ul"));
  EXPECT_EQ(value_of("int", "sizeof(ssize_t) + sizeof(ushort) + sizeof(uint_fast16_t)"), value_of("int", "18"));
  EXPECT_EQ(value_of("int", "EXIT_FAILURE + CHAR_MAX + INT8_MIN + __SIZEOF_INT__"), value_of("int", "4"));
  EXPECT_EQ(value_of("long", "INT64_C(3) << 40"), value_of("long", "3l << 40"));
  EXPECT_EQ(value_of("double", "-HUGE_VAL"), value_of("double", "-1e308 * 10"));
  EXPECT_EQ(value_of("bool", "NAN != NAN"), value_of("bool", "true"));
  EXPECT_EQ(value_of("float", "M_PI_4"), value_of("float", "0.78539816339744830962"));
}

TEST(Interpreter, NamesTemplateInstances) {
  const auto plan = plan_text(
      "enum class Mode { a, b };\nnamespace ns { template <typename T, int N, bool B, Mode M, unsigned U = 3> "
      "__global__ void f(const T*) {} }\n" +
      row_signature +
      " { ns::f<float, 2 * 4, (4 > 2), Mode::b><<<1, 1, 0, stream>>>(x); ns::f<double const*, -1, false, Mode::a, "
      "9><<<1, 1>>>(nullptr); }");
  ASSERT_TRUE(plan.ok()) << to_string(plan.error());
  EXPECT_EQ(plan->launches()[0]->kernel, "ns::f<float, 8, true, (Mode)1, 3u>");
  EXPECT_EQ(plan->launches()[1]->kernel, "ns::f<const double*, -1, false, (Mode)0, 9u>");
  EXPECT_TRUE(plan->launches()[1]->default_stream);
}

TEST(Interpreter, IntegerArithmetic) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"int", "7 / 2 * 2 + 7 % 4 - -3", "12"},
      {"int", "-7 / 2", "-3"},
      {"int", "-7 % 3", "-1"},
      {"unsigned", "3u - 4", "4294967295"},
      {"bool", "-1 > 1u", "true"},
      {"long", "1 << 31 >> 31", "-1"},
      {"unsigned char", "300", "44"},
      {"signed char", "200", "-56"},
      {"long long", "2147483647 + 1LL", "2147483648"},
      {"unsigned long", "~0ul >> 60", "15"},
      {"int", "sizeof(1 + 1L) + sizeof('a') + sizeof(1.f * 2)", "13"},
      {"int", "0x10 + 010 + 0b10 + 1'0", "36"},
      {"int", "(rows, cols)", "129"},
      {"int", "rows > 3 ? rows : 1 / 0", "7"},
      {"bool", "rows < 0 && 1 / 0", "false"},
      {"double", "true ? 1 : 2.5", "1.0"},
      {"int", "sizeof(true ? 1 : 2.5)", "8"},
      {"int", "'a' + 1", "98"},
      {"short", "(short)70000", "4464"},
      {"unsigned long", "(unsigned)-1 * 2ul", "8589934590"},
      {"unsigned", "-1LL + 0ul == -1", "1"},
  };
  for (const auto& [type, expression, expected] : cases) EXPECT_EQ(value_of(type, expression), expected) << expression;
}

TEST(Interpreter, FloatingPoint) {
  EXPECT_EQ(value_of("float", "1.0f / 3"), "0.3333333432674408");
  EXPECT_EQ(value_of("double", "1.0 / 3"), "0.3333333333333333");
  EXPECT_EQ(value_of("float", "16777216.0f + 1.0f"), "16777216.0");
  EXPECT_EQ(value_of("int", "(int)-2.9 + int(3.7f)"), "1");
  EXPECT_EQ(value_of("int", "std::ceil(cols / 32.0f)"), "5");
  EXPECT_EQ(value_of("__half", "__float2half(0.1f)"), "0.0999755859375");
  EXPECT_EQ(value_of("__nv_bfloat16", "__float2bfloat16(0.1f)"), "0.10009765625");
  EXPECT_EQ(value_of("__half", "__float2half(70000.0f)"), "null");  // infinity has no JSON number
  EXPECT_EQ(value_of("float", "0x1.8p1f"), "3.0");
}

TEST(Interpreter, Statements) {
  EXPECT_EQ(value_of("int", "s",
                     "int s = 0; for (int i = 0; i < 10; i++) { if (i == 3) continue; if (i == 8) break; s += i; }"),
            "25");
  EXPECT_EQ(value_of("int", "s", "int s = 1; while (s < 100) s *= 3; do { s++; } while (s % 5);"), "245");
  EXPECT_EQ(
      value_of(
          "int", "s",
          "int s = 0; switch (rows) { case 1: s = 1; break; case 7: s = 7; case 8: s += 8; break; default: s = 99; }"),
      "15");
  EXPECT_EQ(value_of("int", "s", "int s = 0; switch (rows) { default: s = 99; break; case 1: s = 1; }"), "99");
  EXPECT_EQ(value_of("int", "s", "int s = 5; { int s = 6; s++; } if (int t = s; t > 4) s = t * 2;"), "10");
  EXPECT_EQ(value_of("int", "a[1][2] + b",
                     "int a[2][3] = {{1, 2, 3}, {4, 5, 6}}; int b = 0; for (auto& r : a[0]) { r++; b += r; }"),
            "15");
}

TEST(Interpreter, FunctionsAndTemplates) {
  const std::string helpers =
      "constexpr int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
      "template <class T> T twice(T a) { return a + a; } template <int N> int fixed() { return N; }\n"
      "template <int N> struct F { static constexpr int v = N * F<N - 1>::v; }; template <> struct F<0> { static "
      "constexpr int v = 1; };\n"
      "struct S { int a = 2, b; int sum(int c = 3) const { return a + b + c; } };\n"
      "void change(int& a, int* b) { a = 1; *b = 2; }\n";
  EXPECT_EQ(value_of("int", "fib(12)", "", helpers), "144");
  EXPECT_EQ(value_of("double", "twice(1.5f) + twice<int>(2.9)", "", helpers), "7.0");
  EXPECT_EQ(value_of("int", "fixed<F<5>::v>()", "", helpers), "120");
  EXPECT_EQ(value_of("int", "S{1, 2}.sum() + s.sum(10)", "S s; s.b = 5;", helpers), "23");
  EXPECT_EQ(value_of("int", "a * 10 + b", "int a, b; change(a, &b);", helpers), "12");
  EXPECT_EQ(value_of("int", "add(1) + n", "int n = 5; auto add = [&n](int m) { n += m; return n; };", helpers), "12");
  EXPECT_EQ(value_of("int", "get()", "int n = 5; auto get = [=] { return n; }; n = 6;", helpers), "5");
}

TEST(Interpreter, PointersAndAlignment) {
  EXPECT_EQ(value_of("bool", "((size_t)x % 256 == 0) && (reinterpret_cast<unsigned long>(x + 1) & 15) == 4"), "true");
  EXPECT_EQ(value_of("const float*", "&x[3] - 1"), "x + 8 bytes");
  EXPECT_EQ(value_of("const float4*", "reinterpret_cast<const float4*>(x) + 2"), "x + 32 bytes");
  EXPECT_EQ(value_of("long", "(x + 10) - x"), "10");
  EXPECT_EQ(value_of("const float*", "p", "const float* p = nullptr; if (!p) p = x;"), "x");
}

TEST(Interpreter, ScalarInputs) {
  Task task = row_task();
  TensorSpec scale;
  scale.name = "scale";
  task.inputs.push_back(scale);
  const auto file = read_kernel_file(
      "__global__ void s(float a) {} extern \"C\" void launch(const float* x, float scale, float* y, int r, int c, "
      "cudaStream_t q) { s<<<1, 1, 0, q>>>(scale / 2); }",
      "a.cu");
  ASSERT_TRUE(file.ok());
  const auto plan = make_launch_plan(*file, task, {{"rows", 1}, {"cols", 1}}, {}, {{"scale", 0.25}});
  ASSERT_TRUE(plan.ok()) << to_string(plan.error());
  EXPECT_EQ(print(plan->launches()[0]->arguments[0], *plan), "0.125");
}

TEST(Interpreter, ScratchMemory) {
  const auto plan = plan_body(
      "  float* tmp; cudaMallocAsync(&tmp, 1024, stream); cudaMemsetAsync(tmp + 4, 257, 16, stream);\n"
      "  k<<<1, 32, 0, stream>>>(x, tmp, 1); cudaMemcpyAsync(y, tmp, 64, cudaMemcpyDeviceToDevice, stream); "
      "cudaFreeAsync(tmp, stream);");
  ASSERT_TRUE(plan.ok()) << to_string(plan.error());
  ASSERT_EQ(plan->steps.size(), 5u);
  EXPECT_EQ(plan->buffers.at(2).name, "tmp");
  EXPECT_EQ(plan->buffers.at(2).bytes, 1024u);
  const auto& set = std::get<MemorySet>(plan->steps[1]);
  EXPECT_EQ(set.target, (DevicePointer{2, 16}));
  EXPECT_EQ(set.value, 1);
  EXPECT_EQ(std::get<MemoryCopy>(plan->steps[3]).source, (DevicePointer{2, 0}));
  EXPECT_EQ(std::get<ScratchFree>(plan->steps[4]).buffer, 2);
}

TEST(Interpreter, PrintsPlans) {
  const auto plan = plan_body(
      "  cudaFuncSetAttribute(t<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000); t<4><<<dim3(3, 2), 64, "
      "99000, stream>>>(y + 1);\n"
      "  k<<<1, 1>>>(x, y, -5);");
  ASSERT_TRUE(plan.ok()) << to_string(plan.error());
  EXPECT_EQ(to_table(*plan),
            "1  allow     t<4>, 100000 bytes of dynamic shared memory\n"
            "2  launch    grid 3x2  block 64  shared 99000   t<4>(y = y + 4 bytes)\n"
            "3  launch    grid 1    block 1   shared 0       k(x = x, y = y, n = -5) on the default stream\n");
}

TEST(Interpreter, WhatIsAskedOfTheDevice) {
  const std::string ask = "cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);";
  EXPECT_EQ(value_of("int", "p.maxGridSize[0]", ask), "2147483647");
  EXPECT_EQ(value_of("int", "std::min(rows * cols, p.maxGridSize[1])", ask), "903");
  EXPECT_EQ(value_of("int", "p.maxThreadsDim[2]", ask), "64");
  const auto block_size = [](const std::string& arguments, const std::string& result) {
    return value_of("int", result, "int g, b; cudaOccupancyMaxPotentialBlockSize(&g, &b, " + arguments + ");",
                    "__global__ void k(float* y) {}");
  };
  EXPECT_EQ(block_size("k", "b"), "1024");
  EXPECT_EQ(block_size("(void*)k, 0, 200", "b"), "128");
  EXPECT_EQ(block_size("k, 200000, 0", "b"), "1024");
  EXPECT_EQ(block_size("k", "g % 2"), "0");
  EXPECT_NE(block_size("k, 1 << 29", "b").find("no block of this kernel fits"), std::string::npos);
}

TEST(Interpreter, AGlobalStructIsFilledByItsAddress) {
  EXPECT_EQ(
      value_of("int", "properties.warpSize", "cudaGetDeviceProperties(&properties, 0);", "cudaDeviceProp properties;"),
      "32");
}

}  // namespace
}  // namespace kw
