// The headers are only worth something if kernels that use them compile.
#include "kernel/compile/headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "kernel/compile/nvrtc.h"
#include "kernel/compile/service.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

std::string failure_of(const CompileResult& result) {
  std::string text = result.explanation;
  for (const Diagnostic& diagnostic : result.diagnostics) text += "\n" + to_string(diagnostic);
  return text.substr(0, 4000);
}

struct HeaderUse {
  const char* name;
  const char* source;
};

class HeaderUses : public testing::TestWithParam<HeaderUse> {
 protected:
  static CompileService& service() {
    static CompileService instance({.pool = {.workers = 1}, .disk_cache = false});
    return instance;
  }
};

TEST_P(HeaderUses, Compile) {
  CompileRequest request;
  request.source = GetParam().source;
  request.file_name = "use.cu";
  request.architecture = GpuArchitecture::sm_90;
  const CompileResult result = service().compile(request);
  EXPECT_TRUE(result.ok()) << failure_of(result);
}

constexpr HeaderUse uses[] = {
    {"runtime",
     "#include <cuda_runtime.h>\n#include \"device_launch_parameters.h\"\n#include <cuda_runtime_api.h>\n"
     "__global__ void k(float4* x) { x[threadIdx.x] = make_float4(1, 2, 3, 4); }"},
    {"integers",
     "#include <cstdint>\n#include <stdint.h>\n#include <climits>\n#include <limits.h>\n"
     "__global__ void k(uint64_t* x, std::int8_t v) { static_assert(sizeof(std::uint32_t) == 4 && sizeof(uint64_t) == "
     "8); x[0] = UINT64_MAX - INT_MAX + v; }"},
    {"sizes",
     "#include <cstddef>\n#include <stddef.h>\nstruct S { int a; char b; };\n"
     "__global__ void k(std::size_t* x) { x[0] = offsetof(S, b); x[1] = x == NULL; std::nullptr_t n = nullptr; x[2] = "
     "x == n; }"},
    {"floats",
     "#include <cfloat>\n#include <float.h>\n__global__ void k(float* x, double* y) { x[0] = -FLT_MAX + FLT_EPSILON + "
     "FLT_MIN; y[0] = DBL_MAX; }"},
    {"math",
     "#include <cmath>\n#include <math.h>\n__global__ void k(float* x, double* y) { x[0] = std::sqrt(x[1]) + "
     "std::exp(x[2]) + fmaxf(x[3], -INFINITY) + std::abs(x[4]) + std::pow(x[5], 2.f) + std::tanh(x[6]) + "
     "std::erf(x[7]);\n"
     "  y[0] = std::sqrt(y[1]) + M_PI + std::fmax(y[2], y[3]) + std::floor(y[4]); x[8] = std::isnan(x[1]) || "
     "isinf(x[2]) ? NAN : 0.f; }"},
    {"limits",
     "#include <limits>\n__global__ void k(float* x, int* y) { x[0] = std::numeric_limits<float>::infinity(); x[1] = "
     "std::numeric_limits<float>::lowest(); x[2] = std::numeric_limits<float>::quiet_NaN();\n"
     "  y[0] = std::numeric_limits<int>::max(); y[1] = std::numeric_limits<unsigned char>::digits; "
     "static_assert(std::numeric_limits<long long>::min() < 0); constexpr float e = "
     "std::numeric_limits<float>::epsilon(); x[3] = e; }"},
    {"type_traits",
     "#include <type_traits>\ntemplate <class T, class = std::enable_if_t<std::is_floating_point_v<T>>> __device__ T "
     "half(T x) { return x / 2; }\n"
     "template <class T> __global__ void k(T* x) { if constexpr (std::is_same_v<T, float>) x[0] = half(x[1]); using U "
     "= std::make_unsigned_t<int>; x[2] = U(1) + std::conditional_t<true, int, float>(2.5f);\n"
     "  static_assert(std::is_integral<const int>::value && !std::is_signed_v<unsigned> && "
     "std::is_trivially_copyable_v<float4> && std::is_same_v<std::decay_t<const int&>, int>); }\n"
     "template __global__ void k<float>(float*);"},
    {"utility",
     "#include <utility>\n#include <array>\ntemplate <std::size_t... i> __device__ int sum(std::index_sequence<i...>) "
     "{ return (0 + ... + int(i)); }\n"
     "__global__ void k(int* x) { x[0] = sum(std::make_index_sequence<300>{}); int a = x[1], b = x[2]; std::swap(a, "
     "b); x[3] = a; auto p = std::make_pair(a, 2.f); x[4] = p.second; std::array<int, 4> r{1, 2, 3, 4}; x[5] = r[x[6] "
     "& 3]; int&& m = std::move(a); x[7] = m; }"},
    {"algorithm",
     "#include <algorithm>\n#include <functional>\n__global__ void k(int* x) { x[0] = std::min(x[1], x[2]) + "
     "std::max(x[3], 4) + std::clamp(x[4], 0, 9) + std::plus<int>()(1, 2) + std::greater<>()(x[1], x[2]) + min(1, 2); "
     "}"},
    {"c_library",
     "#include <cstdio>\n#include <stdio.h>\n#include <cstdlib>\n#include <stdlib.h>\n#include <cstring>\n#include "
     "<string.h>\n#include <cassert>\n#include <assert.h>\n"
     "__global__ void k(int* x) { assert(x); memcpy(x, x + 4, 16); std::memset(x, 0, 4); printf(\"%d\", *x); void* p = "
     "malloc(4); free(p); }"},
    {"host_only",
     "#include <iostream>\n#include <vector>\n#include <string>\n#include <chrono>\n#include <memory>\n__global__ void "
     "k(int* x) { *x = 1; }"},
    {"half",
     "#include <cuda_fp16.h>\n__global__ void k(__half* x, half2* y) { x[0] = __hadd(x[1], __float2half(1.f)) * x[2]; "
     "y[0] = __hfma2(y[1], y[2], y[3]); half h = x[0]; x[1] = hexp(h); }"},
    {"bfloat16",
     "#include <cuda_bf16.h>\n__global__ void k(__nv_bfloat16* x) { x[0] = __float2bfloat16(__bfloat162float(x[1]) + "
     "1.f) + x[2]; }"},
    {"fp8",
     "#include <cuda_fp8.h>\n__global__ void k(__nv_fp8_e4m3* x, float* y) { x[0] = __nv_fp8_e4m3(y[0]); y[1] = "
     "float(x[1]); }"},
    {"mma",
     "#include <mma.h>\nusing namespace nvcuda;\n__global__ void k(const half* a, const half* b, float* c) { "
     "wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa; wmma::fragment<wmma::matrix_b, 16, 16, 16, "
     "half, wmma::col_major> fb;\n"
     "  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc; wmma::fill_fragment(fc, 0.f); "
     "wmma::load_matrix_sync(fa, a, 16); wmma::load_matrix_sync(fb, b, 16); wmma::mma_sync(fc, fa, fb, fc); "
     "wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major); }"},
    {"cooperative_groups",
     "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;\n"
     "__global__ void k(float* x) { auto block = cg::this_thread_block(); auto warp = cg::tiled_partition<32>(block); "
     "float v = cg::reduce(warp, x[threadIdx.x], cg::plus<float>()); block.sync(); if (warp.thread_rank() == 0) x[0] = "
     "v; }"},
    {"pipeline",
     "#include <cuda_pipeline.h>\n__global__ void k(const float4* x, float* y) { __shared__ float4 s[32]; "
     "__pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 16); __pipeline_commit(); __pipeline_wait_prior(0); "
     "__syncthreads(); y[threadIdx.x] = s[31 - threadIdx.x].x; }"},
    {"cuda_atomic",
     "#include <cuda/atomic>\n__global__ void k(int* x) { cuda::atomic_ref<int, cuda::thread_scope_device> a(*x); "
     "a.fetch_add(1, cuda::memory_order_relaxed); }"},
    {"cuda_barrier",
     "#include <cuda/barrier>\n__global__ void k(int* x) { __shared__ cuda::barrier<cuda::thread_scope_block> b; if "
     "(threadIdx.x == 0) init(&b, blockDim.x); __syncthreads(); b.arrive_and_wait(); *x = 1; }"},
    {"cuda_std",
     "#include <cuda/std/limits>\n#include <cuda/std/type_traits>\n#include <cuda/std/array>\n__global__ void k(float* "
     "x) { x[0] = cuda::std::numeric_limits<float>::max(); cuda::std::array<float, 3> a{1, 2, 3}; x[1] = a[2]; "
     "static_assert(cuda::std::is_same_v<int, int>); }"},
    {"curand",
     "#include <curand_kernel.h>\n__global__ void k(float* x) { curandStatePhilox4_32_10_t state; curand_init(1, "
     "threadIdx.x, 0, &state); x[threadIdx.x] = curand_uniform(&state); }"},
    {"math_constants",
     "#include <math_constants.h>\n#include <vector_types.h>\n#include <cuComplex.h>\n__global__ void k(float* x, "
     "cuFloatComplex* z) { x[0] = CUDART_PI_F + CUDART_INF_F; z[0] = cuCmulf(z[1], z[2]); }"},
    {"cub_block",
     "#include <cub/block/block_reduce.cuh>\n__global__ void k(int* x) { using R = cub::BlockReduce<int, 128>; "
     "__shared__ typename R::TempStorage t; int v = R(t).Sum(x[threadIdx.x]); if (threadIdx.x == 0) x[0] = v; }"},
    {"cub_warp",
     "#include <cub/warp/warp_reduce.cuh>\n__global__ void k(int* x) { using R = cub::WarpReduce<int>; __shared__ "
     "typename R::TempStorage t; x[0] = R(t).Sum(x[threadIdx.x]); }"},
    {"host_classes",
     "#include <string>\n#include <sys/time.h>\n"
     "class Watch { public: explicit Watch(const std::string& name); void start(); struct timeval begin; };\n"
     "__global__ void k(int* x) { *x = 1; }"},
};

