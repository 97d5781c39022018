#include "kernel/source/needed_source.h"

#include <gtest/gtest.h>

#include "kernel/source/kernel_file.h"
#include "kernel/source/repeated_text.h"
#include "kernel/source/rules.h"

namespace kw {
namespace {

const std::string kernel = "__global__ void k(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1; }\n";
const std::string launcher =
    "extern \"C\" void launch(float* y, int n, cudaStream_t stream) { k<<<1, 256, 0, stream>>>(y, n); }\n";

std::string errors(const std::string& text) {
  std::string all;
  for (const Finding& finding : check_rules(text, "k.cu")) {
    if (finding.severity == Severity::error) all += finding.rule + " ";
  }
  const auto file = read_kernel_file(text, "k.cu");
  return file.ok() ? all : all + file.error().message;
}

// What is left, without white space.
std::string needed(const std::string& text) {
  std::string left;
  for (const char c : needed_source(text, "k.cu").value_or(text)) {
    if (c != ' ' && c != '\n') left += c;
  }
  return left;
}

std::string packed(const std::string& text) {
  std::string left;
  for (const char c : text) {
    if (c != ' ' && c != '\n') left += c;
  }
  return left;
}

TEST(NeededSource, WhatTheLaunchDoesNotNeedIsLeftOut) {
  const std::string unneeded[] = {
      "__global__ void other(float* y) { y[0] = clock(); }\n",
      "__device__ int ticks() { return clock64(); }\n__global__ void other(int* y) { y[0] = ticks(); }\n",
      "#include <thrust/transform.h>\nstruct Add { float operator()(float a, float b) { return a + b; } };\n",
      "#include \"gpu/layer.hpp\"\nvoid Layer::forward(Blob* a) { thrust::fill(a, a + 3, 0); }\n",
      "class Timer {\n  cudaEvent_t a;\n public:\n  Timer() { cudaEventCreate(&a); }\n};\nTimer watch;\n",
      "typedef std::chrono::steady_clock Clock;\nusing Time = std::chrono::time_point<Clock>;\nstatic Time start;\n",
      "texture<float, 1> table;\n__global__ void look(float* y) { y[0] = tex1D(table, 0); }\n",
      "#define REGISTER(type) template <> void make<type>() { new type; }\nREGISTER(float)\nREGISTER(int);\n",
      "REGISTER_LAYER(Softmax);\nINSTANTIATE_FUNCS(Softmax)\n",
      "template __global__ void other<float>(float*);\ntemplate class Layer<float>;\n",
      "std::ostream& operator<<(std::ostream& out, const float2& v) { return out << v.x; }\n",
      "struct Half { short bits; };\n__device__ Half operator+(Half a, Half b) { clock(); return a; }\n",
      "template <> struct Limits<other::Float8> { static int f() { return system(\"id\"); } };\n",
      "struct ALIGN(2) Odd { short h; Odd() { system(\"id\"); } };\n",
      "static_assert(sizeof(Layer) == 4, \"\");\nstruct Layer { int a; void f() { system(\"id\"); } };\n",
      "#define PRINT_TIME __TIME__\n",
      "int main() { return system(\"id\"); }\nnamespace std { int other() { return 3; } }\nusing namespace missing;\n",
      "#ifdef USE_OTHER\n__global__ void k(float* y) {}\n#include <other/other.h>\n#endif\n",
      "#define LEVEL 2\n#if LEVEL > 2 || defined(_MSC_VER)\n#pragma warning_of_others\nvoid f() { popen(); }\n#endif\n",
  };
  for (const std::string& text : unneeded) {
    const std::string left = needed(text + kernel + launcher);
    EXPECT_EQ(left.substr(left.find_first_not_of(';')), packed(kernel + launcher)) << text;  // a lone ; says nothing
  }
  EXPECT_EQ(needed_source(kernel + launcher, "k.cu"), std::nullopt);
}

TEST(NeededSource, MembersThatNobodyNamesAreLeftOut) {
  const std::string text =
      "struct Size {\n  int n;\n  Size(int a) : n(a) {}\n  int half() const { return n / 2; }\n"
      "  int checked() const { if (n < 0) throw 3; return n; }\n};\n" +
      kernel +
      "extern \"C\" void launch(float* y, int n, cudaStream_t stream) { Size s(n); k<<<1, s.half(), 0, stream>>>(y, "
      "n); }\n";
  const std::string left = needed(text);
  EXPECT_EQ(left.find("checked"), std::string::npos);
  EXPECT_NE(left.find("half()const"), std::string::npos);
  EXPECT_NE(left.find("Size(inta)"), std::string::npos);
}

TEST(NeededSource, LambdasOfKernelsNeedNoAnnotation) {
  const std::string text =
      "__global__ void k(float* y, int n) {\n  auto f = [=] __device__(int i) { return i; };\n"
      "  auto g = [] __host__ __device__ { return 1; };\n  y[f(0)] = g();\n}\n" +
      launcher;
  const std::string left = needed(text);
  EXPECT_NE(left.find("[=](inti){"), std::string::npos) << left;
  EXPECT_NE(left.find("[]{return1;}"), std::string::npos) << left;
  const std::string attribute = "[[nodiscard]] __device__ int f() { return 1; }\n" +
                                std::string("__global__ void k(float* y, int n) { y[0] = f(); }\n") + launcher;
  EXPECT_EQ(needed(attribute), packed(attribute));
}

TEST(NeededSource, WhatIsReachedStays) {
  const std::pair<std::string, std::string> cases[] = {
      {"__device__ float f() { return clock(); }\n", "f"},
      {"template <class T> struct Sum { __device__ T operator()(T a) { return a; } };\n", "Sum<float>"},
      {"struct S { int a; };\n__device__ S operator+(S a, S b) { return a; }\n", "S"},
      {"namespace n { struct S { int a; }; __device__ int* begin(S& s) { return &s.a; } }\n", "n::S"},
      {"constexpr int width = 4, height = 2;\n", "height"},
      {"typedef struct Pair_ { int a; } Pair;\n", "Pair"},
      {"typedef enum { RED, GREEN } Color;\n", "GREEN"},
      {"using Word = unsigned;\n", "Word"},
      {"#define MAKE(name) __device__ int name() { return 1; }\nMAKE(one)\n", "one"},
      {"#define CALL one()\n__device__ int one() { return 1; }\n", "CALL"},
      {"struct S { static int n; static int f(); };\nint S::n = 3;\nint S::f() { return n; }\n", "S::f"},
      {"__constant__ float table[4];\n", "table"},
  };
  for (const auto& [before, name] : cases) {
    const std::string use = "__global__ void k(float* y) { (void)sizeof(" + name + "); }\n";
    const std::string text = before + use + "extern \"C\" void launch(float* y) { k<<<1, 1>>>(y); }\n";
    EXPECT_EQ(needed(text), packed(text)) << before;
  }
}

TEST(NeededSource, LinesAndColumnsStay) {
  const std::string text =
      "void unused()\n{\n#define SIZE 4\n#pragma unroll\n  \tsystem(\"id\");\n}\n  int g = SIZE; " + kernel +
      "extern \"C\" void launch(float* y) { g = SIZE; k<<<1, g>>>(y, 1); }\n";
  const auto left = needed_source(text, "k.cu");
  ASSERT_TRUE(left.has_value());
  ASSERT_EQ(left->size(), text.size());
  for (std::size_t i = 0; i < text.size(); ++i) EXPECT_TRUE((*left)[i] == text[i] || (*left)[i] == ' ') << i;
  EXPECT_EQ(left->find("#define SIZE 4"), text.find("#define SIZE 4"));
  EXPECT_EQ(left->find("launch"), text.find("launch"));
  EXPECT_EQ(left->find("pragma"), std::string::npos);
}

TEST(NeededSource, BytesThatAreNoTextGoFromComments) {
  const std::string text =
      "\xEF\xBB\xBF// Gr\xF6\xDF"
      "e\n#define N 4 // \xE9\n" +
      kernel + "/* \xFC */" + launcher;
  EXPECT_NE(errors(text), "");
  EXPECT_EQ(errors(*needed_source(text, "k.cu")), "");
  const std::string name = "int gr\xF6sse = 3;\n" + kernel + "extern \"C\" void launch(float* y) { gr\xF6sse = 4; }\n";
  EXPECT_NE(errors(needed_source(name, "k.cu").value_or(name)), "");
}

TEST(NeededSource, BranchesThatOthersDecideStay) {
  const std::string conditions[] = {
      "#ifdef __CUDA_ARCH__\n",
      "#if __CUDA_ARCH__ >= 700\n",
      "#if __has_include(<x>)\n",
      "#if defined(CUDA_TEST_ANYTHING)\n",
      "#if defined\n",
  };
  for (const std::string& condition : conditions) {
    const std::string text = condition + "#define WIDE 1\n#else\n#define WIDE 2\n#endif\n" + kernel +
                             "extern \"C\" void launch(float* y) { k<<<WIDE, 1>>>(y, 1); }\n";
    EXPECT_EQ(needed(text), packed(text)) << condition;
  }
  // A definition in a branch that nobody can decide leaves the name open.
  const std::string open =
      "#if __CUDA_ARCH__ >= 700\n#define FAST\n#endif\n#ifdef FAST\n#define WIDE 1\n#else\n#define WIDE 2\n#endif\n" +
      kernel + "extern \"C\" void launch(float* y) { k<<<WIDE, 1>>>(y, 1); }\n";
  EXPECT_EQ(needed(open), packed(open));
}

// Where a macro has two definitions, what one of them needs stays for both.
TEST(NeededSource, ReadingsAgree) {
  const std::string text =
      "struct Half { short bits; };\n#if __CUDA_ARCH__ >= 530\n"
      "#define ADD(T) __device__ Half operator+(Half a, T b) { return a; }\n#else\n"
      "#define ADD(T) __device__ T operator+(T a, float4 b) { return a; }\n#endif\nADD(int)\n" +
      kernel + launcher;
  EXPECT_EQ(needed(text), packed(text));
}

// Nothing hides: the rules see the very text that is compiled, so what stays is refused with its line.
TEST(NeededSource, WhatStaysIsStillRefused) {
  const std::string hostile[] = {
      "#define K k\n__global__ void K##2(float* y) { y[0] = clock(); }\n",
      "__device__ long long tick() { return clock64(); }\n#define NOW tick()\n",
  };
  const std::string uses = "__global__ void k(float* y, int n) { y[0] = NOW; }\n";
  EXPECT_NE(errors(needed_source(hostile[1] + uses + launcher, "k.cu").value_or(hostile[1] + uses + launcher)), "");
  const std::string split =
      "void unused() {\n#if __CUDA_ARCH__\n}\n__device__ int t() { return clock(); }\nvoid other() {\n#endif\n}\n";
  const std::string timed = "__global__ void k(float* y, int n) { y[0] = t(); }\n";
  EXPECT_NE(errors(needed_source(split + timed + launcher, "k.cu").value_or(split + timed + launcher)), "");
  for (const char* runs : {"__attribute__((constructor)) static void f() { asm(\"int3\"); }\n",
                           "[[gnu::constructor]] void f() { system(\"id\"); }\n", "asm(\".globl x\");\n",
                           "__attribute__((__section__(\".init_array\"))) void (*p)() = f;\n"}) {
    const std::string text = runs + kernel + launcher;
    EXPECT_NE(errors(needed_source(text, "k.cu").value_or(text)), "") << runs;
  }
  const std::string absolute = "#include \"/etc/passwd\"\n#include \"../secret.h\"\n" + kernel + launcher;
  EXPECT_NE(errors(needed_source(absolute, "k.cu").value_or(absolute)), "");
}

TEST(NeededSource, WithoutALauncherNothingIsLeftOut) {
  const std::string text = kernel + "int main() { return system(\"id\"); }\n";
  EXPECT_EQ(needed(text), packed(text));
}

TEST(NeededSourceSlow, HostileTextIsRead) {
  for (const RepeatedText& repeated : repeated_statements()) {
    SCOPED_TRACE(repeated.name);
    const std::string text = repeated.of_bytes(std::size_t{1} << 18) + "\n" + kernel + launcher;
    EXPECT_EQ(needed_source(text, "k.cu").value_or(text).size(), text.size());
  }
}

}  // namespace
}  // namespace kw
