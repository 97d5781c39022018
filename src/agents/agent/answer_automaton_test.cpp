#include "agents/agent/answer_automaton.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "agents/agent/answer.h"
#include "agents/agent/answer_constraint.h"
#include "base/file.h"
#include "base/random.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

const std::string root = KW_SOURCE_ROOT;
const std::string parameters = "const float* x, float* y, int n, cudaStream_t stream) {";
const std::string kernel =
    "__global__ void k(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = x[i] / 2.0f; // half (of it\n}\n\n";
const std::string launcher = "extern \"C\" void launch(" + parameters + "\n  k<<<1, 32, 0, stream>>>(x, y, n);\n}\n";

// How many bytes are taken, and whether the text may end there.
struct Walk {
  std::size_t taken = 0;
  bool ends = false;
};
Walk walk(std::string_view text, bool fenced = false, std::string_view expected = parameters) {
  AnswerState state = answer_start(fenced);
  Walk result;
  while (result.taken < text.size() && take_byte(state, text[result.taken], expected)) ++result.taken;
  result.ends = result.taken == text.size() && may_end(state);
  return result;
}

std::string refused_at(std::string_view text, bool fenced = false) {
  const Walk result = walk(text, fenced);
  return result.taken == text.size() ? "" : std::string(text.substr(result.taken));
}

TEST(AnswerAutomaton, AWholeFileMayEnd) {
  EXPECT_TRUE(walk(kernel + launcher).ends);
  EXPECT_TRUE(walk(launcher + kernel).ends);
  EXPECT_TRUE(walk("#include <cuda_fp16.h>\n#include \"math.h\"  // m\n" + kernel + launcher).ends);
  EXPECT_FALSE(walk(kernel).ends);
  EXPECT_FALSE(walk(launcher).ends) << "there is no kernel";
  EXPECT_FALSE(walk("// __global__\n" + launcher).ends);
  const std::string whole = kernel + launcher;
  for (std::size_t i = 0; i + 2 < whole.size(); ++i) EXPECT_FALSE(walk(whole.substr(0, i)).ends) << i;
  EXPECT_FALSE(walk(whole + "static int x").ends);
  EXPECT_FALSE(walk(whole + "/* a").ends);
  EXPECT_TRUE(walk(whole + "static int x;").ends);
}

TEST(AnswerAutomaton, TheLauncherIsTheExpectedOne) {
  const std::string head = kernel + "extern \"C\" void launch(";
  EXPECT_EQ(refused_at(head + "float* y"), "float* y");
  EXPECT_EQ(refused_at(head + "const float* x, float* y, int m"), "m");
  EXPECT_EQ(refused_at(head + "const float* x, float* y, int n, cudaStream_t stream);"), ";");
  EXPECT_EQ(refused_at("extern  \"C\"\nvoid\n  launch ( "), " ");
  EXPECT_EQ(refused_at("void launch(const"), "(const");
  EXPECT_EQ(refused_at("extern \"D\" void launch("), "(");
  EXPECT_EQ(refused_at("extern \"C\" {"), "{");
  EXPECT_EQ(refused_at("extern \"C\" int x; void launch("), "(");
  EXPECT_EQ(refused_at(kernel + launcher + "extern \"C\" void launch("), "(") << "there is one already";
  EXPECT_EQ(refused_at("extern \"C\" __global__ void __launch_bounds__(256) k(int n) {}"), "");
  EXPECT_EQ(refused_at("void launch_all(int n) { launch(n); relaunch(n); }"), "") << "other names, and calls";
}

TEST(AnswerAutomaton, BracketsMatchOutsideOfStringsAndComments) {
  EXPECT_EQ(refused_at("int f() { return (1]"), "]");
  EXPECT_EQ(refused_at("}"), "}");
  EXPECT_EQ(refused_at("// }\n/* ) * / ]\n} **/ int x[3];"), "");
  EXPECT_EQ(refused_at("const char* s = \"}\\\"}\"; char c = '}'; char d = '\\''; int n = 1'000'000; }"), "}");
  EXPECT_EQ(refused_at("const char* s = \"a\nb"), "\nb");
  EXPECT_EQ(refused_at("#define OPEN (\\\n {\nint x = OPEN;"), "");
  EXPECT_EQ(refused_at("const char* s = R\"(a"), "\"(a") << "raw strings are not followed";
  EXPECT_EQ(refused_at("const char* s = LR \"a\";"), "");
  EXPECT_EQ(refused_at("int x = 3 / 4 / y; float z = 0x1p-3f / 1e-5f;"), "");
  EXPECT_EQ(refused_at("void f() { for (int i = 0; i < (n); ++i) if(int j = 0; j) while /**/ (g(1)) ; x = (1 + 2;"),
            ";");
  EXPECT_EQ(refused_at("void f() { int a[3;"), ";");
  EXPECT_EQ(refused_at("void f() { g([&] { return 1; }); ifx(1;"), ";");
  EXPECT_EQ(refused_at("int x = 1 @"), "@");
  EXPECT_EQ(refused_at("int x = 1; #"), "#");
  EXPECT_EQ(refused_at("int \xC3\xA9"), "\xC3\xA9");
  EXPECT_EQ(refused_at("// ```"), "```");
  const std::string deep(40, '(');
  EXPECT_EQ(refused_at(deep).size(), 10u) << "bounded";
}

