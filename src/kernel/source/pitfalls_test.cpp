#include "kernel/source/pitfalls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"

namespace kw {
namespace {

struct Case {
  std::string text;
  std::string rule;  // expected, or !rule for "must not be found"
  int line = 0;      // expected where it is not 0
  Severity severity = Severity::warning;
};

// The body begins in line 2.
std::string kernel(const std::string& body) {
  return "__global__ void k(const float* __restrict__ x, float* __restrict__ y, int n, int rows, int cols) {\n" + body +
         "\n}\n";
}
const std::string index = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;\n";

std::string all(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

void expect_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const std::vector<Finding> findings = find_pitfalls(c.text, "k.cu");
    const bool wanted = !c.rule.starts_with('!');
    const std::string rule = wanted ? c.rule : c.rule.substr(1);
    const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.rule == rule; });
    ASSERT_EQ(found != findings.end(), wanted) << c.rule << " in\n" << c.text << "\n" << all(findings);
    if (!wanted) continue;
    EXPECT_EQ(found->severity, c.severity) << to_string(*found);
    EXPECT_FALSE(found->advice.empty());
    EXPECT_TRUE(c.line == 0 || found->where.line == c.line) << c.text << all(findings);
  }
}

TEST(Pitfalls, Arithmetic) {
  expect_cases({
      {kernel(index + "y[i] = 2.0 * x[i];"), "double-literal", 3},
      {kernel(index + "y[i] = x[i] / (1.0 + x[i]);"), "double-literal", 3},
      {kernel(index + "y[i] *= -1e-3;"), "double-literal", 3},
      {kernel(index + "y[i] = 2.0f * x[i] + 1e-3f + 0x1p3f;"), "!double-literal"},
      {kernel(index + "float s = 0.0; const float c = 1.0 / 3.0; y[i] = s + c;"), "!double-literal"},
      {kernel(index + "double s = 2.0 * x[i]; y[i] = s;"), "!double-literal"},
      {kernel(index + "y[i] = pow(x[i], 2);"), "pow-of-integer", 3},
      {kernel(index + "y[i] = powf(x[i], 2.5f);"), "!pow-of-integer"},
      {kernel(index + "y[i] = exp(x[i]);"), "double-function", 3, Severity::note},
      {kernel(index + "y[i] = expf(x[i]);"), "!double-function"},
      {kernel(index + "y[i] = x[i] / sqrtf(x[0]);"), "divide-by-sqrt", 3, Severity::note},
      {kernel(index + "y[i] = x[i] * rsqrtf(x[0]);"), "!divide-by-sqrt"},
      {kernel("for (int i = 0; i < n; ++i)\ny[i % cols] = 1;"), "integer-division-in-loop", 3, Severity::note},
      {kernel("for (int i = 0; i < n; ++i)\ny[i / (cols)] = 1;"), "integer-division-in-loop", 3, Severity::note},
      {kernel("for (int i = 0; i < n; ++i) y[i] = x[i] / cols;"), "!integer-division-in-loop"},
      {kernel("const int w = 32; for (int i = 0; i < n; ++i) y[i % w] = 1;"), "!integer-division-in-loop"},
      {kernel("int r = n / cols; y[r] = 1;"), "!integer-division-in-loop"},
      {kernel("int a = n * rows * cols; y[a] = 1;"), "index-overflow", 2, Severity::note},
      {kernel("size_t a = (size_t)n * rows * cols; y[a] = 1;"), "!index-overflow"},
      {kernel("int a = rows * cols * 2; y[a] = 1;"), "!index-overflow"},
  });
}

