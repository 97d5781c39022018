#include "agents/agent/answer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"

namespace kw {
namespace {

const std::string kernel =
    "__global__ void add(const float* a, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a[i] + 1.0f;\n"
    "}\n"
    "extern \"C\" void launch(const float* a, float* y, int n, cudaStream_t stream) {\n"
    "  add<<<(n + 255) / 256, 256, 0, stream>>>(a, y, n);\n"
    "}\n";

std::string outcome(const std::string& text) { return std::string(to_string(parse_answer(text).outcome)); }

TEST(Answer, TakesTheKernelWhereverItStands) {
  const std::vector<std::pair<const char*, std::string>> forms{
      {"fence", "```cuda\n" + kernel + "```"},
      {"fence without language", "```\n" + kernel + "```\n"},
      {"attributes", "```cuda title=\"k.cu\"\n" + kernel + "```"},
      {"attributes with a colon", "```CUDA:kernel.cu\n" + kernel + "```"},
      {"tildes", "~~~cpp\n" + kernel + "~~~\n"},
      {"four ticks", "````cuda\n" + kernel + "````\n"},
      {"inline code before it", "Use `launch` and ```x``` here.\n```cuda\n" + kernel + "```"},
      {"words around", "Here it is:\n\n```cuda\n" + kernel + "```\nIt uses one thread an element."},
      {"opening behind words", "The kernel: ```cuda\n" + kernel + "```"},
      {"closing behind code", "```cuda\n" + kernel.substr(0, kernel.size() - 1) + "```"},
      {"unfinished fence", "Sure!\n```cuda\n" + kernel},
      {"no fence", kernel},
      {"no fence, words around", "This is my kernel.\n\n" + kernel + "\nI hope it is fast.\n"},
      {"compact", kernel + "<|end|>"},
      {"compact with the marker again", "<|kernel|>" + kernel + "<|end|>junk ``` { "},
      {"end of turn and an invented one",
       "```cuda\n" + kernel + "```<|im_end|>\n<|im_start|>user\n```cuda\nother\n```"},
      {"line ends of Windows", "```cuda\r\n" + std::string("// a\r\n") + kernel + "```\r\n"},
      {"byte order mark", "\xEF\xBB\xBF```cuda\n" + kernel + "```"},
      {"snippets beside it",
       "First\n```cpp\nint i = 0;\n```\nthen\n```cuda\n" + kernel + "```\nrun\n```bash\nnvcc k.cu\n```"},
      {"twice the same", "```cuda\n" + kernel + "```\nAgain:\n```cuda\n// same\n" + kernel + "```"},
      {"thought first", "<think>\n```cuda\n" + kernel + "x{\n```\n</think>\n```cuda\n" + kernel + "```"},
      {"indented fence", "1. Kernel:\n   ```cuda\n" + kernel + "   ```\n"},
      {"fence in a comment", "```cuda\n/* like\n```\nthis\n```\n*/\n" + kernel + "```"},
      {"fence in a line comment", "```cuda\n__device__ int f() {\n// ```\nreturn 1; }\n" + kernel + "```"},
      {"cut in a character", kernel + "// caf\xC3"}};
  for (const auto& [name, text] : forms) {
    const Answer answer = parse_answer(text);
    EXPECT_EQ(to_string(answer.outcome), "kernel") << name << ": " << answer.message;
    EXPECT_NE(answer.kernel.find(kernel), std::string::npos) << name << "\n" << answer.kernel;
    EXPECT_EQ(answer.kernel.find("I hope"), std::string::npos) << name;
  }
}

TEST(Answer, EveryKernelOfTheProjectSurvives) {
  int seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(KW_SOURCE_ROOT) + "/tasks")) {
    if (entry.path().extension() != ".cu") continue;
    const std::string text = *read_file(entry.path());
    for (const std::string& form : {"Here:\n```cuda\n" + text + "```\nDone.", text, text + "<|end|>"}) {
      const Answer answer = parse_answer(form);
      ASSERT_EQ(to_string(answer.outcome), "kernel") << entry.path() << answer.message;
      ASSERT_NE(answer.kernel.find(text.substr(text.find("__global__"), 200)), std::string::npos) << entry.path();
    }
    ++seen;
  }
  EXPECT_GT(seen, 130);
}

