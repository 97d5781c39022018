// CUDA's own rules: kernels that keep one in a way that looks wrong, and kernels that break one (tests/cuda_rules).

#include <algorithm>
#include <set>

#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

bool has_finding(const CorpusKernel& kernel, const Verdict& verdict) {
  return std::any_of(verdict.findings.begin(), verdict.findings.end(),
                     [&](const VerdictFinding& finding) { return kernel.allows("kind", finding.kind); });
}

TEST(CudaRules, AreJudgedAsTheyAreWrittenSlow) {
  const auto corpus = read_corpus("tests/cuda_rules");
  int right = 0, wrong = 0;
  for (const CorpusKernel& kernel : corpus) {
    SCOPED_TRACE(kernel.path.filename().string());
    ASSERT_TRUE(kernel.facts.count("task") && kernel.facts.count("status"));
    const Verdict verdict =
        test_judge().judge(suite_task(kernel.facts.at("task")), kernel.text, kernel.path.filename());
    EXPECT_TRUE(kernel.allows("status", std::string(to_string(verdict.status)))) << describe(verdict);
    const bool expects_correct = kernel.allows("status", "correct");
    ++(expects_correct ? right : wrong);
    if (expects_correct) {
      EXPECT_TRUE(verdict.findings.empty()) << describe(verdict);
    } else if (kernel.facts.count("kind")) {
      EXPECT_TRUE(has_finding(kernel, verdict)) << describe(verdict);
    }
  }
  EXPECT_GE(right, 14);
  EXPECT_GE(wrong, 14);
}

// A file that says nothing about its rule, or where it is written, shows nothing.
TEST(CudaRules, NameTheirRuleAndWhereItIsWritten) {
  const std::set<std::string> ways = {"values", "memcheck", "racecheck", "synccheck", "initcheck", "hang", "none"};
  for (const CorpusKernel& kernel : read_corpus("tests/cuda_rules")) {
    SCOPED_TRACE(kernel.path.filename().string());
    const std::string name = kernel.path.stem();
    EXPECT_TRUE(name.ends_with("_right") || name.ends_with("_wrong"));
    ASSERT_TRUE(kernel.facts.count("rule") && kernel.facts.count("status") && kernel.facts.count("gpu"));
    const std::string& rule = kernel.facts.at("rule");
    EXPECT_TRUE(rule.find("(PTX ISA") != std::string::npos || rule.find("(CUDA") != std::string::npos) << rule;
    // Behind it, in brackets, why a tool says something of a right kernel.
    const std::string& gpu = kernel.facts.at("gpu");
    EXPECT_TRUE(ways.contains(gpu.substr(0, gpu.find(" (")))) << gpu;
    EXPECT_EQ(name.ends_with("_right"), kernel.facts.at("status") == "correct");
  }
}

}  // namespace
}  // namespace kw
