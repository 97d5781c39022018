// The rules and pitfalls on whole files: every task's kernel, the samples of tests/rules, and text made to be slow.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "source/pitfalls.h"
#include "source/risk.h"
#include "source/rules.h"
#include "source/sanitise.h"

namespace kw {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr double time_limit_s = 10;
#else
constexpr double time_limit_s = 1;
#endif

std::string all(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

// Every task's own kernel is clean.
TEST(RuleSamples, NaiveKernelsAreClean) {
  std::size_t seen = 0;
  for (const auto& folder : std::filesystem::directory_iterator(KW_SOURCE_ROOT "/tasks")) {
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
  for (const auto& entry : std::filesystem::directory_iterator(KW_SOURCE_ROOT "/tests/rules/" + folder)) {
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

// Text that makes naive readers slow: each must be read in well under a second for a MiB.
TEST(RuleSamplesSlow, HostileTextTakesLinearTime) {
  constexpr std::size_t size = std::size_t{1} << 20;
  const auto filled = [](const std::string& head, const std::string& piece, const std::string& tail = "") {
    std::string text = head;
    while (text.size() + piece.size() < size) text += piece;
    return text + tail;
  };
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"brackets", filled("", "(")},
      {"braces", filled("", "{")},
      {"groups", filled("int a = ", "{} ")},
      {"structs", filled("", "struct {} ")},
      {"attributes", filled("", "[[")},
      {"attribute list", filled("", "[[x [[y,")},
      {"asm", filled("", "asm(")},
      {"nested asm", filled("__device__ void f() {", "asm(\"\":")},
      {"asm words", filled("__device__ void f() { asm(\"", "trap; ", "\"); }")},
      {"calls", filled("__global__ void f() {", "printf(1);")},
      {"nested calls", filled("__global__ void f() {", "printf(")},
      {"new", filled("__global__ void f() {", "new (")},
      {"one define", filled("#define A ", "x ", "\nA A A A A A A A\n")},
      {"defines", filled("", "#define A A\nA ")},
      {"conditional defines", filled("", "#if X\n#define A x\n#endif\n")},
      {"undefs", filled("", "#undef A\n#define A\n")},
      {"macro calls", filled("#define F(x) x x\n", "F(")},
      {"macro arguments", filled("#define F(...) __VA_ARGS__\nF(", "x,", ")")},
      {"macro chain", filled("#define F(x) x\n", "F(F(F(F(F(x)))))")},
      {"strings", filled("", "\"a\"")},
      {"open strings", filled("", "\"\n")},
      {"raw strings", filled("", "R\"(\n")},
      {"comments", filled("", "/* */")},
      {"splices", filled("", "a\\\n")},
      {"hidden", filled("", "\xE2\x80\xAE")},
      {"trigraphs", filled("", "?\?=")},
      {"directive tokens", filled("#pragma ", "x ")},
      {"includes", filled("", "#include \"/etc/passwd\"\n")},
      {"arrays", filled("", "int a[1<<30];")},
      {"indices", filled("__device__ int s; __device__ void f() {", "s[")},
      {"statics", filled("__device__ void f() {", "static ")},
      {"casts", filled("__device__ void f() {", "(float*)1")},
      {"loops", filled("__device__ void f() {", "while(true){")},
      {"templates", filled("", "template <")},
      {"zeros", std::string(size, '\0')},
      {"bytes", std::string(size, '\xff')},
  };
  for (const auto& [name, text] : texts) {
    const std::clock_t begin = std::clock();  // processor time: other work on the machine does not count
    const auto seconds = [&] { return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC; };
    check_rules(text, "k.cu");
    find_pitfalls(text, "k.cu");
    find_pitfalls(std::string_view(text).substr(0, 200u << 10), "k.cu");
    const double check_s = seconds();
    assess_risk(text, "k.cu");
    sanitise(text);
    const double all_s = seconds();
    EXPECT_LT(check_s, time_limit_s) << name;
    EXPECT_LT(all_s, 6 * time_limit_s) << name;
  }
}

}  // namespace
}  // namespace kw