TEST(Answer, KeepsWhatElseWasSaid) {
  const Answer answer = parse_answer("I use shared memory tiling.\n```cuda\n" + kernel + "```\nand float4 loads");
  EXPECT_EQ(answer.said, "I use shared memory tiling.\nand float4 loads");
  EXPECT_EQ(to_string(answer.claimed), "shared_memory, tiling, vectorised");
  EXPECT_TRUE(answer.fenced);
  EXPECT_FALSE(parse_answer(kernel).fenced);
  EXPECT_EQ(parse_answer("I cannot do that.").said, "I cannot do that.");
  EXPECT_LE(parse_answer(std::string(100'000, 'a')).said.size(), 4096u);
}

TEST(Answer, SaysWhatIsCutOff) {
  for (std::size_t bytes = 60; bytes + 2 < kernel.size(); bytes += 7) {
    EXPECT_EQ(outcome("```cuda\n" + kernel.substr(0, bytes)), "truncated") << bytes;
    const std::string bare = outcome(kernel.substr(0, bytes));
    EXPECT_TRUE(bare == "truncated" || bare == "no_launcher") << bytes << bare;
  }
  EXPECT_EQ(outcome("```cuda\n" + kernel.substr(0, kernel.size() - 3) + "\n```"), "unbalanced");
}

// A person or a model that repairs an answer is told where.
TEST(Answer, NamesTheLineThatIsNotBalanced) {
  const std::string head = "__global__ void k(float* y) {\n  y[0] = 1;\n}\n";
  const std::string launcher = "extern \"C\" void launch(float* y, cudaStream_t s) {\n  k<<<1, 1, 0, s>>>(y);\n}\n";
  struct Case {
    std::string code;
    const char* why;
  };
  for (const Case& each : {
           Case{head + launcher + "}\n", "line 7: `}` closes nothing"},
           Case{head + launcher.substr(0, launcher.size() - 2), "line 4: `{` is not closed"},
           Case{"__global__ void k(float* y) {\n  y[0) = 1;\n}\n" + launcher,
                "line 2: `)` does not match `[` of line 2"},
           Case{head + launcher + "/* and so on\n", "line 7: a comment is not closed"},
           Case{head.substr(0, head.size() - 2), "line 1: `{` is not closed"},
       }) {
    const Answer answer = parse_answer("```cuda\n" + each.code + "```\n");
    EXPECT_EQ(to_string(answer.outcome), "unbalanced");
    EXPECT_EQ(answer.message, std::string("the code is not balanced: ") + each.why);
  }
}

TEST(Answer, Limits) {
  AnswerLimits limits;
  limits.kernel_bytes = 100;
  EXPECT_EQ(parse_answer(kernel, limits).outcome, AnswerOutcome::too_long);
  limits.answer_bytes = 10;
  EXPECT_EQ(parse_answer("no code here", limits).outcome, AnswerOutcome::too_long);
}

TEST(Prediction, Reads) {
  const auto good = parse_prediction("fault\n12 out_of_bounds\n14 missing-guard\n<|end|>");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->status, VerdictStatus::fault);
  ASSERT_EQ(good->findings.size(), 2u);
  EXPECT_EQ(good->findings[0], (std::pair<int, std::string>(12, "out_of_bounds")));
  EXPECT_NEAR(*parse_prediction("correct 1.8x dram bandwidth")->speedup, 1.8, 1e-12);
  for (const char* bad : {"", "yes", "Correct", "<|end|>correct"}) EXPECT_FALSE(parse_prediction(bad).ok()) << bad;
  EXPECT_FALSE(parse_prediction("correct " + std::string(10'000, ' ')).ok());
  for (const char* odd : {"wrong 1e999x 99999999999 a", "wrong -1x 0 0 0", "wrong 3", "wrong x xx"})
    EXPECT_TRUE(parse_prediction(odd).ok()) << odd;
}

}  // namespace
}  // namespace kw