TEST(Pitfalls, GlobalMemory) {
  expect_cases({
      {kernel("int r = threadIdx.x; if (r < rows)\nfor (int c = 0; c < cols; ++c) y[r * cols + c] = 0;"),
       "uncoalesced-access", 3},
      {kernel(index + "const float* p = x + i * cols;\ny[i] = p[0];"), "uncoalesced-access", 4},
      {kernel(index + "y[i] = x[cols * (i) + 1];"), "uncoalesced-access", 3},
      {kernel(index + "y[i] = x[threadIdx.x * 8];"), "uncoalesced-access", 3},
      {kernel(index + "y[i] = x[2 * i] + x[2 * i + 1];"), "strided-access", 3, Severity::note},
      {kernel(index + "y[i] = x[i] + x[rows * cols + i] + x[blockIdx.x * cols + threadIdx.x];"), "!uncoalesced-access"},
      {kernel(index + "y[i] = x[threadIdx.y * cols + threadIdx.x];"), "!uncoalesced-access"},
      {kernel("for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = 0;"),
       "!uncoalesced-access"},
      {kernel("y[blockIdx.x * blockDim.x + threadIdx.x] = 1;"), "missing-guard", 2},
      {kernel("int i = threadIdx.x;\nfor (int c = 0; c < cols; ++c) y[c * 32 + i] = 1;"), "missing-guard", 3},
      {kernel(index + "y[i] = 1;"), "!missing-guard"},
      {kernel("int i = threadIdx.x; if (i < n) y[i] = 1;"), "!missing-guard"},
      {kernel("for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 1;"), "!missing-guard"},
      {kernel("if (threadIdx.x == 0) y[blockIdx.x] = 1;"), "!missing-guard"},
      {kernel("for (int i = 0; i < n; ++i) { int j = threadIdx.x + i; if (j >= n) continue; y[j] = 1; }"),
       "!missing-guard"},
      {kernel("for (int i = 0; i < n; ++i)\natomicAdd(&y[0], x[i]);"), "atomic-contention", 3},
      {kernel("for (int i = 0; i < n; ++i)\natomicAdd(y, x[i]);"), "atomic-contention", 3},
      {kernel("atomicAdd(y, x[threadIdx.x]);"), "atomic-contention", 2, Severity::note},
      {kernel("float s = x[0]; if (threadIdx.x == 0) atomicAdd(y, s);"), "!atomic-contention"},
      {kernel("int bin = (int)x[threadIdx.x]; atomicAdd(&y[bin], 1.f);"), "!atomic-contention"},
      {kernel("float4 v = reinterpret_cast<const float4*>(x)[threadIdx.x];"), "vector-alignment", 2},
      {kernel("float4 v = *(const float4*)&x[threadIdx.x * 4];"), "vector-alignment", 2},
      {kernel("if (cols % 4 == 0) { float4 v = reinterpret_cast<const float4*>(x)[threadIdx.x]; }"),
       "!vector-alignment"},
      {kernel("const int* v = reinterpret_cast<const int*>(x);"), "!vector-alignment"},
  });
}

TEST(Pitfalls, Declarations) {
  expect_cases({
      {"__global__ void k(const float* x, float* y) { y[0] = x[0]; }", "missing-restrict", 1, Severity::note},
      {kernel("y[0] = x[0];"), "!missing-restrict"},
      {"__global__ void k(float* x, float* y) { y[0] = x[0]; }", "missing-const", 1, Severity::note},
      {"__global__ void k(float* x, float* y) { float* p = y + 1; p[0] = 1; atomicAdd(x, 1.f); }", "!missing-const"},
      {kernel("float a[32][32];\na[0][0] = 1;"), "large-local-array", 2},
      {"#define N 200\n" + kernel("float a[N]; a[0] = 1;"), "large-local-array", 3, Severity::note},
      {kernel("float a[8][8]; a[0][0] = 1;"), "!large-local-array"},
      {kernel("__shared__ float a[64][64]; a[0][0] = 1;"), "!large-local-array"},
      {kernel("volatile __shared__ float s[64]; s[0] = 1;"), "volatile-shared", 2},
      {kernel("__shared__ float s[64];\nvolatile float* p = s; p[0] = 1;"), "volatile-shared", 3, Severity::note},
      {kernel("__shared__ float s[64]; s[0] = 1;"), "!volatile-shared"},
  });
}

