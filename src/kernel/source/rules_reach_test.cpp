#include <gtest/gtest.h>

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
  return all;
}

TEST(RulesReach, HostFunctionsThatNobodyCallsAreHarmless) {
  const std::string uses[] = {
      "int main() { float* p = (float*)malloc(4); FILE* f = fopen(\"x\", \"r\"); free(p); return clock(); }\n",
      "void compare(cublasHandle_t h, float* y) { cublasSgemm(h, y); }\nint main() { compare(0, nullptr); }\n",
      "void benchmark() { cudaEvent_t e; cudaEventCreate(&e); auto t = std::chrono::steady_clock::now(); }\n",
      "void fill(std::vector<float>& v) { for (auto& x : v) x = std::rand(); float* p = new float[3]; delete[] p; }\n",
      "template <class T>\nvoid check(T value) { if (value) { system(\"id\"); } }\n",
      "template <class T>\n[[nodiscard]] int copy(T* a) { T* b = (T*)malloc(4); free(b); return 0; }\n",
      "template <class T>\ninline bool __read(const char* a, T* b) { return fopen(a, \"r\") != nullptr; }\n",
      "static void _show() { system(\"id\"); }\n",
      "inline void _show() { system(\"id\"); }\n",
      "[[maybe_unused]] static void spare() { system(\"id\"); }\n",
      "class Watch {\n public:\n  virtual ~Watch() {}\n  virtual void start() = 0;\n};\n"
      "class Timer : public Watch {\n public:\n  Timer() : running(false) {}\n  inline void start();\n  bool "
      "running;\n};\n"
      "inline void Timer::start() { gettimeofday(0, 0); }\n"
      "inline void create(Watch** watch) { *watch = new Timer(); (*watch)->start(); }\n",
      "void once(int a) {\n#ifdef DEBUG\n  if (a) { fopen(\"x\", \"r\"); }\n#else\n  getenv(\"x\");\n#endif\n}\n",
  };
  const std::string prototype = "void print(const float* a, std::ofstream& file);\n";
  EXPECT_EQ(errors(kernel + prototype + "void print(const float* a, std::ofstream& file) { file << a; }\n" + launcher),
            "");
  for (const std::string& use : uses) EXPECT_EQ(errors(kernel + use + launcher), "") << use;
}

TEST(RulesReach, WhatTheLauncherReachesIsNot) {
  const std::pair<std::string, std::string> cases[] = {
      {"void f() { system(\"id\"); }\n", "f();"},
      {"void f() { system(\"id\"); }\nvoid g() { f(); }\n", "g();"},
      {"void f() { system(\"id\"); }\nvoid (*p)() = f;\n", "p();"},
      {"void f() { system(\"id\"); }\n#define CALL(x) x()\n", "CALL(f);"},
      {"void f_() { system(\"id\"); }\n#define CALL(x) x##_()\n", "CALL(f);"},
      {"struct S { void f() { system(\"id\"); } };\n", "S s;"},
      {"struct S {};\nS operator+(S a, int b) { system(\"id\"); return a; }\n", "S s; s + 1;"},
      {"struct S { S(); };\nS::S() { system(\"id\"); }\n", "S s;"},
      {"namespace n { struct S {}; int* begin(S) { system(\"id\"); return 0; } int* end(S) { return 0; } }\n",
       "for (int i : n::S{}) {}"},
      {"int state = system(\"id\");\n", ""},
      {"struct S { void f(); };\nvoid S::f() { system(\"id\"); }\n", "S s;"},
      {"struct S { void f(); };\nvoid S::f() { system(\"id\"); }\nusing T = S;\n", ""},
      {"struct S { void f(); } s;\nvoid S::f() { system(\"id\"); }\n", "s.f();"},
      {"struct S : std::streambuf { int overflow(int); } s;\nint S::overflow(int) { return system(\"id\"); }\n", ""},
      {"struct S { static inline S s; int f(); };\nint S::f() { return system(\"id\"); }\n", ""},
      {"struct S { static inline int i = (S(), 1); int f(); };\nint S::f() { return system(\"id\"); }\n", ""},
      {"struct S { static inline int i = 1 ? 2 : S().i; int f(); };\nint S::f() { return system(\"id\"); }\n", ""},
      {"struct S { static inline S(s); int f(); };\nint S::f() { return system(\"id\"); }\n", ""},
      {"struct S { int f(); };\nint S::f() { return system(\"id\"); }\nstruct T : S {};\n", ""},
      {"struct S { S(); ~S(); };\nS::~S() { system(\"id\"); }\n", "S s;"},
      {"struct S { S(); };\nS::S() { system(\"id\"); }\n", ""},
      {"struct S { operator int(); };\nS::operator int() { return system(\"id\"); }\n", ""},
      {"struct S { int f(); };\nstruct S { int g(); };\nint S::f() { return system(\"id\"); }\n", ""},
      {"void _init() { system(\"id\"); }\n", ""},
      {"extern \"C\" void _init();\ninline void _init() { system(\"id\"); }\n", ""},
      {"extern \"C\" {\ninline void _init() { system(\"id\"); }\n}\n", ""},
      {"[[gnu::constructor]] void f() { system(\"id\"); }\n", ""},
      {"[[nodiscard, gnu::constructor]] int f() { system(\"id\"); return 0; }\n", ""},
  };
  for (const auto& [before, body] : cases) {
    const std::string text =
        kernel + before + "extern \"C\" void launch(float* y, int n, cudaStream_t stream) { " + body + " }\n";
    EXPECT_NE(errors(text), "") << before;
  }
  // Without a launcher nobody knows what is called.
  EXPECT_EQ(errors(kernel + "int main() { return system(\"id\"); }\n"), "host-call ");
}

