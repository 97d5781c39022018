// The corpus of tests/hostile, and its larger siblings made here: each gets its verdict within its limits, the worker
// lives on, and nothing of the machine shows in what comes out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "base/file.h"
#include "base/test_length.h"
#include "kernel/compile/service.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

const std::string secret_content = "kernelwright-planted-secret-7f3a91";

struct HostileCase {
  std::string name;
  std::vector<std::string> verdicts;
  std::string says;
  std::function<std::string()> source;
};

std::string repeated(std::string_view text, int count) {
  std::string out;
  out.reserve(text.size() * static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) out.append(text);
  return out;
}

std::string numbered(const std::function<std::string(int)>& line, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += line(i);
  return out;
}

std::string kernel(const std::string& body) { return "__global__ void k(int* x) {\n" + body + "\n}\n"; }

const fs::path corpus = fs::path(KW_SOURCE_ROOT) / "tests" / "hostile";

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<HostileCase> cases_of_manifest() {
  std::vector<HostileCase> cases;
  std::istringstream manifest(read_file(corpus / "manifest.txt").value());
  for (std::string line; std::getline(manifest, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t first = line.find('|');
    const std::size_t second = line.find('|', first + 1);
    HostileCase hostile;
    hostile.name = trimmed(line.substr(0, first));
    std::istringstream verdicts(line.substr(first + 1, second - first - 1));
    for (std::string verdict; verdicts >> verdict;) hostile.verdicts.push_back(verdict);
    hostile.says = trimmed(line.substr(second + 1));
    const fs::path file = corpus / hostile.name;
    hostile.source = [file] { return read_file(file).value(); };
    cases.push_back(std::move(hostile));
  }
  return cases;
}

std::vector<HostileCase> generated_cases() {
  // Recursion in the compiler ends in a result, at the end of its stack, or at a limit; which, depends on its version.
  const std::vector<std::string> deep = {"compiled", "compile_error", "compiler_crashed", "timeout", "out_of_memory"};
  // Much honest work: done, or over a limit. The compiler must not crash over it.
  const std::vector<std::string> much = {"compiled", "timeout", "out_of_memory", "output_too_large"};
  const std::vector<std::string> refused = {"compile_error"};
  return {
      {"deep_parentheses", deep, "",
       [] { return kernel("*x = " + repeated("(", 100'000) + "1" + repeated(")", 100'000) + ";"); }},
      {"deep_parentheses_open", deep, "", [] { return kernel("*x = " + repeated("(", 300'000)); }},
      {"deep_braces", deep, "", [] { return kernel(repeated("{", 100'000) + "*x = 1;" + repeated("}", 100'000)); }},
      {"deep_brackets", deep, "",
       [] { return kernel("*x = " + repeated("x[", 100'000) + "1" + repeated("]", 100'000) + ";"); }},
      {"deep_unary", deep, "", [] { return kernel("*x = " + repeated("-~", 100'000) + "1;"); }},
      {"deep_pointers", deep, "", [] { return kernel("int " + repeated("*", 100'000) + "p = 0; *x = p == 0;"); }},
      {"deep_templates", deep, "",
       [] {
         return "template <class T> struct A {};\n" +
                kernel(repeated("A<", 20'000) + "int" + repeated(">", 20'000) + " a;");
       }},
      {"deep_conditions", deep, "",
       [] { return repeated("#if 1\n", 60'000) + kernel("*x = 1;") + repeated("#endif\n", 60'000); }},
      {"deep_ifs", deep, "", [] { return kernel(repeated("if (*x) ", 60'000) + "*x = 1;"); }},
      {"deep_else_ifs", deep, "",
       [] {
         return kernel(numbered([](int i) { return "if (*x == " + std::to_string(i) + ") *x = 1; else "; }, 20'000) +
                       ";");
       }},
      {"deep_lambdas", deep, "",
       [] { return kernel("*x = " + repeated("[&]{ return ", 2'000) + "1" + repeated("; }()", 2'000) + ";"); }},
      {"deep_macro_calls", deep, "",
       [] {
         return "#define f(a) (a)\n" + kernel("*x = " + repeated("f(", 50'000) + "1" + repeated(")", 50'000) + ";");
       }},
      {"long_sum", deep, "", [] { return kernel("*x = 1" + repeated(" + x[1]", 100'000) + ";"); }},
      {"long_line", {"compiled"}, "", [] { return kernel(repeated("x[0] += 1; ", 2'000) + repeated(" ", 900'000)); }},
      {"long_line_comment",
       {"compiled"},
       "",
       [] { return "/*" + repeated("x", 1'000'000) + "*/" + kernel("*x = 1;"); }},
      {"long_name", deep, "", [] { return kernel("int " + repeated("a", 900'000) + " = 1; *x = 2;"); }},
      {"long_kernel_name", deep, "",
       [] { return "__global__ void " + repeated("k", 500'000) + "(int* x) { *x = 1; }\n"; }},
      {"long_string", refused, "",
       [] { return "__constant__ char s[] = \"" + repeated("a", 900'000) + "\";\n" + kernel("*x = s[0];"); }},
      {"long_number", refused, "", [] { return kernel("*x = " + repeated("9", 900'000) + ";"); }},
      {"long_initialiser", much, "",
       [] { return "__device__ int t[] = {" + repeated("1,", 300'000) + "};\n" + kernel("*x = t[*x];"); }},
      {"source_too_large",
       {"rejected"},
       "the limit is",
       [] { return kernel("*x = 1;") + repeated("// filler\n", 110'000); }},
      {"many_kernels", much, "",
       [] {
         return numbered(
             [](int i) {
               return "__global__ void k" + std::to_string(i) + "(int* x) { *x = " + std::to_string(i) + "; }\n";
             },
             5'000);
       }},
      {"many_functions", much, "",
       [] {
         return numbered(
                    [](int i) {
                      return "__device__ __noinline__ int f" + std::to_string(i) + "(int x) { return x * " +
                             std::to_string(i) + "; }\n";
                    },
                    10'000) +
                kernel("*x = f1(*x);");
       }},
      {"many_cases", much, "",
       [] {
         return kernel("switch (*x) {" +
                       numbered(
                           [](int i) {
                             return "case " + std::to_string(i) + ": *x = " + std::to_string(i * 7919 % 10007) +
                                    "; break;\n";
                           },
                           20'000) +
                       "}");
       }},
      {"many_macros",
       {"compile_error", "timeout", "out_of_memory"},
       "",
       [] {
         return numbered([](int i) { return "#define M" + std::to_string(i) + " M" + std::to_string(i + 1) + "\n"; },
                         40'000) +
                kernel("*x = M0;");
       }},
      {"many_errors", refused, "is undefined",
       [] { return kernel(numbered([](int i) { return "unknown_" + std::to_string(i) + ";\n"; }, 20'000)); }},
      {"many_warnings", much, "never referenced",
       [] { return kernel(numbered([](int i) { return "int unused_" + std::to_string(i) + ";\n"; }, 20'000)); }},
      {"many_static_asserts", refused, "static assertion failed",
       [] { return repeated("static_assert(false, \"" + repeated("flood ", 100) + "\");\n", 1'500); }},
      {"many_messages", much, "",
       [] { return repeated("#pragma message(\"" + repeated("flood ", 100) + "\")\n", 1'500) + kernel("*x = 1;"); }},
      {"many_includes",
       {"compiled"},
       "",
       [] { return repeated("#include <cuda_fp16.h>\n#include <cstdint>\n", 10'000) + kernel("*x = 1;"); }},
      {"many_instantiations", much, "",
       [] {
         return "template <int n> __device__ __noinline__ int f(int x) { return x * n + x / (n + 1); }\n" +
                kernel(numbered([](int i) { return "*x += f<" + std::to_string(i) + ">(*x);\n"; }, 3'000));
       }},
      {"output_flood",
       {"output_too_large", "timeout", "out_of_memory"},
       "",
       [] { return "__device__ unsigned char t[40 << 20] = {1, 2, 3};\n" + kernel("*x = t[*x];"); }},
      {"only_hashes", {"compiled"}, "", [] { return repeated("#\n", 400'000); }},
      {"only_new_lines", {"compiled"}, "", [] { return repeated("\n", 1'000'000); }},
      {"only_quotes", refused, "", [] { return repeated("'\n", 300'000); }},
      {"only_backslashes", {"compiled"}, "", [] { return repeated("\\\n", 500'000); }},
  };
}

std::vector<HostileCase> all_cases() {
  std::vector<HostileCase> cases = cases_of_manifest();
  for (HostileCase& hostile : generated_cases()) cases.push_back(std::move(hostile));
  return cases;
}

CompileRequest hostile_request(const std::string& name, std::string source, bool may_run_out = false) {
  CompileRequest request;
  request.source = std::move(source);
  request.file_name = name;
  // Where the clock may decide it may do so soon; everything else has as long as it takes.
  request.limits.cpu_seconds = may_run_out ? 3 : 600;
  request.limits.wall_ms = may_run_out ? 10'000 : 3'600'000;
  request.limits.memory_bytes = 1u << 30;
  request.limits.output_bytes = 16u << 20;
  return request;
}

// A folder with a secret, and a service that is not to read it.
class HostileGround {
 public:
  explicit HostileGround(bool namespaces)
      : service({.pool = {.workers = 1, .namespaces = namespaces},
                 .disk_cache = false,
                 .disk = {},
                 .memory_cache_bytes = 0}) {
    ::setenv("KW_TEST_SECRET", secret_content.c_str(), 1);
    KW_CHECK(write_file_atomic(secret, "'" + secret_content + "'").ok());
    KW_CHECK(service.facts().ok());
    pids = service.pool().worker_pids();
  }

  CompileResult compile(const HostileCase& hostile) {
    std::string source = hostile.source();
    for (std::size_t at = 0; (at = source.find("@SECRET@", at)) != std::string::npos;) source.replace(at, 8, secret);
    const auto& verdicts = hostile.verdicts;
    const bool may_run_out = std::find(verdicts.begin(), verdicts.end(), "timeout") != verdicts.end();
    return service.compile(hostile_request(hostile.name, std::move(source), may_run_out));
  }

  TemporaryFolder folder;
  const std::string secret = folder.path() / "secret.h";
  CompileService service;
  std::vector<int> pids;
};

HostileGround& ground() {
  static HostileGround instance(true);
  return instance;
}

std::string everything_in(const CompileResult& result) {
  std::string text = result.explanation + result.ptx + result.cubin;
  for (const Diagnostic& diagnostic : result.diagnostics) {
    text += to_string(diagnostic) + "\n";
    for (const std::string& note : diagnostic.notes) text += note + "\n";
  }
  return text;
}

std::string messages_of(const CompileResult& result) {
  std::string text;
  for (const Diagnostic& diagnostic : result.diagnostics) text += to_string(diagnostic).substr(0, 300) + "\n";
  return text.substr(0, 3000);
}

void expect_no_secret(const CompileResult& result) {
  const std::string text = everything_in(result);
  EXPECT_EQ(text.find(secret_content), std::string::npos);
  EXPECT_EQ(text.find("root:x:0:0"), std::string::npos);
}

void expect_bounded(const CompileResult& result) {
  EXPECT_LE(result.diagnostics.size(), max_diagnostics);
  for (const Diagnostic& diagnostic : result.diagnostics) {
    EXPECT_LE(diagnostic.message.size(), max_diagnostic_bytes * 3 + 8);
    EXPECT_EQ(valid_utf8(diagnostic.message), diagnostic.message);
    EXPECT_LE(diagnostic.notes.size(), max_diagnostic_notes);
  }
}

class HostileCorpusSlow : public testing::TestWithParam<HostileCase> {};

TEST_P(HostileCorpusSlow, GetsItsVerdict) {
  const HostileCase& hostile = GetParam();
  const CompileResult result = ground().compile(hostile);

  RecordProperty("verdict", std::string(to_string(result.status)));
  EXPECT_THAT(hostile.verdicts, testing::Contains(std::string(to_string(result.status)))) << result.explanation << "\n"
                                                                                          << messages_of(result);
  const bool cut_short = result.status == CompileStatus::timeout || result.status == CompileStatus::out_of_memory;
  if (!cut_short) {
    EXPECT_THAT(messages_of(result), testing::HasSubstr(hostile.says));
  }
  if (!result.ok()) {
    EXPECT_FALSE(result.explanation.empty());
    EXPECT_FALSE(result.diagnostics.empty());
  }
  expect_no_secret(result);
  expect_bounded(result);

  // The same worker goes on as if nothing had been.
  const CompileResult good = ground().service.compile(hostile_request("good.cu", kernel("x[threadIdx.x] *= 2;")));
  EXPECT_TRUE(good.ok()) << good.explanation;
  EXPECT_EQ(ground().service.pool().worker_pids(), ground().pids);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(ground().folder.path())) files.push_back(entry.path());
  EXPECT_THAT(files, testing::ElementsAre(fs::path(ground().secret)));
}

INSTANTIATE_TEST_SUITE_P(Files, HostileCorpusSlow, testing::ValuesIn(tested_share(all_cases())),
                         [](const auto& instance) {
                           std::string name = instance.param.name.substr(0, instance.param.name.find('.'));
                           return name;
                         });

TEST(HostileCorpus, ManifestNamesEveryFile) {
  std::vector<std::string> named;
  for (const HostileCase& hostile : cases_of_manifest()) named.push_back(hostile.name);
  std::vector<std::string> present;
  for (const auto& entry : fs::directory_iterator(corpus)) {
    if (entry.path().extension() == ".cu") present.push_back(entry.path().filename());
  }
  EXPECT_THAT(named, testing::UnorderedElementsAreArray(present));
  EXPECT_GE(named.size(), 40u);
}

// Without namespaces the system-call filter alone has to keep the files out.
TEST(HostileCorpus, WeakerModeReadsNothingEither) {
  HostileGround weaker(false);
  EXPECT_FALSE(weaker.service.facts()->protection.empty_root);
  EXPECT_TRUE(weaker.service.facts()->protection.syscall_filter);
  for (const HostileCase& hostile : cases_of_manifest()) {
    if (hostile.name.rfind("include_", 0) != 0 && hostile.name != "embed.cu") continue;
    const CompileResult result = weaker.compile(hostile);
    EXPECT_THAT(hostile.verdicts, testing::Contains(std::string(to_string(result.status))))
        << hostile.name << messages_of(result);
    expect_no_secret(result);
  }
}

}  // namespace
}  // namespace kw
