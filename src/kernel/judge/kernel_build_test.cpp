// What a file is judged by when it is refused for something that its launch does not need.

#include "kernel/judge/kernel_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/task/task_file.h"

namespace kw {
namespace {

using testing::HasSubstr;

const std::string add =
    "__global__ void add(const float* a, const float* b, float* c, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) c[i] = a[i] + b[i];\n}\n";
const std::string launcher =
    "extern \"C\" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {\n"
    "  add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);\n}\n";

KernelBuild built(const std::string& text) {
  static CompileService service({.pool = {.workers = 1}, .disk_cache = false});
  static const Task task = find_task(std::string(KW_SOURCE_ROOT) + "/tasks", "add").value();
  BuildOptions options;
  options.want_cubin = false;
  return build_kernel(service, task, text, "k.cu", options);
}

TEST(KernelBuild, WhatTheLaunchDoesNotNeedRefusesNothing) {
  for (const char* around : {"__global__ void other(float* y) { y[0] = clock(); }\n",    // a rule
                             "__global__ void other(float* y) { y[0] = missing(); }\n",  // the compiler
                             "#include <thrust/transform.h>\n", "template <class T> class Layer : Base<T> {};\n"}) {
    const KernelBuild build = built(around + add + launcher);
    EXPECT_TRUE(build.built()) << around << to_string(build.problem);
    ASSERT_FALSE(build.findings.empty());
    EXPECT_EQ(build.findings.back().rule, "not-needed");
    EXPECT_EQ(build.findings.back().severity, Severity::note);
    EXPECT_EQ(build.findings.back().where.line, 1);
  }
}

TEST(KernelBuild, WhatItNeedsIsRefusedWithItsLine) {
  const KernelBuild timed = built("int main() { return system(\"id\"); }\n__device__ float t() { return clock(); }\n" +
                                  std::string(add).replace(add.find("a[i]"), 4, "t()") + launcher);
  EXPECT_EQ(timed.status, BuildStatus::rejected);
  EXPECT_EQ(timed.problem.where.line, 2);
  EXPECT_THAT(timed.problem.message, HasSubstr("clock"));

  // The first thing that is wrong was left out; the next one counts.
  const KernelBuild second = built("__global__ void other(float* y) { y[0] = clock(); }\n" +
                                   std::string(add).replace(add.find("a[i]"), 4, "missing(i)") + launcher);
  EXPECT_EQ(second.status, BuildStatus::compile_error);
  EXPECT_EQ(second.problem.where.line, 4);
  EXPECT_THAT(second.problem.message, HasSubstr("missing"));

  const KernelBuild header =
      built("#include <thrust/transform.h>\n" +
            std::string(add).replace(add.find("a[i]"), 4, "thrust::plus<float>()(a[i], 1)") + launcher);
  EXPECT_EQ(header.status, BuildStatus::rejected);
  EXPECT_EQ(header.problem.where.line, 4);
}

TEST(KernelBuild, NothingIsDoneForAFileThatIsTaken) {
  const KernelBuild build = built("int main() { return 0; }\n" + add + launcher);
  EXPECT_TRUE(build.built());
  for (const Finding& finding : build.findings) EXPECT_NE(finding.rule, "not-needed");
  EXPECT_EQ(built("int x = 3;\n").status, BuildStatus::launcher_error);
}

}  // namespace
}  // namespace kw