INSTANTIATE_TEST_SUITE_P(All, HeaderUses, testing::ValuesIn(uses),
                         [](const auto& use) { return std::string(use.param.name); });

TEST(HeaderSet, OwnHeadersAreThereWithoutAToolkit) {
  const HeaderSet set = HeaderSet::load("");
  EXPECT_TRUE(set.contains("cstdint"));
  EXPECT_TRUE(set.contains("vector"));
  EXPECT_FALSE(set.contains("cuda_fp16.h"));
  EXPECT_FALSE(set.contains("/etc/passwd"));
}

TEST(HeaderSet, OnlyWhatIsNeeded) {
  const HeaderSet set = HeaderSet::load(find_cuda_toolkit().value().include);
  const auto names = [&](std::string_view source) {
    std::vector<std::string> list;
    for (const Header* header : set.needed_by(source)) list.push_back(header->name);
    return list;
  };
  EXPECT_THAT(names("int x;\n"), testing::IsEmpty());
  EXPECT_THAT(names("#include <limits>\n"),
              testing::UnorderedElementsAre("limits", "cfloat", "climits", "kw_host_compiler.h"));
  EXPECT_THAT(names("  #  include \"cstdint\"\n#include <nothing.h>\n"), testing::ElementsAre("cstdint"));
  EXPECT_THAT(names("#include <mma.h>\n"), testing::Contains("crt/mma.hpp"));
  EXPECT_THAT(names("#include \"../etc/passwd\"\n#include </etc/passwd>\n"), testing::IsEmpty());
}