// Text that the rules could take for a part of a function that nobody calls, and a compiler for something else.
TEST(RulesReach, NothingHidesInAFunctionThatSeemsToGoOn) {
  const std::string timer = "__global__ void k(float* y, int n) { y[0] = clock(); }\n";
  const std::string cases[] = {
      "#if 0\nvoid unused() {\n#endif\n" + timer + "#if 0\n}\n#endif\n",
      "void unused() {\n#if 0\n{\n#endif\n}\n" + timer + "#if 0\n}\n#endif\n",
      "#define OPEN {\n#define CLOSE }\nvoid unused() OPEN CLOSE\n" + timer,
      "#ifdef A\n#define OPEN {\n#else\n#define OPEN\n#endif\nvoid unused() { OPEN }\n" + timer +
          "#ifdef A\n}\n#endif\n",
      "struct S : Base<sizeof(int)> { __device__ static int f() { return clock(); } };\n" + kernel,
      "__device__ void SOME_HEADERS_MACRO(3) unused(int) { int t = clock(); }\n" + kernel,
      "void HEADERS_MACRO(3) unused(int) { int t = clock(); }\n" + kernel,
      "void unused() { auto f = [=] __device__() { return clock(); }; }\n" + kernel,
      "__device__ int unused() { return clock(); }\n" + kernel,
  };
  for (const std::string& text : cases) EXPECT_NE(errors(text + launcher), "") << text;
}

TEST(RulesReach, TypesOfLibrariesAreNoCalls) {
  EXPECT_EQ(errors(kernel + "static size_t cublaslt_workspace_size = 3;\nvoid* cublas_workspace;\n" + launcher), "");
  EXPECT_EQ(errors(kernel + "cublasHandle_t handle;\nstatic cublasLtHandle_t other = nullptr;\n" + launcher), "");
  EXPECT_EQ(errors(kernel + "static uint* partial;\nuint *other = nullptr;\n" + launcher), "");
  for (const char* runs :
       {"S a;\n", "S a, *b;\n", "S *a, b;\n", "S* a = make();\n", "S* a(make());\n", "S *a[2] = {make()};\n"})
    EXPECT_NE(errors(kernel + launcher + "struct S { S(); };\nS* make();\n" + runs), "") << runs;
  EXPECT_NE(errors(kernel + launcher + "struct evil_t { evil_t(); };\nevil_t runs_code;\n"), "");
  EXPECT_NE(errors(kernel + "auto call = &cublasSgemm;\n" + launcher), "");
}

TEST(RulesReach, ExtensionsBeginAtWhatTheyExport) {
  const std::string head = "#include <torch/extension.h>\n" + kernel;
  const std::string unused = "void compare(float* y) { cublasSgemm(y); }\n";
  const std::string forward = "torch::Tensor forward(torch::Tensor x) { return x; }\n";
  EXPECT_EQ(errors(head + unused + forward), "");
  EXPECT_NE(errors(head + unused + "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"forward\", &compare); }\n"), "");
}

// The launcher is what is judged; what the same file exports to PyTorch is then nobody's concern.
TEST(RulesReach, ALauncherIsTheOnlyRootBesideExports) {
  const std::string head = "#include <torch/extension.h>\n" + kernel;
  const std::string exported =
      "torch::Tensor mine(torch::Tensor x) { return torch::max(x); }\n"
      "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"mine\", &mine); }\n";
  EXPECT_NE(errors(head + exported), "");
  EXPECT_EQ(errors(head + exported + launcher), "");
  // Not where another compiler could see no launcher, or another one.
  EXPECT_NE(errors(head + exported + "#ifdef __CUDACC__\n" + launcher + "#endif\n"), "");
  EXPECT_NE(errors(head + exported + "torch::Tensor launch(torch::Tensor x) { return x; }\n"), "");
  EXPECT_NE(errors(head + exported + "#define LAUNCH launch\nextern \"C\" void LAUNCH(float* y) {}\n"), "");
}

TEST(RulesReach, NamesOfErrorsComputeNothing) {
  const std::string names =
      "const char* text(CUresult e) { const char* s; cuGetErrorName(e, &s); return s; }\n"
      "const char* text(cufftResult e) { return \"fft\"; }\n";
  const std::string reaching =
      "extern \"C\" void launch(float* y, int n, cudaStream_t stream) { text(0); k<<<1, 256, 0, stream>>>(y, n); }\n";
  EXPECT_EQ(errors(kernel + names + reaching), "");
  EXPECT_NE(errors(kernel + "int text(int e) { return cufftExecC2C(e); }\n" + reaching), "");
}

}  // namespace
}  // namespace kw
