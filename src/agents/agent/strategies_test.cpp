#include "agents/agent/strategies.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace kw {
namespace {

std::string tags(std::string_view kernel) { return to_string(strategies_of(kernel)); }

TEST(Strategies, OfTheExamples) {
  const auto of = [](const char* name) {
    return tags(*read_file(std::string(KW_SOURCE_ROOT) + "/examples/" + name + ".cu"));
  };
  EXPECT_NE(of("add_vectorised").find("vectorised"), std::string::npos) << of("add_vectorised");
  EXPECT_NE(of("matmul_tiled").find("shared_memory, tiling"), std::string::npos) << of("matmul_tiled");
  EXPECT_NE(of("row_sum_warp").find("warp_shuffle"), std::string::npos) << of("row_sum_warp");
  EXPECT_NE(of("softmax_shared").find("shared_memory"), std::string::npos) << of("softmax_shared");
  EXPECT_EQ(of("transpose_tiled").find("vectorised"), std::string::npos) << of("transpose_tiled");
}

TEST(Strategies, EachHasItsMark) {
  EXPECT_EQ(tags(""), "none");
  EXPECT_EQ(tags("__global__ void k(float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = 0; }"), "none");
  EXPECT_EQ(tags("void f() { for (int i = t; i < n; i += blockDim.x * gridDim.x) y[i] = x[i]; }"), "grid_stride");
  EXPECT_EQ(tags("void f() { const int step = gridDim.x * blockDim.x; }"), "grid_stride");
  EXPECT_EQ(tags("void f() { float sums[4]; }"), "register_blocking");
  EXPECT_EQ(tags("void f() { __shared__ float sums[4]; }"), "shared_memory");
  EXPECT_EQ(tags("void f() { __shared__ float t[4]; for (;;) { t[0] = 1; __syncthreads(); } }"),
            "shared_memory, tiling");
  EXPECT_EQ(tags("void f() { __shared__ float t[4]; for (;;) { } __syncthreads(); }"), "shared_memory");
  EXPECT_EQ(tags("#pragma unroll\nfor (;;) ;"), "unrolled");
  EXPECT_EQ(tags("template <int N> __global__ void __launch_bounds__(256) k(const float* __restrict__ x);"),
            "restrict_pointers, launch_bounds, templates");
  EXPECT_EQ(tags("void f() { asm volatile(\"cp.async.ca.shared.global [%0], [%1], 16;\"); }"), "async_copy");
  EXPECT_EQ(tags("__global__ void a(); __global__ void b();"), "many_kernels");
  EXPECT_EQ(tags("// float4 __shared__ atomicAdd\n/* __shfl_down_sync */ char s[] = \"__ldg\";"), "none")
      << "comments and strings";
  EXPECT_EQ(tags("}}}}))))[[[[ for while ( { do"), "none");
}

TEST(Strategies, Claimed) {
  EXPECT_EQ(to_string(strategies_claimed("I use Shared Memory tiling, and float4 loads.")),
            "shared_memory, tiling, vectorised");
  EXPECT_EQ(to_string(strategies_claimed("Here is the kernel.")), "none");
  for (const Strategy strategy : all_strategies()) EXPECT_EQ(strategy_from_string(to_string(strategy)), strategy);
}

}  // namespace
}  // namespace kw
