// A task file from a stranger is as harmless as a kernel from one.

#include "kernel/judge/judge_test_support.h"
#include "kernel/reference/reference_service.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

constexpr const char* copies = R"(
__global__ void copy(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  copy<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
)";

std::string fact(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("# " + name + ": ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 4;
  return text.substr(begin, text.find('\n', begin) - begin);
}

bool allows(const std::string& alternatives, const std::string& status) {
  return ("|" + alternatives + "|").find("|" + status + "|") != std::string::npos;
}

TEST(HostileTasks, AreAnsweredAndHarmlessSlow) {
  const std::filesystem::path planted = "/tmp/kernelwright_hostile";
  std::filesystem::remove(planted);
  // Several of them use up whatever they may: the limits are tested as well by less.
  ReferenceLimits limits = ReferenceService::instance().limits();
  const ReferenceLimits before = limits;
  limits.cpu_seconds = 2;
  ReferenceService::instance().set_limits(limits);
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_root() / "tests/hostile_tasks")) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++seen;
    const std::string text = file_text(entry.path());
    const std::string expected = fact(text, "status");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    std::string found = "error", said;
    if (const auto task = load_task(entry.path()); task.ok()) {
      const Verdict verdict = test_judge().judge(*task, copies, "copy.cu");
      found = to_string(verdict.status);
      said = verdict.summary;
      EXPECT_LT(said.size(), 10'000u);
    }
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_TRUE(allows(expected, found)) << found << ": " << said;
    EXPECT_FALSE(std::filesystem::exists(planted));
  }
  EXPECT_GE(seen, 40);
  ReferenceService::instance().set_limits(before);
  // Nobody is the worse for it.
  const Verdict after =
      test_judge().judge(suite_task("relu"), file_text(source_root() / "tasks/relu/naive.cu"), "k.cu");
  EXPECT_EQ(after.status, VerdictStatus::correct) << describe(after);
}

}  // namespace
}  // namespace kw
