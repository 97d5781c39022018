#include "kernel/compile/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <thread>

namespace kw {
namespace {

using testing::HasSubstr;
using testing::Not;

CompileRequest request_for(std::string source, std::vector<std::string> kernels = {}) {
  CompileRequest request;
  request.source = std::move(source);
  request.file_name = "user.cu";
  request.kernels = std::move(kernels);
  return request;
}

// One for all tests that do not look at the cache.
CompileService& service() {
  static CompileService instance({.pool = {.workers = 2}, .disk_cache = false});
  return instance;
}

constexpr const char* scale_kernel = R"(__global__ void scale(float* x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
)";

std::string messages_of(const CompileResult& result) {
  std::string text = result.explanation + "\n";
  for (const Diagnostic& diagnostic : result.diagnostics) text += to_string(diagnostic) + "\n";
  return text;
}

TEST(CompileService, CompilesAPlainKernel) {
  const CompileResult result = service().compile(request_for(scale_kernel, {"scale"}));
  ASSERT_TRUE(result.ok()) << messages_of(result);
  ASSERT_EQ(result.kernels.size(), 1u);
  EXPECT_EQ(result.kernels[0].name, "scale");
  EXPECT_EQ(result.kernels[0].symbol, "_Z5scalePffi");
  EXPECT_TRUE(result.kernels[0].resources.known);
  EXPECT_GT(result.kernels[0].resources.registers, 0);
  EXPECT_EQ(result.cubin.substr(1, 3), "ELF");
  EXPECT_THAT(result.ptx, HasSubstr(".visible .entry _Z5scalePffi"));
  EXPECT_THAT(result.ptx, HasSubstr(".loc\t1 3 16"));  // `x[i] *= factor` in the third line
  EXPECT_THAT(result.ptx, HasSubstr("\"user.cu\""));
  EXPECT_GT(result.compile_ms, 0);
}

// --minimal spares a seventh of a small compilation.
TEST(CompileService, LeavesOutTheRuntimeWhereNothingNamesIt) {
  const auto is_minimal = [](const std::string& source) {
    const auto options = nvrtc_options(request_for(source), source);
    return std::find(options.begin(), options.end(), "--minimal") != options.end();
  };
  EXPECT_TRUE(is_minimal(scale_kernel));
  EXPECT_TRUE(is_minimal("constexpr\nint\nblock = 256; struct Context { int cortex; };\n"));
  for (const char* line : {"tex2D", "texture", "__texture_type__", "surf1Dwrite", "cudaTextureObject_t", "my_cuda"})
    EXPECT_FALSE(is_minimal(std::string("constexpr\nint\nn = 1;\n") + line + "\n(a);\n")) << line;
  EXPECT_FALSE(is_minimal("k<<<1, 2>>>();\n"));
}

TEST(CompileService, CompilesForEveryArchitecture) {
  for (const GpuArchitecture architecture : all_architectures) {
    CompileRequest request = request_for(scale_kernel);
    request.architecture = architecture;
    const CompileResult result = service().compile(request);
    ASSERT_TRUE(result.ok()) << to_string(architecture) << messages_of(result);
    EXPECT_THAT(result.ptx, HasSubstr(".target " + std::string(to_string(architecture))));
    EXPECT_GT(result.kernels.at(0).resources.registers, 0) << to_string(architecture);
  }
}

TEST(CompileService, PtxAloneWhenNoCubinIsWanted) {
  CompileRequest request = request_for(scale_kernel, {"scale"});
  request.want_cubin = false;
  const CompileResult result = service().compile(request);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.cubin.empty());
  EXPECT_FALSE(result.kernels[0].resources.known);
  EXPECT_THAT(result.ptx, HasSubstr(".entry"));
}

TEST(CompileService, FastMathIsAnOptionOfTheRequest) {
  const std::string source = "__global__ void k(float* x) { x[0] = sinf(x[1]) / x[2]; }";
  CompileRequest fast = request_for(source);
  fast.fast_math = true;
  EXPECT_THAT(service().compile(fast).ptx, HasSubstr("sin.approx"));
  EXPECT_THAT(service().compile(request_for(source)).ptx, Not(HasSubstr("div.approx")));
}

TEST(CompileService, TemplateInstancesByName) {
  const CompileResult result = service().compile(request_for(R"(
namespace ns {
template <int n, class T> __global__ void fill(T* x) { x[threadIdx.x] = n; }
}
extern "C" __global__ void plain(int* x) { *x = 1; }
)",
                                                             {"ns::fill<3, float>", "ns::fill<4, double>", "plain"}));
  ASSERT_TRUE(result.ok()) << messages_of(result);
  ASSERT_EQ(result.kernels.size(), 3u);
  EXPECT_EQ(result.kernels[0].symbol, "_ZN2ns4fillILi3EfEEvPT0_");
  EXPECT_EQ(result.kernels[1].symbol, "_ZN2ns4fillILi4EdEEvPT0_");
  EXPECT_EQ(result.kernels[2].symbol, "plain");
}

