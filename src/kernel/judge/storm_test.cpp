// Kernels of legal form that would keep the judge busy for hours or fill the machine's memory: each must be judged
// within what a judgement may cost. No time is asserted: the budget is in units of work.

#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

constexpr std::uint64_t test_units = 4'000'000'000;  // a third of the default, so that the test ends sooner
constexpr double test_seconds = 3600;                // only work decides, however busy the machine is

Judge& storm_judge() {
  static Judge judge(test_service(), [] {
    JudgeOptions options = test_judge().options();
    options.limits.work_units = test_units;
    options.limits.seconds = test_seconds;
    return options;
  }());
  return judge;
}

void expect_within_limits(const Verdict& verdict) {
  EXPECT_GT(verdict.work.allowed_units, 0u);
  EXPECT_LE(verdict.work.units, verdict.work.allowed_units);
  EXPECT_LE(verdict.work.memory_bytes, verdict.work.allowed_memory_bytes);
}

TEST(Storms, AreJudgedWithinTheBudgetSlow) {
  const auto corpus = read_corpus("tests/storms");
  const auto tested = tested_share(corpus);
  std::size_t stopped = 0;
  for (const CorpusKernel& kernel : tested) {
    SCOPED_TRACE(kernel.path.filename().string());
    ASSERT_TRUE(kernel.facts.count("task") && kernel.facts.count("storm") && kernel.facts.count("status"));
    const Verdict verdict =
        storm_judge().judge(suite_task(kernel.facts.at("task")), kernel.text, kernel.path.filename());
    EXPECT_TRUE(kernel.allows("status", std::string(to_string(verdict.status)))) << describe(verdict);
    expect_within_limits(verdict);
    for (const VerdictFinding& finding : verdict.findings) {
      EXPECT_NE(finding.kind, "wall_clock_limit") << describe(verdict);
      stopped += finding.kind == "work_limit" || finding.kind == "memory_limit" ? 1 : 0;
    }
  }
  EXPECT_GE(corpus.size(), 40u);
  EXPECT_GE(stopped * 7, tested.size());  // the budget is what stops them, not only the limits of a single run
}

constexpr const char* memset_storm = R"(
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  char* scratch;
  cudaMallocAsync(&scratch, 16u << 20, stream);
  for (int i = 0; i < 5000; ++i) cudaMemsetAsync(scratch, i, 16u << 20, stream);
  cudaFreeAsync(scratch, stream);
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
)";

Verdict judge_with(const JudgeLimits& limits, std::string_view text, const std::string& task = "relu") {
  JudgeOptions options = test_judge().options();
  options.limits = limits;
  return Judge(test_service(), options).judge(suite_task(task), text, "storm.cu");
}

TEST(JudgementBudget, IsSpentOverAllCasesAndSaysOnWhat) {
  const Verdict verdict = judge_with({500'000'000, test_seconds}, memset_storm);
  EXPECT_EQ(verdict.status, VerdictStatus::timeout);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].kind, "work_limit");
  EXPECT_NE(verdict.summary.find("setting, copying and comparing memory"), std::string::npos) << verdict.summary;
  EXPECT_FALSE(verdict.may_differ);
  expect_within_limits(verdict);
}

TEST(JudgementBudget, IsTheSameForEveryRunAndNumberOfThreads) {
  const std::string text = file_text(source_root() / "tasks/softmax/naive.cu");
  const Verdict first = test_judge().judge(suite_task("softmax"), text, "naive.cu");
  JudgeOptions options = test_judge().options();
  options.threads = 3;
  Judge other(test_service(), options);
  const Verdict second = other.judge(suite_task("softmax"), text, "naive.cu");
  EXPECT_EQ(first.status, VerdictStatus::correct) << describe(first);
  EXPECT_EQ(first.work.by_kind, second.work.by_kind);
  expect_within_limits(first);
}

TEST(JudgementBudget, MemoryBeyondTheLimitIsRejected) {
  std::string text = memset_storm;
  for (std::size_t at; (at = text.find("16u << 20")) != std::string::npos;) text.replace(at, 9, "1900u << 20");
  const Verdict verdict = judge_with({JudgeLimits::default_work_units, test_seconds}, text);
  EXPECT_EQ(verdict.status, VerdictStatus::rejected) << describe(verdict);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].kind, "memory_limit");
  expect_within_limits(verdict);
}

TEST(JudgementBudget, TheClockEndsWhatNothingElseEnds) {
  const Verdict verdict = judge_with({~std::uint64_t{0} / 2, 0.05}, memset_storm);
  EXPECT_EQ(verdict.status, VerdictStatus::timeout) << describe(verdict);
  EXPECT_TRUE(verdict.may_differ);
}

TEST(JudgementBudget, AVerdictByTheClockIsNotCached) {
  JudgeOptions options = test_judge().options();
  options.cache = true;
  options.cache_folder = std::filesystem::path(testing::TempDir()) / "storm_verdicts";
  options.limits = {~std::uint64_t{0} / 2, 0.05};
  std::filesystem::remove_all(options.cache_folder);
  for (int i = 0; i < 2; ++i) {
    const Verdict verdict = Judge(test_service(), options).judge(suite_task("relu"), memset_storm, "storm.cu");
    EXPECT_EQ(verdict.status, VerdictStatus::timeout);
    EXPECT_FALSE(verdict.from_cache);
  }
  std::filesystem::remove_all(options.cache_folder);
}

TEST(JudgementBudget, SurvivesJson) {
  const Verdict verdict = judge_with({500'000'000, test_seconds}, memset_storm);
  const auto read = verdict_from_json(to_json(verdict));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->work.units, verdict.work.units);
  EXPECT_EQ(read->work.by_kind, verdict.work.by_kind);
}

}  // namespace
}  // namespace kw
