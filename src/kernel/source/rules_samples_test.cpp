// The rules and pitfalls on whole files: every task's kernel, the samples of tests/rules, and text made to be slow.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/test_length.h"
#include "kernel/source/pitfalls.h"
#include "kernel/source/repeated_text.h"
#include "kernel/source/risk.h"
#include "kernel/source/rules.h"
#include "kernel/source/sanitise.h"

namespace kw {
namespace {

std::string all(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

// Every task's own kernel is clean.
TEST(RuleSamples, NaiveKernelsAreClean) {
  std::size_t seen = 0;
  for (const auto& folder : std::filesystem::directory_iterator(std::string(KW_SOURCE_ROOT) + "/tasks")) {
    const auto path = folder.path() / "naive.cu";
    if (!std::filesystem::exists(path)) continue;
    const auto text = read_file(path);
    ASSERT_TRUE(text.ok());
    const auto findings = check_rules(text.value(), path.filename().string());
    EXPECT_TRUE(findings.empty()) << path << "\n" << all(findings);
    ++seen;
  }
  EXPECT_GT(seen, 50u);
}

std::vector<std::filesystem::path> samples(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(KW_SOURCE_ROOT) + "/tests/rules/" + folder)) {
    if (entry.path().extension() == ".cu") paths.push_back(entry.path());
  }
  return paths;
}

TEST(RuleSamples, OptimisedKernelsAreClean) {
  ASSERT_GE(samples("clean").size(), 5u);
  for (const auto& path : samples("clean")) {
    const auto text = read_file(path);
    ASSERT_TRUE(text.ok());
    const auto findings = check_rules(text.value(), path.filename().string());
    EXPECT_TRUE(findings.empty()) << all(findings);
    for (const Finding& finding : find_pitfalls(text.value(), path.filename().string())) {
      EXPECT_EQ(finding.severity, Severity::note) << to_string(finding);
    }
  }
}

TEST(RuleSamples, ForbiddenSamplesAreRejected) {
  ASSERT_GE(samples("forbidden").size(), 20u);
  for (const auto& path : samples("forbidden")) {
    const auto text = read_file(path);
    ASSERT_TRUE(text.ok());
    constexpr std::string_view begin = "// expect: ";
    ASSERT_TRUE(text->starts_with(begin)) << path;
    const std::string rule = text->substr(begin.size(), text->find('\n') - begin.size());
    const auto findings = check_rules(text.value(), path.filename().string());
    const bool rejected = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.rule == rule && finding.severity == Severity::error;
    });
    EXPECT_TRUE(rejected) << path << "\n" << all(findings);
  }
}

// Text that makes naive readers slow, a MiB of each in `make test-thorough`; growth_bench has the times.
TEST(RuleSamplesSlow, HostileTextIsRead) {
  for (const RepeatedText& repeated : repeated_statements()) {
    SCOPED_TRACE(repeated.name);
    const std::string text = repeated.of_bytes(std::size_t{1} << (thorough_tests() ? 20 : 18));
    EXPECT_LE(check_rules(text, "k.cu").size(), text.size());
    find_pitfalls(text, "k.cu");
    find_pitfalls(std::string_view(text).substr(0, 200u << 10), "k.cu");
    const double score = assess_risk(text, "k.cu").score;
    EXPECT_TRUE(score >= 0 && score <= 1) << score;
    EXPECT_LE(sanitise(text).size(), 4 * text.size());
  }
}

}  // namespace
}  // namespace kw