TEST(Pitfalls, BarriersAndWarps) {
  const std::string mask = "0xffffffff";
  expect_cases({
      {kernel("if (threadIdx.x < 16)\n__syncthreads();"), "barrier-in-branch", 3},
      {kernel("int t = threadIdx.x; int lane = t % 32;\nif (lane == 0) { y[0] = 1; __syncthreads(); }"),
       "barrier-in-branch", 3},
      {kernel("if (blockIdx.x == 0) __syncthreads(); if (n > 3) { __syncthreads(); }"), "!barrier-in-branch"},
      {kernel("bool any = __syncthreads_or(x[threadIdx.x] > 0); if (any) __syncthreads();"), "!barrier-in-branch"},
      {kernel("for (int i = threadIdx.x; i < n; i += blockDim.x) {\n__syncthreads(); }"), "barrier-in-uneven-loop", 3},
      {kernel("for (int i = 0; i < n; i += blockDim.x) { __syncthreads(); }"), "!barrier-in-uneven-loop"},
      {kernel("int i = threadIdx.x;\nif (i >= n) return;\n__syncthreads();"), "return-before-barrier", 3,
       Severity::note},
      {kernel("int i = threadIdx.x; __syncthreads(); if (i >= n) return; y[i] = 1;"), "!return-before-barrier"},
      {kernel("if (blockIdx.x >= rows) return; __syncthreads();"), "!return-before-barrier"},
      {kernel("float v = 1; if (threadIdx.x < n)\nv += __shfl_down_sync(" + mask + ", v, 16);"), "shuffle-in-branch",
       3},
      {kernel("int lane = threadIdx.x & 31; float v = 1; if (lane == 0)\nv = __shfl_sync(0xFFFFFFFFu, v, 0);"),
       "shuffle-in-branch", 3},
      {kernel("float v = 1; if (threadIdx.x < 32) v += __shfl_down_sync(" + mask + ", v, 16);"), "!shuffle-in-branch"},
      {kernel("int warp = threadIdx.x / 32; float v = 1; if (warp == 0) v += __shfl_xor_sync(" + mask + ", v, 1);"),
       "!shuffle-in-branch"},
      {kernel("int warp = threadIdx.x >> 5; float v = 1; if (warp == 0) v += __shfl_xor_sync(" + mask + ", v, 1);"),
       "!shuffle-in-branch"},
      {kernel("float v = 1; for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(" + mask + ", v, o);"),
       "!shuffle-in-branch"},
      {kernel("float v = __shfl_down(x[0], 16);"), "legacy-warp-function", 2},
      {kernel("unsigned m = __ballot(n > 0);"), "legacy-warp-function", 2},
      {kernel("unsigned m = __ballot_sync(" + mask + ", n > 0);"), "!legacy-warp-function"},
  });
}

