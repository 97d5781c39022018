// What public code bases do that only looks forbidden.

#include <gtest/gtest.h>

#include "kernel/source/rules.h"

namespace kw {
namespace {

std::string in_kernel(const std::string& body) {
  return "__global__ void k(float* y, const float* x, int n) {\n" + body + "\n}\n";
}

// The rules with an error, each followed by a space.
std::string errors(const std::string& text) {
  std::string all;
  for (const Finding& finding : check_rules(text, "k.cu")) {
    if (finding.severity == Severity::error) all += finding.rule + " ";
  }
  return all;
}

TEST(RulesOfPublicCode, OwnDeviceFunctionsMayBeginLikeTheRuntimes) {
  const std::string use = in_kernel("y[0] = cudaFilterPixel(x[0]);");
  EXPECT_EQ(errors("__device__ float cudaFilterPixel(float a) { return a; }\n" + use), "");
  EXPECT_EQ(errors("template <int A, int B = 3, typename T>\n__device__ T cudaFilterPixel(T a) { return a; }\n" +
                   in_kernel("y[0] = cudaFilterPixel<1>(x[0]);")),
            "");
  EXPECT_EQ(errors(use), "dynamic-parallelism ");
  // The runtime's, whatever overloads the file has.
  for (const char* name : {"cudaMemcpyAsync", "cudaLaunchDevice", "cudaGraphLaunch", "cudaDeviceSynchronize"}) {
    const std::string own = std::string("__device__ void ") + name + "(float) {}\n";
    EXPECT_NE(errors(own + in_kernel(std::string(name) + "(y, x, n);")), "") << name;
  }
}

TEST(RulesOfPublicCode, KernelsOfPyTorchStandInItsNativeNamespace) {
  EXPECT_EQ(errors("namespace at::native {\n" + in_kernel("y[0] = 1;") + "}\n"), "");
  EXPECT_EQ(errors("namespace at { namespace native {\n" + in_kernel("y[0] = 1;") + "}}\n"), "");
  for (const char* text :
       {"namespace at { int empty(int); }\n", "namespace at { namespace native { }\nint empty(int); }\n",
        "namespace at::cuda { int getCurrentCUDAStream(); }\n", "namespace c10 { namespace native { } }\n",
        "namespace at { namespace native {"}) {
    EXPECT_EQ(errors(text), "library-redefinition ") << text;
  }
}

TEST(RulesOfPublicCode, PrototypesNeedNoNames) {
  EXPECT_EQ(errors("float f(float, int);\nvoid g(int, float*);\n" + in_kernel("y[0] = 1;")), "");
  EXPECT_EQ(errors("struct S { S(int, int); };\nS s(int(3), 4);\n"), "static-constructor ");
  EXPECT_EQ(errors("struct S { S(int, int); };\nS s(a, b);\n"), "static-constructor ");
}

}  // namespace
}  // namespace kw