TEST(CompileService, UnknownKernelIsNamed) {
  const CompileResult result = service().compile(request_for(scale_kernel, {"scale", "other<3>"}));
  EXPECT_EQ(result.status, CompileStatus::compile_error);
  EXPECT_THAT(messages_of(result), HasSubstr("there is no kernel \"other"));
}

TEST(CompileService, ErrorsStandAtTheUsersLinesAndColumns) {
  const CompileResult result = service().compile(request_for(
      "// comment\n\ntemplate <int n> __device__ int f() { static_assert(n > 3, \"too small\"); return n; }\n"
      "__global__ void k(int* x) {\n  x[0] = 1 + /* here */ missing;\n\n  x[1] =\n      f<2>();\n}\n"));
  ASSERT_EQ(result.status, CompileStatus::compile_error);
  ASSERT_EQ(result.diagnostics.size(), 2u) << messages_of(result);
  EXPECT_EQ(to_string(result.diagnostics[0]), "user.cu:5:25: error: identifier \"missing\" is undefined");
  EXPECT_FALSE(result.diagnostics[0].advice.empty());
  EXPECT_EQ(result.diagnostics[1].line, 3u);
  EXPECT_EQ(result.diagnostics[1].column, 39u);
  EXPECT_THAT(result.diagnostics[1].notes, testing::ElementsAre(HasSubstr("at line 8")));
}

TEST(CompileService, PtxasErrorsStandAtTheUsersLine) {
  const CompileResult result = service().compile(request_for(
      "__global__ void k(int* x) {\n  x[1] = 3;\n  asm volatile(\"bogus.u32 %0, 3;\" : \"=r\"(x[0]));\n}\n"));
  ASSERT_EQ(result.status, CompileStatus::compile_error);
  ASSERT_FALSE(result.diagnostics.empty());
  EXPECT_THAT(result.diagnostics[0].message, HasSubstr("Not a name of any known instruction"));
  EXPECT_EQ(result.diagnostics[0].line, 3u);
}

TEST(CompileService, TooMuchSharedMemoryIsExplained) {
  const CompileResult result = service().compile(request_for(
      "__global__ void k(int* x) { __shared__ int s[20000]; s[threadIdx.x] = *x; __syncthreads(); *x = s[1]; }"));
  ASSERT_EQ(result.status, CompileStatus::compile_error);
  EXPECT_THAT(messages_of(result), HasSubstr("too much shared data"));
  EXPECT_THAT(result.diagnostics[0].advice, HasSubstr("cudaFuncSetAttribute"));
}

TEST(CompileService, MissingHeaderNamesTheKnownOnes) {
  const CompileResult result = service().compile(request_for("#include \"mine.h\"\n__global__ void k() {}\n"));
  ASSERT_EQ(result.status, CompileStatus::compile_error);
  EXPECT_THAT(result.diagnostics.at(0).advice, HasSubstr("cuda_fp16.h"));
  EXPECT_EQ(result.diagnostics[0].line, 1u);
}

TEST(CompileService, LimitsHold) {
  CompileRequest request = request_for(std::string(2000, ' '));
  request.limits.source_bytes = 1000;
  EXPECT_EQ(service().compile(request).status, CompileStatus::rejected);

  request = request_for(
      "template <int n, long id> struct T { T<n - 1, 2 * id> a; T<n - 1, 2 * id + 1> b; };\n"
      "template <long id> struct T<0, id> { int leaf; };\n__global__ void k(int* x) { *x = sizeof(T<22, 1>); }");
  request.limits.wall_ms = 300;
  EXPECT_EQ(service().compile(request).status, CompileStatus::timeout);
  request.limits.wall_ms = 3'600'000;
  request.limits.cpu_seconds = 3600;
  request.limits.memory_bytes = 96u << 20;
  EXPECT_EQ(service().compile(request).status, CompileStatus::out_of_memory);

  request = request_for(scale_kernel);
  request.limits.output_bytes = 2000;
  // A request of other limits asks the same question, so the cached answer would do; it is a new source here.
  request.source += "__device__ int other;\n";
  EXPECT_EQ(service().compile(request).status, CompileStatus::output_too_large);
}

TEST(CompileService, ManyThreadsGetTheirOwnAnswers) {
  std::vector<std::thread> threads;
  std::vector<CompileResult> results(12);
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::string number = std::to_string(1000 + i % 6);
      results[i] = service().compile(request_for("__global__ void k(int* x) { *x = " + number + "; }", {"k"}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i].ok()) << messages_of(results[i]);
    EXPECT_THAT(results[i].ptx, HasSubstr(std::to_string(1000 + i % 6)));
  }
}

