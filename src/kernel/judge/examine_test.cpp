#include "kernel/judge/examine.h"

#include "kernel/judge/judge_test_support.h"
#include "kernel/judge/read_marks.h"

namespace kw {
namespace {

Examination examined(const Task& task, const std::string& kernel) {
  CaseBook book(task, "a secret for tests");
  const auto cases = book.set(0);
  BuildOptions options;
  const auto questions = book.questions(0);
  for (const Case& question : **questions) options.plans.push_back({question.sizes, question.scalars});
  const KernelBuild build = build_kernel(test_service(), task, kernel, "kernel.cu", options);
  EXPECT_TRUE(build.built()) << build.problem.message;
  const auto module = LoadedModule::load(build.compiled.ptx, "kernel.cu");
  EXPECT_TRUE(module.ok());
  return examine(task, build, *module, **cases, {});
}

TEST(ReadMarks, CountEachByteOnce) {
  ReadMarks marks({{1000, 1100}, {2000, 2100}});
  EXPECT_EQ(marks.share(), 0);
  for (int i = 0; i < 3; ++i) marks.mark(1000, 50);
  marks.mark(1040, 20);
  marks.mark(5000, 100);  // no input
  EXPECT_DOUBLE_EQ(marks.share(), 0.3);
  marks.mark(2090, 100);  // only what lies inside
  EXPECT_DOUBLE_EQ(marks.share(), 0.35);
}

// A vector that every row reads again is read once.
TEST(Examine, KnowsHowMuchOfTheInputsIsRead) {
  const Task matvec = suite_task("matvec");
  const Examination all = examined(matvec, matvec.naive);
  EXPECT_EQ(all.status, VerdictStatus::correct) << all.summary;
  EXPECT_DOUBLE_EQ(all.read_share, 1);
  const Task embedding = suite_task("embedding_bf16");  // rows of a table, by index
  const Examination part = examined(embedding, embedding.naive);
  EXPECT_EQ(part.status, VerdictStatus::correct) << part.summary;
  EXPECT_GT(part.read_share, 0.1);
  EXPECT_LT(part.read_share, 0.9);
}

// What a launcher copies aside is read, though no kernel loads it from the input.
TEST(Examine, CopiesOfTheLauncherAreReads) {
  const Task relu = suite_task("relu");
  const Examination found = examined(relu, R"(
__global__ void relu(float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = fmaxf(y[i], 0.0f);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  relu<<<(n + 255) / 256, 256, 0, stream>>>(y, n);
}
)");
  EXPECT_EQ(found.status, VerdictStatus::correct) << found.summary;
  EXPECT_DOUBLE_EQ(found.read_share, 1);
}

// Only where n is large, which no two cases have in common.
TEST(Examine, StateThatIsKeptAtOneSizeAloneIsFound) {
  const Examination found = examined(suite_task("relu"), R"(
__device__ int calls;
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = n > 10000 && calls > 1 ? 0.0f : fmaxf(x[i], 0.0f);
}
__global__ void count() { calls += 1; }
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  if (n > 10000) count<<<1, 1, 0, stream>>>();
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
)");
  EXPECT_EQ(found.status, VerdictStatus::rejected) << found.summary;
}

// The kernel remembers how often it was called.
TEST(Examine, KeptStateIsFoundInWhateverOrder) {
  const Examination found = examined(suite_task("relu"), R"(
__device__ int calls;
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = calls > 1000000 ? 0.0f : fmaxf(x[i], 0.0f);
}
__global__ void count() { calls += 1; }
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  count<<<1, 1, 0, stream>>>();
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
)");
  EXPECT_EQ(found.status, VerdictStatus::rejected) << found.summary;
}

}  // namespace
}  // namespace kw
