// Whole programs through nvcc. Where there is no nvcc, or no sandbox for it, what needs one is skipped with the reason.

#include "kernel/compile/whole_program.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/test_length.h"

namespace kw {
namespace {

class WholePrograms : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto nvcc = find_nvcc(); !nvcc.ok()) GTEST_SKIP() << to_string(nvcc.error());
    static const auto tried = compile_whole_program("int main() {}\n", "tried.cu");
    // A machine may forbid the sandbox, or have no host compiler; anything else is a mistake of ours.
    if (!tried.ok() && !tried.error().advice.empty()) GTEST_SKIP() << to_string(tried.error());
    ASSERT_TRUE(tried.ok()) << to_string(tried.error());
  }

  static WholeProgram compiled(const std::string& text, const WholeProgramOptions& options = {}) {
    auto program = compile_whole_program(text, "mine.cu", options);
    EXPECT_TRUE(program.ok()) << to_string(program.error());
    return program.ok() ? std::move(program).value() : WholeProgram{};
  }
  static std::string all_said(const WholeProgram& program) {
    std::string text = program.problem + "\n";
    for (const Diagnostic& each : program.diagnostics) {
      text += to_string(each) + "\n";
      for (const std::string& note : each.notes) text += note + "\n";
    }
    return text;
  }
};

// Dozens of compilations.
class WholeProgramsSlow : public WholePrograms {};

TEST_F(WholePrograms, ResourcesOfEachKernel) {
  const WholeProgram program = compiled(R"(
#include <cstdio>
#include <vector>
template <int N> __global__ void __launch_bounds__(128) scale(float* x, int n) {
  __shared__ float part[64];
  part[threadIdx.x % 64] = N;
  __syncthreads();
  if (threadIdx.x < n) x[threadIdx.x] *= part[(threadIdx.x + 1) % 64];
}
extern "C" __global__ void plain(float* x) { x[0] = 1; }
int main() {
  std::vector<float> values(8);
  scale<3><<<1, 128>>>(values.data(), 0);
  std::printf("%zu\n", values.size());
})");
  EXPECT_TRUE(program.compiled) << all_said(program);
  ASSERT_EQ(program.kernels.size(), 2u);
  for (const WholeProgramKernel& kernel : program.kernels) {
    const bool scale = kernel.name == "scale<3>(float*, int)";
    EXPECT_TRUE(scale || kernel.name == "plain") << kernel.name;
    EXPECT_GT(kernel.resources.registers, 0);
    EXPECT_EQ(kernel.resources.static_shared_bytes > 0, scale);
    EXPECT_EQ(kernel.resources.max_threads, scale ? 128 : 0);
  }
}

TEST_F(WholePrograms, MistakesHaveLineAndColumn) {
  const WholeProgram device =
      compiled("__global__ void f(float* x) {\n  x[0] = y;\n}\nint main() { std::nothing(); }\n");
  EXPECT_FALSE(device.compiled);
  ASSERT_GE(device.diagnostics.size(), 2u);
  EXPECT_EQ(to_string(device.diagnostics[0]), "mine.cu:2:10: error: identifier \"y\" is undefined");
  EXPECT_EQ(device.diagnostics[1].line, 4u);
  const WholeProgram missing = compiled("\n#include \"nothere.h\"\nint main() {}\n");
  EXPECT_FALSE(missing.compiled);
  EXPECT_NE(all_said(missing).find("mine.cu:2:10: error: nothere.h"), std::string::npos) << all_said(missing);
  const WholeProgram assembly = compiled("__global__ void f() {\n  asm(\"garbage;\");\n}\n");
  EXPECT_FALSE(assembly.compiled);
  ASSERT_FALSE(assembly.diagnostics.empty());
  EXPECT_EQ(assembly.diagnostics[0].line, 2u) << all_said(assembly);
}

TEST_F(WholeProgramsSlow, NoFileOfTheMachineIsRead) {
  const TemporaryFolder folder;
  const std::string secret = (folder.path() / "secret.h").string();
  ASSERT_TRUE(write_file_atomic(secret, "XYZZY_SECRET_TEXT\n").ok());
  const std::vector<std::string> paths{secret,       "/etc/hostname", "/root/.bashrc",
                                       "/dev/stdin", "/etc/passwd",   "/proc/self/environ"};
  for (const std::string& path : tested_share(paths)) {
    const WholeProgram included = compiled("#include \"" + path + "\"\nint main() {}\n");
    EXPECT_FALSE(included.compiled) << path;
    EXPECT_NE(all_said(included).find("No such file"), std::string::npos) << all_said(included);
    EXPECT_EQ(all_said(included).find("XYZZY"), std::string::npos);
    EXPECT_EQ(all_said(included).find("root:"), std::string::npos);
    const WholeProgram known =
        compiled("#if __has_include(\"" + path + "\")\n#error it is there\n#endif\nint main() {}\n");
    EXPECT_TRUE(known.compiled) << all_said(known);
    const WholeProgram assembled = compiled("int main() { asm(\".incbin \\\"" + path + "\\\"\"); }\n");
    EXPECT_FALSE(assembled.compiled) << path;
  }
}

TEST_F(WholePrograms, NothingOfTheProgramRuns) {
  const TemporaryFolder folder;
  const std::string mark = (folder.path() / "mark").string();
  const WholeProgram program = compiled("#include <cstdio>\nstruct Early { Early() { std::fopen(\"" + mark +
                                        "\", \"w\"); } } early;\nint main() { return 7; }\n");
  EXPECT_TRUE(program.compiled) << all_said(program);
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST_F(WholeProgramsSlow, LimitsHold) {
  // Instantiations without end use up the time or memory, or the compiler's own limit of depth.
  WholeProgramOptions options;
  options.wall = std::chrono::seconds(8);
  options.memory_bytes = std::size_t{3} << 30;
  const WholeProgram endless = compiled(
      "template <int N, int M> struct F { static constexpr long v = F<N - 1, M>::v + F<N - 1, M + (1 << (N % 30))>::v; "
      "};\n"
      "template <int M> struct F<0, M> { static constexpr long v = M; };\n"
      "int main() { return F<28, 0>::v; }\n",
      options);
  EXPECT_FALSE(endless.compiled);
  EXPECT_GT(all_said(endless).size(), 10u);
  options.scratch_bytes = 64u << 10;  // less than the preprocessed text has
  EXPECT_FALSE(compiled("#include <vector>\n#include <string>\nint main() {}\n", options).compiled);
  EXPECT_FALSE(compile_whole_program(std::string(max_whole_program_bytes + 1, ' '), "long.cu").ok());
}

TEST(WholeProgramTools, TheErrorSaysHowToGetNvcc) {
  ::setenv("KERNELWRIGHT_NVCC", "/no/such/nvcc", 1);
  const auto nvcc = find_nvcc();
  ::unsetenv("KERNELWRIGHT_NVCC");
  ASSERT_FALSE(nvcc.ok());
  EXPECT_NE(nvcc.error().message.find("/no/such/nvcc"), std::string::npos);
}

}  // namespace
}  // namespace kw