TEST(CompileCachePath, LayoutDoesNotMatterAndPositionsStayExact) {
  TemporaryFolder folder;
  CompileService cached({.pool = {.workers = 1}, .disk = {.folder = folder.path()}});
  const CompileResult first =
      cached.compile(request_for("__global__ void k(int* x) {\n  int unused;\n  x[0] = 1;\n}\n"));
  const CompileResult second = cached.compile(request_for(
      "/* licence */\n__global__   void\nk ( int*x )\n{\n    // nothing\n    int   unused ;\n\n    x[ 0 ]=1;\n}\n"));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(first.key, second.key);
  EXPECT_EQ(to_string(first.diagnostics.at(0)).substr(0, 13), "user.cu:2:7: ");
  EXPECT_EQ(to_string(second.diagnostics.at(0)).substr(0, 14), "user.cu:6:11: ");
  EXPECT_THAT(first.ptx, HasSubstr(".loc\t1 3 5\n"));
  EXPECT_THAT(second.ptx, HasSubstr(".loc\t1 8 8\n"));
}

TEST(CompileCachePath, SurvivesTheProcessAndDamage) {
  TemporaryFolder folder;
  const ServiceOptions options{.pool = {.workers = 1}, .disk = {.folder = folder.path()}};
  const CompileResult made = CompileService(options).compile(request_for(scale_kernel, {"scale"}));
  ASSERT_TRUE(made.ok());

  CompileService again(options);
  const CompileResult found = again.compile(request_for(scale_kernel, {"scale"}));
  EXPECT_TRUE(found.from_cache);
  EXPECT_EQ(found.ptx, made.ptx);
  EXPECT_EQ(found.cubin, made.cubin);
  EXPECT_EQ(found.kernels, made.kernels);
  EXPECT_EQ(found.ptx_fingerprint, made.ptx_fingerprint);

  const auto entry = again.disk_cache()->path_of(made.key);
  std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(2000);
  file.put('\x7f');
  file.close();
  EXPECT_EQ(again.disk_cache()->inspect().damaged, 1u);
  CompileService third(options);
  const CompileResult repaired = third.compile(request_for(scale_kernel, {"scale"}));
  EXPECT_TRUE(repaired.ok());
  EXPECT_FALSE(repaired.from_cache);
  EXPECT_EQ(third.disk_cache()->inspect().damaged, 0u);
}

TEST(CompileCachePath, EverythingThatMattersIsInTheKey) {
  TemporaryFolder folder;
  CompileService cached({.pool = {.workers = 1}, .disk = {.folder = folder.path()}});
  CompileRequest request = request_for(scale_kernel, {"scale"});
  std::set<std::string> keys;
  keys.insert(cached.compile(request).key);
  request.architecture = GpuArchitecture::sm_80;
  keys.insert(cached.compile(request).key);
  request.fast_math = true;
  keys.insert(cached.compile(request).key);
  request.want_cubin = false;
  keys.insert(cached.compile(request).key);
  request.kernels = {};
  keys.insert(cached.compile(request).key);
  request.source += "__device__ int more;";
  keys.insert(cached.compile(request).key);
  EXPECT_EQ(keys.size(), 6u);
}

TEST(CompileCachePath, FailuresOfTheMomentAreNotKept) {
  TemporaryFolder folder;
  CompileService cached({.pool = {.workers = 1}, .disk = {.folder = folder.path()}});
  CompileRequest request = request_for(scale_kernel);
  request.limits.output_bytes = 100;
  EXPECT_EQ(cached.compile(request).status, CompileStatus::output_too_large);
  request.limits.output_bytes = 1u << 20;
  EXPECT_EQ(cached.compile(request).status, CompileStatus::compiled);
}

// The depth of its brackets is more than NVRTC's stack holds.
TEST(CompileService, CrashOfTheCompilerIsAVerdictOfItsOwn) {
  CompileService service({.pool = {.workers = 1}, .disk_cache = false});
  const auto nested = [](int depth) {
    std::string source = "__global__ void k(int* x) { *x = ";
    for (int i = 0; i < depth; ++i) source += "x[";
    source += "1";
    for (int i = 0; i < depth; ++i) source += "]";
    return source + "; }\n";
  };
  CompileRequest request;
  request.file_name = "deep.cu";
  request.source = nested(100'000);
  const CompileResult crashed = service.compile(request);
  EXPECT_EQ(crashed.status, CompileStatus::compiler_crashed);
  EXPECT_THAT(crashed.explanation, testing::HasSubstr("the compiler itself crashed on this source"));
  ASSERT_EQ(crashed.diagnostics.size(), 1u);
  EXPECT_THAT(crashed.diagnostics[0].advice, testing::HasSubstr("nests deeply"));
  EXPECT_EQ(service.compile(request).status, crashed.status) << "it is not a matter of luck";
  request.source = nested(3);
  EXPECT_TRUE(service.compile(request).ok());
}

}  // namespace
}  // namespace kw
