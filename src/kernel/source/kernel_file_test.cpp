#include "kernel/source/kernel_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernel/source/repeated_text.h"

namespace kw {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

KernelFile read(const std::string& text) {
  auto file = read_kernel_file(text, "a.cu");
  EXPECT_TRUE(file.ok()) << to_string(file.error());
  return file.ok() ? std::move(file).value() : KernelFile{};
}

std::string refusal(const std::string& text) {
  const auto file = read_kernel_file(text, "a.cu");
  return file.ok() ? "accepted" : to_string(file.error());
}

const std::string launcher = "extern \"C\" void launch(float* y, int n, cudaStream_t stream) {\n  k<<<1, n>>>(y);\n}\n";

TEST(KernelFile, CutsTheLauncherAndKeepsLines) {
  const std::string text = "__global__ void k(float* y) { y[0] = 1; }\n" + launcher + "__device__ float z;\n";
  const KernelFile file = read(text);
  EXPECT_EQ(file.device_source.size(), text.size());
  EXPECT_EQ(std::count(file.device_source.begin(), file.device_source.end(), '\n'),
            std::count(text.begin(), text.end(), '\n'));
  EXPECT_THAT(file.device_source, Not(HasSubstr("launch")));
  EXPECT_THAT(file.device_source, Not(HasSubstr("extern")));
  EXPECT_THAT(file.device_source, HasSubstr("y[0] = 1; }\n"));
  EXPECT_THAT(file.device_source, HasSubstr("__device__ float z;\n"));
  EXPECT_EQ(file.launcher.line, 2);
  EXPECT_EQ(file.launcher.column, 17);
}

TEST(KernelFile, KeepsWhatTheDeviceNeeds) {
  const KernelFile file = read(
      "#include <cuda_fp16.h>\n"
      "constexpr int kept_constexpr(int a) { return a; }\n"
      "__host__ __device__ int kept_both(int a) { return a; }\n"
      "template <class T> __device__ T kept_device(T a) { return a; }\n"
      "const int kept_const = 4;\nstatic constexpr float kept_float = 1.f;\n"
      "__constant__ float kept_memory[4];\nstruct kept_struct { int a; };\nusing kept_alias = float;\n"
      "enum kept_enum { a };\n"
      "__host__ int cut_host(int a) { return a; }\nint cut_plain(int a) { return a; }\n"
      "template <class T> T cut_template(T a) { return a; }\nstatic int cut_variable = 0;\n"
      "int main() { return cut_plain(1); }\nauto cut_lambda = [](int n) { return n; };\nint cut_prototype(int);\n"
      "namespace inner { __global__ void kept_kernel() {} inline int cut_inner() { return 1; } }\n"
      "__global__ void k(float*) {}\n" +
      launcher);
  for (const char* kept : {"kept_constexpr", "kept_both", "kept_device", "kept_const", "kept_float", "kept_memory",
                           "kept_struct", "kept_alias", "kept_enum", "kept_kernel", "#include <cuda_fp16.h>"}) {
    EXPECT_THAT(file.device_source, HasSubstr(kept));
  }
  EXPECT_THAT(file.device_source, Not(HasSubstr("cut_")));
  EXPECT_THAT(file.device_source, Not(HasSubstr("main")));
}

TEST(KernelFile, KeepsDirectivesInsideTheLauncher) {
  const KernelFile file = read(
      "extern \"C\" void launch(float* y, int n, cudaStream_t stream) {\n#define N 4\n#ifdef DEBUG\n  int "
      "a;\n#endif\n}\n"
      "__global__ void k(float* y) { y[0] = N; }\n");
  EXPECT_THAT(file.device_source, HasSubstr("#define N 4\n#ifdef DEBUG\n"));
  EXPECT_THAT(file.device_source, HasSubstr("#endif"));
  EXPECT_THAT(file.device_source, Not(HasSubstr("int a")));
}

TEST(KernelFile, FindsTheLauncherInAnExternCBlock) {
  const KernelFile file = read("extern \"C\" {\n__global__ void k(float*) {}\nvoid launch(float* y) { }\n}\n");
  EXPECT_EQ(file.launcher.line, 3);
  EXPECT_THAT(file.device_source, HasSubstr("extern \"C\" {\n__global__ void k(float*) {}\n"));
  EXPECT_TRUE(file.kernels.at(0).extern_c);
}

TEST(KernelFile, DescribesKernels) {
  const KernelFile file = read(
      "namespace a { namespace b {\ntemplate <typename T, int BLOCK = 4> __global__ void __launch_bounds__(256)\n"
      "sum(const T* __restrict__ x, T (*out), unsigned long long n, float4 v[2]) { }\n} }\n" +
      launcher);
  ASSERT_EQ(file.kernels.size(), 0u) << "`T (*out)` is not understood and left to the compiler";
  const KernelFile good = read(
      "namespace a { namespace b {\ntemplate <typename T, int BLOCK = 4> __global__ void __launch_bounds__(256)\n"
      "sum(const T* __restrict__ x, T* out, unsigned long long n, float4 v[2]) { }\n} }\n" +
      launcher);
  ASSERT_EQ(good.kernels.size(), 1u);
  const KernelFunction& kernel = good.kernels[0];
  EXPECT_EQ(kernel.name, "a::b::sum");
  EXPECT_THAT(kernel.template_parameters, ::testing::ElementsAre("typename T", "int BLOCK"));
  ASSERT_EQ(kernel.parameters.size(), 4u);
  EXPECT_EQ(kernel.parameters[0].type, "const T*");
  EXPECT_EQ(kernel.parameters[2].type, "unsigned long long");
  EXPECT_EQ(kernel.parameters[3].type, "float4*");
  EXPECT_TRUE(kernel.has_launch_bounds);
  EXPECT_EQ(kernel.where.line, 3);
}

TEST(KernelFile, MacrosThatMakeFunctions) {
  const KernelFile file = read(
      "#define KERNEL(name) __global__ void name(float* y) { y[0] = 1; }\n"
      "#define HOST(...) extern \"C\" void launch(float* y) __VA_ARGS__\n"
      "KERNEL(k)\nHOST({ k<<<1, 1>>>(y); })\n__device__ int last;\n");
  EXPECT_EQ(file.kernels.at(0).name, "k");
  EXPECT_THAT(file.device_source, HasSubstr("KERNEL(k)\n"));
  EXPECT_THAT(file.device_source, Not(HasSubstr("HOST({")));
  EXPECT_THAT(file.device_source, HasSubstr("__device__ int last;"));
  EXPECT_THAT(refusal("#define ALL __global__ void k() {} extern \"C\" void launch(float* y) {}\nALL\n"),
              HasSubstr("one macro produces host code together with device code"));
}

TEST(KernelFile, DeviceCodeItCannotReadIsLeftToTheCompiler) {
  const KernelFile file = read(
      "template <class... Ts, template <class> class C> requires(sizeof...(Ts) > 1) __device__ auto odd(C<Ts>&&... c) "
      "-> decltype(auto) { }\n"
      "__device__ int broken( { ;\n};\n" +
      launcher + "__global__ void k(float* y) {}\n");
  EXPECT_EQ(file.kernels.size(), 1u);
}

TEST(KernelFile, Refusals) {
  EXPECT_THAT(refusal("__global__ void k() {}"), HasSubstr("no launcher"));
  EXPECT_THAT(refusal(launcher + launcher), HasSubstr("a.cu:4:17: the file has two functions `launch`"));
  EXPECT_THAT(refusal("template <class T> void launch(T* y) {}"), HasSubstr("the launcher is a template"));
  EXPECT_THAT(refusal(std::string("int a\0;", 7)), HasSubstr("NUL"));
  EXPECT_THAT(refusal("void launch(float* y { }"), HasSubstr("syntax error"));
  EXPECT_THAT(refusal(std::string((1 << 20) + 1, ' ')), HasSubstr("larger than"));
  EXPECT_THAT(refusal("#if\n"), HasSubstr("#if"));
}

TEST(KernelFile, DeepNestingIsAnErrorAndNotACrash) {
  for (const std::string& piece :
       {std::string("("), std::string("{"), std::string("["), std::string("namespace a {"), std::string("if (1) "),
        std::string("-"), std::string("a<"), std::string("f("), std::string("!a ? b : "), std::string("1 + "),
        std::string("[]{"), std::string("int a["), std::string("struct s {"), std::string("k<<<"), std::string("(int)"),
        std::string("x.y"), std::string("template <"), std::string("case 1: "), std::string("for (;;) ")}) {
    std::string many;
    while (many.size() < 200'000) many += piece;
    static_cast<void>(read_kernel_file(many, "a.cu"));
    static_cast<void>(read_kernel_file("void launch(float* y) { " + many + " }", "a.cu"));
    static_cast<void>(read_kernel_file("void launch(float* y) { int x = " + many + " 1; }", "a.cu"));
    static_cast<void>(read_kernel_file("template <int N> struct a {}; void launch(float* y) { " + many, "a.cu"));
  }
}

// Each of these would take quadratic time or memory without a bound of its own; growth_bench has the times.
TEST(KernelFile, LargeHostileFilesAreRead) {
  for (const RepeatedText& repeated : repeated_declarations()) {
    const std::string text = repeated.of_bytes(1'000'000);
    EXPECT_FALSE(read_kernel_file(text, "a.cu").ok()) << repeated.name << ": there is no launcher";
    static_cast<void>(read_kernel_file("void launch(float* y) { " + text.substr(0, 900'000) + " }", "a.cu"));
  }
}

}  // namespace
}  // namespace kw
