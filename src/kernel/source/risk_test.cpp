#include "kernel/source/risk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"

namespace kw {
namespace {

const std::string launcher =
    "extern \"C\" void launch(const float* x, float* y, int n, cudaStream_t stream) {\n"
    "  k<<<1, 64, 0, stream>>>(x, y, n);\n}\n";

std::string kernel(const std::string& body) {
  return "__global__ void k(const float* x, float* y, int n) {\n" + body + "\n}\n" + launcher;
}

std::string reasons(const Risk& risk) {
  std::string text;
  for (const RiskReason& reason : risk.reasons) text += std::to_string(reason.points) + " " + reason.what + "\n";
  return text;
}

struct Case {
  std::string text;
  double score;
};

TEST(Risk, PointsAreTheDocumentedOnes) {
  std::string table = "__constant__ float table[2000] = {";
  for (int i = 0; i < 2000; ++i) table += std::to_string(i) + ".f, ";
  table += "};\n";
  const std::vector<Case> cases = {
      {kernel("y[0] = x[0];"), 0.0},
      {kernel("__brkpt();"), 0.5},
      {kernel("__brkpt(); __brkpt();"), 0.5},
      {kernel("__trap(); printf(\"x\"); assert(n > 0);"), 0.1},
      {kernel("__brkpt(); vprintf(\"x\", 0); y[0] = clock64();"), 1.0},
      {"__device__ int calls;\n" + kernel("if (calls++) return;"), 0.25},
      {kernel("int s; asm(\"mov.u32 %0, %%smid;\" : \"=r\"(s));"), 0.2},
      {table + kernel("y[n] = table[n];"), 0.2},
      {kernel("if (n == 4096) y[0] = 1;"), 0.1},
      {kernel("if (4096 == n) y[0] = 1;"), 0.1},
      {kernel("if (n == 1) y[0] = 1; int i = 3; if (i == 4096) y[1] = 1;"), 0.0},
      {"__global__ void decoy(float* y) {}\n" + kernel("y[0] = 0;"), 0.1},
      {kernel("y[0] = __half2float(__float2half(x[0]));"), 0.1},
      {kernel("while (true) { y[0] += 1; }"), 0.1},
      {kernel("for (;;) { if (y[0] > 1) break; }"), 0.0},
      {"#define CAT(a, b) a##b\n" + kernel("int CAT(q, r) = 1;"), 0.05},
  };
  for (const Case& c : cases) {
    const Risk risk = assess_risk(c.text, "k.cu");
    EXPECT_DOUBLE_EQ(risk.score, c.score) << c.text.substr(0, 400) << "\n" << reasons(risk);
    EXPECT_EQ(assess_risk(c.text, "k.cu").score, risk.score);
  }
}

TEST(Risk, ErrorReportsInTheLauncherAreHarmless) {
  const std::string text = R"(
#include <cstdio>
#include <iostream>
__global__ void fill(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1.0f; }
void check(cudaError_t error) {
  if (error != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(error)); exit(1); }
}
extern "C" void launch(float* y, int n, cudaStream_t stream) {
  fill<<<1, 256, 0, stream>>>(y, n);
  check(cudaGetLastError());
})";
  EXPECT_FALSE(has_error(check_rules(text, "k.cu")));
  EXPECT_EQ(assess_risk(text, "k.cu").score, 0);
  const std::string in_device = R"(__global__ void k() { fprintf(stderr, "x"); })";
  EXPECT_TRUE(has_error(check_rules(in_device, "k.cu")));
}

TEST(Risk, NaiveKernelsHaveNone) {
  for (const auto& folder : std::filesystem::directory_iterator(std::string(KW_SOURCE_ROOT) + "/tasks")) {
    const auto text = read_file(folder.path() / "naive.cu");
    if (!text.ok()) continue;
    const Risk risk = assess_risk(text.value(), folder.path().filename().string());
    EXPECT_EQ(risk.score, 0) << folder.path() << "\n" << reasons(risk);
  }
}

}  // namespace
}  // namespace kw
