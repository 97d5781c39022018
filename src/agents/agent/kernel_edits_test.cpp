#include "agents/agent/kernel_edits.h"

#include <gtest/gtest.h>

#include <chrono>

namespace kw {
namespace {

std::string made(const std::string& kernel, const std::string& change) {
  for (const KernelEdit& edit : kernel_edits(kernel))
    if (edit.change == change) return edit.kernel;
  return "";
}

std::vector<std::string> changes(const std::string& kernel) {
  std::vector<std::string> all;
  for (const KernelEdit& edit : kernel_edits(kernel)) all.push_back(edit.change);
  return all;
}

TEST(KernelEdits, QuickFunctionsOneByOneAndTogether) {
  const std::string kernel = "__device__ float f(float x) { return expf(x) * cosf(x) + expf(-x); }\n";
  EXPECT_EQ(made(kernel, "expf -> __expf"),
            "__device__ float f(float x) { return __expf(x) * cosf(x) + __expf(-x); }\n");
  EXPECT_EQ(made(kernel, "quick functions"),
            "__device__ float f(float x) { return __expf(x) * __cosf(x) + __expf(-x); }\n");
}

TEST(KernelEdits, AHelperIsDefinedOnceBehindTheIncludes) {
  const std::string kernel = "#include <cfloat>\n__device__ float f(float x) { return tanhf(x) + tanhf(-x); }\n";
  const std::string once = made(kernel, "tanhf -> quick_tanh");
  EXPECT_TRUE(once.starts_with("#include <cfloat>\n__device__ __forceinline__ float quick_tanh(float x) {")) << once;
  EXPECT_NE(once.find("return quick_tanh(x) + quick_tanh(-x);"), std::string::npos) << once;
  EXPECT_TRUE(made(once, "tanhf -> quick_tanh").empty()) << "there is nothing left to do";
}

TEST(KernelEdits, DivisionsOfFloatsAlone) {
  EXPECT_EQ(made("void f(float x, int n) { y[n / 4] = x / (1.0f + expf(-x)); }", "quick divisions"),
            "void f(float x, int n) { y[n / 4] = __fdividef(x, (1.0f + expf(-x))); }");
  EXPECT_EQ(made("v = a[i].x / b[3] * 2;", "quick divisions"), "") << "nobody knows what they are";
  EXPECT_EQ(made("float s; v = a[i].x / s;", "quick divisions"), "float s; v = __fdividef(a[i].x, s);");
  EXPECT_EQ(made("v = 1.0f / sqrtf(w);", "quick divisions"), "v = __fdividef(1.0f, sqrtf(w));");
  EXPECT_EQ(made("v = -1.0f / (w);", "quick divisions"), "v = -__fdividef(1.0f, (w));");
  EXPECT_EQ(made("return (a + b) / 2.0f;", "quick divisions"), "return __fdividef((a + b), 2.0f);");
}

TEST(KernelEdits, LoopsOfKernelsAreUnrolled) {
  const std::string kernel =
      "__global__ void k(float* y) {\n  for (int i = 0; i < 9; ++i) y[i] = 0;\n#pragma unroll\n  for (;;) break;\n}\n"
      "void launch(float* y) { for (;;) k<<<1, 1>>>(y); }\n";
  EXPECT_EQ(changes(kernel), (std::vector<std::string>{"__restrict__", "unroll 4 at line 2", "unroll 2 at line 2",
                                                       "unroll 8 at line 2"}));
  EXPECT_NE(made(kernel, "unroll 4 at line 2").find("\n#pragma unroll 4\nfor (int i"), std::string::npos);
}

TEST(KernelEdits, PointersOfKernelsGetRestrict) {
  EXPECT_EQ(
      made("__global__ void k(const float* x, float *__restrict__ y, int n) {} void launch(float* x) {}",
           "__restrict__"),
      "__global__ void k(const float* __restrict__  x, float *__restrict__ y, int n) {} void launch(float* x) {}");
}

TEST(KernelEdits, WhateverTheTextIsTimeIsBounded) {
  for (const std::string piece : {"a/", "(", "for ", "1.0f/", "x[", ")/(", "expf(", "__global__ ("}) {
    std::string text;
    while (text.size() + piece.size() < max_edited_kernel_bytes) text += piece;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_LE(kernel_edits(text).size(), most_kernel_edits);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << piece;
  }
  EXPECT_TRUE(kernel_edits("").empty());
  EXPECT_TRUE(kernel_edits(std::string(max_edited_kernel_bytes + 1, 'a')).empty());
  EXPECT_TRUE(kernel_edits("float x; x = 1.0f \\\n / x;").empty()) << "a continued line is left alone";
}

}  // namespace
}  // namespace kw