TEST(Pitfalls, SharedMemory) {
  const std::string load = "__shared__ float t[32][32]; t[threadIdx.y][threadIdx.x] = x[0]; __syncthreads();\n";
  const std::string padded = "__shared__ float t[32][33]; t[threadIdx.y][threadIdx.x] = x[0]; __syncthreads();\n";
  expect_cases({
      {kernel(load + "float v = t[threadIdx.x][threadIdx.y];"), "bank-conflict", 3},
      {"constexpr int T = 64;\n" +
           kernel("__shared__ float t[T][T]; int c = threadIdx.x; t[c][0] = 1; __syncthreads();\nfloat v = t[c][1];"),
       "bank-conflict", 3},
      {kernel(padded + "float v = t[threadIdx.x][threadIdx.y];"), "!bank-conflict"},
      {kernel(load + "float v = t[threadIdx.y][threadIdx.x];"), "!bank-conflict"},
      {kernel("__shared__ float s[256]; s[threadIdx.x] = x[0];\nfloat v = s[threadIdx.x + 1];"), "missing-barrier", 3},
      {kernel("__shared__ float s; __shared__ float a[4]; if (threadIdx.x == 0) a[0] = x[0];\nfloat v = a[0];"),
       "missing-barrier", 3},
      {kernel("__shared__ float s[256]; s[threadIdx.x] = x[0]; __syncthreads(); float v = s[threadIdx.x + 1];"),
       "!missing-barrier"},
      {kernel("__shared__ float s[256]; s[threadIdx.x] = x[0]; float v = s[threadIdx.x];"), "!missing-barrier"},
      {"__device__ void meet() { __syncthreads(); }\n" +
           kernel("__shared__ float s[256]; s[threadIdx.x] = x[0]; meet(); float v = s[threadIdx.x + 1];"),
       "!missing-barrier"},
      {kernel("__shared__ float s[256]; s[threadIdx.x] = x[0]; __syncthreads();\n"
              "for (int o = 128; o > 0; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; "
              "__syncthreads(); }\nif (threadIdx.x == 0) y[0] = s[0];"),
       "!missing-barrier"},
      // The second barrier of a tiled loop is forgotten.
      {kernel("__shared__ float s[32]; float a = 0;\nfor (int k = 0; k < n; k += 32) { s[threadIdx.x] = x[k];\n"
              "__syncthreads(); for (int j = 0; j < 32; ++j)\na += s[j]; }"),
       "missing-barrier", 5},
      {kernel("__shared__ float s[32]; float a = 0; for (int k = 0; k < n; k += 32) { s[threadIdx.x] = x[k];\n"
              "__syncthreads(); for (int j = 0; j < 32; ++j) a += s[j]; __syncthreads(); }"),
       "!missing-barrier"},
      // Two buffers need one barrier a round.
      {kernel("__shared__ float s[2][32]; float a = 0; int b = 0; for (int k = 0; k < n; k += 32) { "
              "s[b][threadIdx.x] = x[k]; __syncthreads(); for (int j = 0; j < 32; ++j) a += s[b][j]; b ^= 1; }"),
       "!missing-barrier"},
  });
}

TEST(Pitfalls, Launches) {
  const auto launcher = [](const std::string& body) { return "extern \"C\" void launch(int n) {\n" + body + "\n}\n"; };
  expect_cases({
      {launcher("k<<<n, 2048>>>(n);"), "block-too-large", 2},
      {launcher("dim3 block(64, 32);\nk<<<n, block>>>(n);"), "block-too-large", 3},
      {launcher("const int t = 100; k<<<n, t>>>(n);"), "block-not-whole-warps", 2, Severity::note},
      {launcher("k<<<n, dim3(8, 4)>>>(n);"), "small-block", 2, Severity::note},
      {launcher("k<<<1, 256>>>(n);"), "single-block", 2, Severity::note},
      {launcher("int t = 100; t = 128; k<<<n, t>>>(n);"), "!block-not-whole-warps"},
      {launcher("dim3 block(16, 16); k<<<n, block>>>(n);"), "!block-too-large"},
      {launcher("k<<<n, 256>>>(n);"), "!small-block"},
      {launcher("k<<<(n + 255) / 256, 256>>>(n);"), "!single-block"},
  });
}

TEST(Pitfalls, BrokenAndHostileTextGivesNoCrash) {
  const std::vector<std::string> texts = {std::string(),
                                          std::string("\0\xff", 2),
                                          std::string("__global__ void k("),
                                          std::string(5000, '{'),
                                          "__global__ void k() {" + std::string(5000, '('),
                                          "__global__ void k() { int a[1 << 63]; a[99999999999999999999]; }",
                                          "__global__ void k() { int i = i; int j = k; int k = j; x[i * j]; }"};
  for (const std::string& text : texts) EXPECT_LT(find_pitfalls(text, "k.cu").size(), 10u);
}

// A naive kernel may reach memory badly; it must not be accused of anything else.
TEST(Pitfalls, NaiveKernelsAreOnlyUncoalesced) {
  std::size_t seen = 0;
  for (const auto& folder : std::filesystem::directory_iterator(std::string(KW_SOURCE_ROOT) + "/tasks")) {
    const auto text = read_file(folder.path() / "naive.cu");
    if (!text.ok()) continue;
    ++seen;
    for (const Finding& finding : find_pitfalls(text.value(), folder.path().filename().string())) {
      EXPECT_TRUE(finding.severity == Severity::note || finding.rule == "uncoalesced-access") << to_string(finding);
    }
  }
  EXPECT_GT(seen, 50u);
}

}  // namespace
}  // namespace kw