TEST(HeaderSet, FingerprintFollowsTheContent) {
  EXPECT_EQ(HeaderSet::load("").fingerprint(), HeaderSet::load("").fingerprint());
  EXPECT_NE(HeaderSet::load("").fingerprint(), HeaderSet::load(find_cuda_toolkit().value().include).fingerprint());
}

// PyTorch's packages of CUDA lack <nv/target>; the toolkit beside them has it.
TEST(Headers, AreTakenFromWhereTheyAreComplete) {
  const fs::path complete = find_cuda_toolkit().value().include;
  TemporaryFolder folder;
  const fs::path include = folder.path() / "include";
  fs::create_directories(include);
  fs::copy(complete / "cuda_fp16.h", include);
  fs::copy(complete / "cuda.h", include);
  const auto found = [&] {
    const char* chosen = std::getenv("KERNELWRIGHT_CUDA");
    const std::string before = chosen != nullptr ? chosen : "";
    ::setenv("KERNELWRIGHT_CUDA", folder.path().c_str(), 1);
    fs::path taken = find_cuda_toolkit().value().include;
    ::setenv("KERNELWRIGHT_CUDA", before.c_str(), 1);
    return taken;
  };
  EXPECT_NE(found(), include);
  ASSERT_TRUE(write_file_atomic(include / "cuda.h", "#define CUDA_VERSION 99990\n").ok());
  EXPECT_EQ(found(), include);  // of another release are worse than too few
}

}  // namespace
}  // namespace kw
