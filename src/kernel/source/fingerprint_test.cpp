#include "kernel/source/fingerprint.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

const std::string original =
    "#define T 256\n"
    "template <int BLOCK> __global__ void sum(const float* x, float* y, int n) {\n"
    "  __shared__ float tile[BLOCK];\n"
    "  int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "  tile[threadIdx.x] = i < n ? __expf(x[i]) : 0.0f;\n"
    "  __syncthreads();\n"
    "  if (i < n) y[i] = tile[threadIdx.x] * rsqrtf(2.0f);\n"
    "}\n"
    "extern \"C\" void launch(const float* x, float* y, int n, cudaStream_t stream) {\n"
    "  sum<T><<<(n + T - 1) / T, T, 0, stream>>>(x, y, n);\n"
    "}\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(Fingerprint, IgnoresLayoutAndComments) {
  std::string spaced = replaced(original, ";\n", ";   // why\n\n");
  spaced = replaced(spaced, " + ", "+ /* plus */ \\\n ");
  ASSERT_NE(spaced, original);
  EXPECT_EQ(fingerprint(spaced), fingerprint(original));
}

TEST(Fingerprint, IgnoresTheFilesOwnNames) {
  std::string renamed = replaced(original, "tile", "cache");
  renamed = replaced(renamed, "sum", "total");
  renamed = replaced(renamed, "BLOCK", "WIDTH");
  renamed = replaced(renamed, "stream", "queue");
  renamed = replaced(renamed, "int i ", "int index ");
  renamed = replaced(renamed, "[i]", "[index]");
  renamed = replaced(renamed, "i < n", "index < n");
  EXPECT_EQ(fingerprint(renamed), fingerprint(original));
}

TEST(Fingerprint, SeesEverythingElse) {
  const std::pair<std::string, std::string> changes[] = {
      {"threadIdx.x", "threadIdx.y"}, {"blockIdx", "threadIdx"}, {"256", "128"},
      {"__expf", "__logf"},           {"rsqrtf", "sqrtf"},       {"0.0f", "1.0f"},
      {"__syncthreads();", ""},       {"i < n", "i <= n"},       {"const float*", "const half*"},
      {"(x, y, n);", "(y, x, n);"},   {"y[i] =", "y[n] ="},      {"#define T 256\n", "#define T 2 56\n"}};
  for (const auto& [from, to] : changes) {
    const std::string changed = replaced(original, from, to);
    ASSERT_NE(changed, original) << from;
    EXPECT_NE(fingerprint(changed), fingerprint(original)) << from << " -> " << to;
  }
}

TEST(Fingerprint, RenamingMustBeConsistent) {
  EXPECT_NE(fingerprint("int a, b; void f() { a = b; }"), fingerprint("int a, b; void f() { a = a; }"));
  EXPECT_EQ(fingerprint("int a, b; void f() { a = b; }"), fingerprint("int b, a; void g() { b = a; }"));
}

}  // namespace
}  // namespace kw
