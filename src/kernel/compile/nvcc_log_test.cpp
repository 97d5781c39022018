#include "kernel/compile/nvcc_log.h"

#include <gtest/gtest.h>

#include "kernel/compile/resources.h"

namespace kw {
namespace {

// The texts are those of nvcc 13.0 with g++ 12.
std::vector<std::string> lines_of(std::string_view log, std::string_view ptx = {}, std::string_view text = {}) {
  std::vector<std::string> lines;
  for (const Diagnostic& diagnostic : parse_nvcc_log(log, {"mine.cu", ptx, text}))
    lines.push_back(to_string(diagnostic));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(NvccLog, TheFrontEndsCaretIsTheColumn) {
  EXPECT_EQ(lines_of("program.cu(3): error: identifier \"y\" is undefined\n"
                     "    x[0] = y;\n"
                     "           ^\n\n"
                     "program.cu(5): warning #177-D: variable \"unused\" was declared but never referenced\n"
                     "   int i = 0, unused;\n"
                     "              ^\n\n"
                     "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n"
                     "1 error detected in the compilation of \"program.cu\".\n",
                     "", "\n\n  x[0] = y;\n\n\tint i = 0, unused;\n"),
            (Lines{"mine.cu:3:10: error: identifier \"y\" is undefined",
                   "mine.cu:5:13: warning: variable \"unused\" was declared but never referenced [177-D]"}));
}

TEST(NvccLog, ColumnsAreThoseOfTheTextBeforeMacros) {
  const std::string log =
      "program.cu(1): error: identifier \"y\" is undefined\n"
      "  __attribute__((global)) void f(int* x) { *x = y; }\n"
      "                                                ^\n";
  EXPECT_EQ(lines_of(log, "", "__global__ void f(int* x) { *x = y; }\n"),
            Lines{"mine.cu:1:34: error: identifier \"y\" is undefined"});
  // Within what a macro became there is none.
  EXPECT_EQ(lines_of(log, "", "KERNEL(y)\n"), Lines{"mine.cu:1: error: identifier \"y\" is undefined"});
  EXPECT_EQ(lines_of(log), Lines{"mine.cu:1: error: identifier \"y\" is undefined"});
}

TEST(NvccLog, TheHostCompilerAndTheAssembler) {
  EXPECT_EQ(lines_of("program.cu:2:10: fatal error: nothere.h: No such file or directory\n"
                     "    2 | #include \"nothere.h\"\n"
                     "      |          ^~~~~~~~~~~\n"
                     "compilation terminated.\n"),
            Lines{"mine.cu:2:10: error: nothere.h: No such file or directory"});
  EXPECT_EQ(lines_of("program.cu: Assembler messages:\nprogram.cu:1: Error: no such instruction: `foo bar'\n"),
            Lines{"mine.cu:1: error: no such instruction: `foo bar'"});
  const auto noted = parse_nvcc_log("program.cu:4:5: error: no match\nprogram.cu:2:1: note: candidate\n", {"m.cu", ""});
  ASSERT_EQ(noted.size(), 1u);
  EXPECT_EQ(noted[0].notes, Lines{"line 2: candidate"});
}

TEST(NvccLog, PtxasIsMappedThroughLineInformation) {
  const std::string ptx =
      ".version 9.0\n.loc 1 7 3\nadd.f32 a, b;\n\t.loc 2 99 1\n\t.loc\t1 8 22, function_name x\ngarbage;\n";
  EXPECT_EQ(lines_of("ptxas program.ptx, line 6; error   : Not a name of any known instruction: 'garbage'\n"
                     "ptxas fatal   : Ptx assembly aborted due to errors\n",
                     ptx),
            Lines{"mine.cu:8:22: error: Not a name of any known instruction: 'garbage'"});
  EXPECT_EQ(lines_of("ptxas fatal   : Memory allocation failure\n"),
            Lines{"mine.cu: error: Memory allocation failure"});
}

TEST(NvccLog, ToolsWithoutAPlace) {
  EXPECT_EQ(lines_of("nvcc fatal   : Unsupported gpu architecture 'compute_10'\n"
                     "gcc: fatal error: Killed signal terminated program cc1plus\n"
                     "some other words: here\n"),
            (Lines{"mine.cu: error: Unsupported gpu architecture 'compute_10'",
                   "mine.cu: error: Killed signal terminated program cc1plus"}));
}

TEST(NvccLog, ResourcesOfEveryKernel) {
  const std::string log =
      "ptxas info    : 0 bytes gmem, 64 bytes cmem[3]\n"
      "ptxas info    : Compiling entry function '_Z5scalePf' for 'sm_90'\n"
      "ptxas info    : Function properties for _Z5scalePf\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 31 registers, used 1 barriers, 8 bytes cumulative stack size, 1024 bytes smem\n";
  EXPECT_TRUE(lines_of(log).empty());
  const auto entries = parse_resources(ptxas_lines(log), ".visible .entry _Z5scalePf(\n)\n{\n}\n", "");
  ASSERT_EQ(entries.size(), 1u);
  const KernelResources& resources = entries[0].resources;
  EXPECT_TRUE(resources.known);
  EXPECT_EQ(resources.registers, 31);
  EXPECT_EQ(resources.stack_bytes, 8);
  EXPECT_EQ(resources.spill_store_bytes, 4);
  EXPECT_EQ(resources.spill_load_bytes, 12);
  EXPECT_EQ(resources.static_shared_bytes, 1024);
  EXPECT_EQ(resources.barriers, 1);
}

TEST(NvccLog, MessagesAreBounded) {
  std::string log;
  for (int i = 0; i < 1000; ++i) log += "program.cu(1): error: " + std::string(5000, 'x') + "\n";
  const auto diagnostics = parse_nvcc_log(log, {"mine.cu", ""});
  EXPECT_EQ(diagnostics.size(), max_diagnostics);
  EXPECT_LE(diagnostics[0].message.size(), max_diagnostic_bytes + 8);
  EXPECT_EQ(lines_of("program.cu(1): error: a\x1b[31mb\n"), Lines{"mine.cu:1: error: a [31mb"});
}

}  // namespace
}  // namespace kw
