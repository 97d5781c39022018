#include "kernel/source/plan_print.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernel/source/interpreter_test_support.h"

namespace kw {
namespace {

TEST(PlanPrint, JsonHoldsEveryStep) {
  const auto plan = plan_text(
      "struct P { const float* p; int n; int m; };\n__global__ void k(const float* x, P p, float s, bool b) {}\n" +
      row_signature +
      " { float* t; cudaMallocAsync(&t, 256, stream); cudaMemsetAsync(t, 3, 64, stream);\n"
      "  k<<<dim3(2, 3), 64, 128, stream>>>(x + 1, P{x, 5, 6}, 0.5f, true);\n"
      "  cudaMemcpyAsync(y, t, 8, cudaMemcpyDeviceToDevice, stream); cudaFreeAsync(t, stream); }");
  ASSERT_TRUE(plan.ok()) << to_string(plan.error());
  const nlohmann::json json = to_json(*plan);
  ASSERT_EQ(json["buffers"].size(), 3u);
  EXPECT_EQ(json["buffers"][2], (nlohmann::json{{"name", "t"}, {"kind", "scratch"}, {"bytes", 256}}));
  ASSERT_EQ(json["steps"].size(), 5u);
  EXPECT_EQ(json["steps"][0]["step"], "allocate");
  EXPECT_EQ(json["steps"][1]["value"], 3);
  const nlohmann::json& launch = json["steps"][2];
  EXPECT_EQ(launch["kernel"], "k");
  EXPECT_EQ(launch["grid"], (nlohmann::json{2, 3, 1}));
  EXPECT_EQ(launch["dynamic_shared_bytes"], 128);
  EXPECT_EQ(launch["line"], 4);
  EXPECT_EQ(launch["arguments"][0]["pointer"], (nlohmann::json{{"buffer", "x"}, {"index", 0}, {"offset_bytes", 4}}));
  EXPECT_EQ(launch["arguments"][1]["bytes"], "00000000000000000500000006000000");
  EXPECT_EQ(launch["arguments"][1]["pointers"][0]["at_bytes"], 0);
  EXPECT_EQ(launch["arguments"][2]["value"], 0.5);
  EXPECT_EQ(launch["arguments"][3]["value"], true);
  EXPECT_EQ(json["steps"][3]["source"]["buffer"], "t");
  EXPECT_EQ(json["steps"][4]["step"], "free");
}

}  // namespace
}  // namespace kw