TEST(AnswerAutomaton, HeadersAreThoseOfTheRules) {
  EXPECT_EQ(refused_at("#include <cuda_fp17.h>"), "7.h>");
  EXPECT_EQ(refused_at("#include <cub/block/block_reduce.cuh>\n"), "");
  EXPECT_EQ(refused_at("#include <cub/../x>"), "./x>");
  EXPECT_EQ(refused_at("#include <cub/>"), ">");
  EXPECT_EQ(refused_at("#include <cmath>>"), ">");
  EXPECT_EQ(refused_at("#include <cmath\"\n"), "\"\n");
  EXPECT_EQ(refused_at("#include X"), "X");
  EXPECT_EQ(refused_at("#include_next <cmath>"), "_next <cmath>");
  EXPECT_EQ(refused_at("#line 3"), "line 3");
  EXPECT_EQ(refused_at("  #  pragma unroll 4\n#if 0\n#endif\n"), "");
}

TEST(AnswerAutomaton, AFenceClosesBehindAWholeFile) {
  const std::string open = "Strategy: `shared` ``tiles``.\n```cuda\n";
  EXPECT_TRUE(walk(open + kernel + launcher + "```", true).ends);
  EXPECT_TRUE(walk(open + kernel + launcher + "```\n", true).ends);
  EXPECT_EQ(refused_at(open + kernel + launcher + "```\nThis", true), "This");
  EXPECT_EQ(refused_at(open + kernel + "```", true), "```");
  EXPECT_EQ(refused_at(open + kernel + launcher + "int y; ```", true), "```");
  EXPECT_EQ(refused_at("```python\n", true), "python\n");
  EXPECT_EQ(refused_at("```cuda title\n", true), " title\n");
  EXPECT_FALSE(walk("No.", true).ends);
}

// The launcher's parameters on one line, as agents write them.
std::string on_one_line(std::string text) {
  for (std::size_t at = text.rfind(" launch("); at < text.size() && text[at] != '{'; ++at)
    if (text[at] == '\n') text.replace(at, text.find_first_not_of(" \n", at) - at, " ");
  return text;
}

// Everything that people have written well is taken, with the launcher that it has.
TEST(AnswerAutomaton, TakesEveryKernelOfTheSuite) {
  int taken = 0;
  for (const auto& folder : std::filesystem::directory_iterator(root + "/tasks")) {
    const auto task = load_task(folder.path());
    if (!task.ok() || task->naive.empty()) continue;
    const std::string expected = expected_parameters(*task, task->naive), text = on_one_line(task->naive);
    const Walk result = walk(text, false, expected);
    EXPECT_TRUE(result.ends) << folder.path() << " expected " << expected
                             << "\nrefused: " << text.substr(result.taken, 80);
    const Answer answer = parse_answer(text + "<|end|>");
    EXPECT_EQ(answer.outcome, AnswerOutcome::kernel);
    ++taken;
  }
  EXPECT_GT(taken, 100);
}

// Whatever bytes come: where the automaton says that the answer may end, it holds a kernel.
TEST(AnswerAutomaton, WhatMayEndIsReadAsAKernel) {
  const std::string whole = "#include <cmath>\n" + kernel + launcher;
  const std::string alphabet = "(){}[];'\"/*\\#\n az0`,.";
  int ended = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed, 1);
    std::string text = whole;
    for (int i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(text.size()) - 1));
      const char byte =
          alphabet[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(alphabet.size()) - 1))];
      if (random.integer(0, 1) == 0)
        text[at] = byte;
      else
        text.insert(at, 1, byte);
    }
    if (!walk(text).ends) continue;
    ++ended;
    const Answer answer = parse_answer(text + "<|end|>");
    EXPECT_EQ(answer.outcome, AnswerOutcome::kernel) << answer.message << "\n" << text;
  }
  EXPECT_GT(ended, 50);
}

TEST(ExpectedParameters, KeepTheNamesOfTheKernelThatIsShown) {
  const Task task = *load_task(root + "/tasks/softmax");
  const std::string own = "const float* x, float* y, int rows, int cols, cudaStream_t stream) {";
  EXPECT_EQ(expected_parameters(task), own);
  EXPECT_EQ(expected_parameters(task,
                                "extern \"C\" void launch(const float *__restrict__ in,\n float* out, int r, int c, "
                                "cudaStream_t s) {}"),
            "const float* in, float* out, int r, int c, cudaStream_t s) {");
  for (const char* other :
       {"void launch(const float* in, float* out, int r, cudaStream_t s) {",
        "void launch(const float* in, int* out, int r, int c, cudaStream_t s) {",
        "void launch(const float* a, float* a, int r, int c, cudaStream_t s) {",
        "void launch(const float*, float*, int, int, cudaStream_t) {", "void launch(", "no launcher"})
    EXPECT_EQ(expected_parameters(task, other), own) << other;
}

}  // namespace
}  // namespace kw
