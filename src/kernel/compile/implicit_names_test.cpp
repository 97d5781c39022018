#include "kernel/compile/implicit_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/compile/canonical.h"
#include "kernel/compile/service.h"

namespace kw {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string_view> headers_of(std::string_view source) { return implicit_headers(lex(source, "a.cu")); }

TEST(ImplicitNames, OnlyWhatIsUsed) {
  EXPECT_THAT(headers_of("__global__ void k(float* x) { x[0] = 1; }"), IsEmpty());
  EXPECT_THAT(headers_of("uint f(ushort x);"), ElementsAre("kw_system_types.h"));
  EXPECT_THAT(headers_of("int x = INT_MAX; float y = -INFINITY;"), ElementsAre("climits", "cmath"));
  EXPECT_THAT(headers_of("#define LOWEST -INFINITY\n"), ElementsAre("cmath")) << "macros hide names too";
  EXPECT_THAT(headers_of("// uint\nconst char* s = \"uint\";"), IsEmpty());
}

TEST(ImplicitNames, StandardNamesCountInStd) {
  EXPECT_THAT(headers_of("float y = std::exp(x);"), ElementsAre("cmath"));
  EXPECT_THAT(headers_of("float y = exp(x); int max = min(pair, 2);"), IsEmpty());
  EXPECT_THAT(headers_of("using namespace std;\nint y = max(1, 2);"), ElementsAre("algorithm"));
  EXPECT_THAT(headers_of("cuda::std::array<int, 3> a; cuda::std::numeric_limits<int> b;"), IsEmpty());
  EXPECT_THAT(headers_of("std::enable_if_t<std::is_same<T, int>::value> f();"), ElementsAre("type_traits"));
}

TEST(ImplicitNames, SomeComeWithOtherIncludesAlone) {
  EXPECT_THAT(headers_of("uint32_t x;"), IsEmpty()) << "nvcc does not know it either";
  EXPECT_THAT(headers_of("#include <vector>\nuint32_t x;"), IsEmpty());
  EXPECT_THAT(headers_of("#include <iostream>\nuint32_t x;"), ElementsAre("cstdint"));
  EXPECT_THAT(headers_of("#include <cooperative_groups.h>\nfloat x = FLT_MAX;"), ElementsAre("cfloat"));
  EXPECT_THAT(headers_of("#include <cooperative_groups/reduce.h>\nuint64_t x;"), ElementsAre("cstdint"));
  EXPECT_THAT(headers_of("float x = FLT_MAX;"), IsEmpty());
  EXPECT_THAT(headers_of("#include <cub/cub.cuh>\nusing R = cub::BlockReduce<int, 32>;"),
              ElementsAre("cub/block/block_reduce.cuh"));
  EXPECT_THAT(headers_of("#include <cublas_v2.h>\n__nv_bfloat16 x; half y; uint8_t z;"),
              ElementsAre("cstdint", "cuda_fp16.h", "cuda_bf16.h"));
  EXPECT_THAT(headers_of("#include <sstream>\nvoid f(const std::string& text);"), ElementsAre("string"));
  EXPECT_THAT(headers_of("struct timeval begin;"), ElementsAre("kw_system_types.h"));
  EXPECT_THAT(headers_of("__nv_bfloat16 x;"), IsEmpty()) << "nvcc does not know it either";
}

TEST(ImplicitNames, PositionsStayTheUsers) {
  const CanonicalSource canonical = canonicalise("\n  uint x = INT_MAX;\n", "a.cu").value();
  EXPECT_EQ(canonical.text, "#include <kw_system_types.h>\n#include <climits>\nuint\nx\n=\nINT_MAX\n;\n");
  EXPECT_EQ(canonical.lines.at(1), (UserPosition{0, 0}));
  EXPECT_EQ(canonical.lines.at(3), (UserPosition{2, 3}));
  EXPECT_EQ(canonical.lines.at(6), (UserPosition{2, 12}));
}

TEST(ImplicitNames, TheUserSeesNvccAndTheHeadersNvrtc) {
  const CanonicalSource canonical =
      canonicalise("#ifdef __NVCC__\n#endif\n#if defined(__GNUC__)\n#endif\n", "a").value();
  EXPECT_EQ(canonical.text,
            "#include <kw_host_compiler.h>\n#ifdef kw_host___NVCC__\n#endif\n#if defined(kw_host___GNUC__)\n#endif\n");
}

CompileResult compile(const std::string& source) {
  static CompileService service({.pool = {.workers = 1}, .disk_cache = false});
  CompileRequest request;
  request.source = source;
  request.file_name = "names.cu";
  request.want_cubin = false;
  return service.compile(request);
}

std::string failure_of(const CompileResult& result) {
  std::string text = result.explanation;
  for (const Diagnostic& diagnostic : result.diagnostics) text += "\n" + to_string(diagnostic);
  return text.substr(0, 3000);
}

struct NameUse {
  const char* name;
  const char* source;
};

class ImplicitNameUses : public testing::TestWithParam<NameUse> {};

// Each was accepted by nvcc 13.0 over g++ 12 as it stands, without an include.
constexpr NameUse uses[] = {
    {"system_types",
     "__global__ void k(uint* a, ushort* b, ulong* c, int8_t* d, int64_t* e, ssize_t n, u_int32_t m) {\n"
     "  unsigned long* same = c; long* signed_same = e; a[0] = b[0] + same[n] + d[m] + signed_same[1]; }"},
    {"declared_again",
     "typedef unsigned int uint;\nusing ulong = unsigned long;\n__global__ void k(uint* x) { *x = ulong(3); }"},
    {"words_as_names",
     "struct S { int uint; };\n__global__ void k(int* x) { int ushort = 2; S s{3}; *x = s.uint + ushort; }"},
    {"as_template_parameter",
     "template <uint n, class T> __global__ void k(T* x) { x[n] = sizeof(T); }\ntemplate __global__ void k<3, "
     "int8_t>(int8_t*);"},
    {"constants",
     "constexpr float lowest = -INFINITY;\n__constant__ float table[2] = {INFINITY, NAN};\n"
     "__global__ void k(double* x) { static constexpr double inf = HUGE_VAL; x[0] = lowest + table[1] + M_PI + M_PIf + "
     "inf + "
     "MAXFLOAT + INT_MAX + CHAR_BIT + LLONG_MIN + EXIT_FAILURE + RAND_MAX; }"},
    {"macro_guard",
     "#ifndef M_PI\n#error M_PI\n#endif\n#ifndef INFINITY\n#error INFINITY\n#endif\n__global__ void k(float* x) { *x = "
     "1; }"},
    {"standard_functions",
     "__global__ void k(float* x) { x[0] = std::exp(x[1]) + std::abs(x[2]) + std::fmax(x[3], 0.f) + std::pow(x[4], "
     "2.f); "
     "std::size_t i = std::isnan(x[5]); x[i] = std::floor(x[6]); }"},
    {"standard_types",
     "template <class T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0> __device__ T twice(T x) { return "
     "2 * x; }\n"
     "constexpr int tile = std::max(16, std::min(64, 32));\nconstexpr int most = std::numeric_limits<short>::max();\n"
     "__global__ void k(float* x) { x[0] = twice(x[1]) + tile + most + std::is_same_v<int, int> + "
     "sizeof(std::conditional_t<true, int, char>) + alignof(std::aligned_storage_t<32, 32>); }"},
    {"index_sequence",
     "template <std::size_t... i> __device__ int sum(std::index_sequence<i...>) { return (0 + ... + int(i)); }\n"
     "__global__ void k(int* x) { *x = sum(std::make_index_sequence<5>{}); }"},
    {"host_compiler",
     "#if !defined(__NVCC__) || !defined(__GNUC__) || defined(__CUDACC_RTC__) || __GNUC__ < 9\n#error not "
     "nvcc\n#endif\n"
     "#include <cuda_fp16.h>\n__global__ void k(int* x) { *x = __INT_MAX__ - __SIZEOF_INT__; }"},
    {"built_ins",
     "__global__ void k(float* x) { x[0] = __builtin_inff() + __builtin_sqrtf(x[1]) + __builtin_popcount(3u); "
     "__builtin_assume(x[1] > 0); if (__builtin_expect(x[2] > 0, 1)) x[3] = __builtin_fmaf(x[4], 2.f, 1.f); }"},
    {"assertions",
     "__global__ void k(int* x) { assert(x != NULL); printf(\"%d\", *x); struct S { int a, b; }; *x = offsetof(S, b); "
     "}"},
    {"wide_integers",
     "__global__ void k(unsigned long long* x) { unsigned __int128 p = (unsigned __int128)x[0] * x[1]; x[2] = p >> 64; "
     "}"},
};

TEST_P(ImplicitNameUses, Compile) {
  const CompileResult result = compile(GetParam().source);
  EXPECT_TRUE(result.ok()) << failure_of(result);
  for (const Diagnostic& diagnostic : result.diagnostics)
    EXPECT_NE(diagnostic.severity, Severity::warning) << to_string(diagnostic);
}

INSTANTIATE_TEST_SUITE_P(All, ImplicitNameUses, testing::ValuesIn(uses),
                         [](const auto& use) { return std::string(use.param.name); });

TEST(ImplicitNames, DiagnosticsAndPtxHaveTheUsersLines) {
  const CompileResult wrong = compile("__global__ void k(uint* x) {\n  *x = M_PI;\n  unknown = INT_MAX;\n}\n");
  ASSERT_FALSE(wrong.diagnostics.empty());
  EXPECT_EQ(wrong.diagnostics[0].line, 3u);
  EXPECT_EQ(wrong.diagnostics[0].column, 3u);
  const CompileResult right = compile("__global__ void k(uint* x) {\n\n\n  *x = INT_MAX;\n}\n");
  ASSERT_TRUE(right.ok()) << failure_of(right);
  EXPECT_THAT(right.ptx, testing::HasSubstr(".loc\t1 4 "));
}

TEST(ImplicitNames, NamesThatNvccRefusesStayUnknown) {
  for (const char* use : {"uint32_t y = 1; *x = y;", "*x = FLT_MAX;", "std::uint8_t y = 1; *x = y;", "half y; *x = y;",
                          "*x = UINT32_MAX;", "std::array<int, 2> y; *x = y[0];", "*x = CUDART_PI_F;"}) {
    EXPECT_EQ(compile(std::string("__global__ void k(int* x) { ") + use + " }").status, CompileStatus::compile_error)
        << use;
  }
}

TEST(ImplicitNames, PyTorchsHeadersGiveWhatDeviceCodeUsesOfThem) {
  for (const char* header : {"torch/extension.h", "ATen/cuda/CUDAContext.h", "c10/util/Half.h"}) {
    const CompileResult result = compile(std::string("#include <") + header +
                                         ">\n__global__ void k(c10::Half* x, c10::BFloat16* y, int n) {\n"
                                         "  CUDA_KERNEL_LOOP(i, n) { x[i] = x[i] + x[i]; y[i] = y[i] * y[i]; }\n}");
    EXPECT_TRUE(result.ok()) << header << failure_of(result);
  }
  const CompileResult tensor = compile("#include <torch/extension.h>\n__global__ void k(int* x) { at::Tensor y; }");
  ASSERT_EQ(tensor.status, CompileStatus::compile_error);
  EXPECT_EQ(tensor.diagnostics.at(0).line, 2u);
}

}  // namespace
}  // namespace kw
