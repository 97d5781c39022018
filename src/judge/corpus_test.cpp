// Kernels with a planted bug must be found out, with the right kind and line; kernels that cheat must not be rewarded.

#include <set>

#include "judge/judge_test_support.h"
#include "judge/missing_time.h"

namespace kw {
namespace {

TEST(PlantedBugs, AreFoundWithKindAndLineSlow) {
  const auto corpus = read_corpus("tests/bugs");
  std::set<std::string> kinds;
  for (const CorpusKernel& kernel : corpus) {
    SCOPED_TRACE(kernel.path.filename().string());
    ASSERT_TRUE(kernel.facts.count("task") && kernel.facts.count("kind") && kernel.facts.count("status"));
    kinds.insert(kernel.facts.at("kind"));
    const Verdict verdict =
        test_judge().judge(suite_task(kernel.facts.at("task")), kernel.text, kernel.path.filename());
    EXPECT_TRUE(kernel.allows("status", std::string(to_string(verdict.status)))) << describe(verdict);
    bool found = false;
    for (const VerdictFinding& finding : verdict.findings) {
      const bool marked =
          std::find(kernel.marked_lines.begin(), kernel.marked_lines.end(), finding.line) != kernel.marked_lines.end();
      found = found || (kernel.allows("kind", finding.kind) && marked);
    }
    EXPECT_TRUE(found) << describe(verdict);
  }
  EXPECT_GE(corpus.size(), 40u);
  EXPECT_GE(kinds.size(), 15u);
}

TEST(Exploits, AreNeverCorrectSlow) {
  const auto corpus = read_corpus("tests/exploits");
  for (const CorpusKernel& kernel : corpus) {
    SCOPED_TRACE(kernel.path.filename().string());
    ASSERT_TRUE(kernel.facts.count("task") && kernel.facts.count("status"));
    const Verdict verdict =
        test_judge().judge(suite_task(kernel.facts.at("task")), kernel.text, kernel.path.filename());
    EXPECT_NE(verdict.status, VerdictStatus::correct) << describe(verdict);
    EXPECT_FALSE(verdict.correct);
    EXPECT_FALSE(verdict.speedup_naive.has_value());
    EXPECT_TRUE(kernel.allows("status", std::string(to_string(verdict.status)))) << describe(verdict);
  }
  EXPECT_GE(corpus.size(), 20u);
}

TEST(HonestKernels, AreCorrectWithoutFindingsSlow) {
  for (const CorpusKernel& kernel : read_corpus("tests/correct")) {
    SCOPED_TRACE(kernel.path.filename().string());
    const Verdict verdict =
        test_judge().judge(suite_task(kernel.facts.at("task")), kernel.text, kernel.path.filename());
    EXPECT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
    EXPECT_TRUE(verdict.findings.empty()) << describe(verdict);
    EXPECT_TRUE(verdict.time_us || !missing_time_reason(verdict).empty()) << describe(verdict);
  }
}

// Every naive and every optimised kernel of the suite is right, and nothing is said against it.
TEST(Suite, IsJudgedCorrectWithoutFindingsSlow) {
  int ranked = 0, pairs = 0;
  const auto suite = load_suite(source_root() / "tasks");
  ASSERT_TRUE(suite.ok());
  for (const SuiteEntry& entry : *suite) {
    ASSERT_TRUE(entry.task.ok()) << entry.name;
    const Task& task = *entry.task;
    SCOPED_TRACE(task.name);
    std::vector<std::filesystem::path> files{source_root() / "tasks" / task.name / "naive.cu"};
    const auto optimised = source_root() / "tasks" / task.name / "optimised.cu";
    if (std::filesystem::exists(optimised)) files.push_back(optimised);
    std::vector<Verdict> verdicts;
    for (const auto& file : files) {
      verdicts.push_back(test_judge().judge(task, file_text(file), file.filename()));
      EXPECT_EQ(verdicts.back().status, VerdictStatus::correct) << describe(verdicts.back());
      EXPECT_TRUE(verdicts.back().time_us.has_value()) << describe(verdicts.back());
      EXPECT_TRUE(verdicts.back().findings.empty()) << describe(verdicts.back());
    }
    if (verdicts.size() < 2 || !verdicts[1].speedup_naive) continue;
    ++pairs;
    ranked += *verdicts[1].speedup_naive > 1 ? 1 : 0;
  }
  EXPECT_GE(pairs, 24);
  EXPECT_GE(ranked, 20);
  RecordProperty("pairs", pairs);
  RecordProperty("ranked", ranked);
}

}  // namespace
}  // namespace kw
