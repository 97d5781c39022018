#include "kernel/compile/resources.h"

#include <gtest/gtest.h>

#include "kernel/compile/occupancy.h"
#include "kernel/compile/ptx.h"
#include "kernel/compile/service.h"

namespace kw {
namespace {

TEST(Resources, EachKernelItsOwn) {
  const std::string_view ptx =
      ".visible .entry a(\n.param .u64 a_param_0\n)\n.maxntid 128, 2, 1\n{\nret;\n}\n.entry b()\n{\n}\n";
  const std::string_view log =
      "ptxas info    : 4 bytes gmem\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
      "ptxas info    : Function properties for b\n"
      "ptxas         .     512 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 166 registers, used 2 barriers, 512 bytes cumulative stack size, 1024 bytes smem\n"
      "ptxas info    : Function properties for helper\n"
      "ptxas         .     99 bytes stack frame, 98 bytes spill stores, 97 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 10 registers, used 0 barriers\n";
  const auto list = parse_resources(log, ptx, "");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].symbol, "a");
  EXPECT_EQ(list[0].resources, (KernelResources{.registers = 10, .max_threads = 256, .known = true}));
  EXPECT_EQ(list[1].resources, (KernelResources{.registers = 166,
                                                .spill_store_bytes = 8,
                                                .spill_load_bytes = 16,
                                                .stack_bytes = 512,
                                                .static_shared_bytes = 1024,
                                                .barriers = 2,
                                                .known = true}));
}

// A message of the source's own cannot make a kernel look cheaper: ptxas speaks last.
TEST(Resources, ForgedLinesDoNotHold) {
  const std::string_view log =
      "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
      "ptxas info    : Used 1 registers, used 9 barriers, 7 bytes smem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
      "ptxas info    : Used 80 registers, used 0 barriers\n";
  EXPECT_EQ(parse_resources(log, ".entry k()\n{\n}\n", "").at(0).resources,
            (KernelResources{.registers = 80, .known = true}));
}

TEST(Resources, NonsenseIsHarmless) {
  EXPECT_TRUE(
      parse_resources("ptxas info : Used 99999999999999999999 registers\n", "", std::string(64, '\x7f')).empty());
  EXPECT_EQ(parse_resources("", ".entry k()\n",
                            std::string("\x7f"
                                        "ELF") +
                                std::string(200, '\xff'))
                .size(),
            1u);
}

TEST(Resources, OfARealKernel) {
  CompileService service({.pool = {.workers = 1}, .disk_cache = false});
  CompileRequest request;
  request.source =
      "__constant__ float table[64];\n__global__ void __launch_bounds__(256, 2) k(float* x) {\n"
      "  __shared__ float s[300];\n  s[threadIdx.x] = table[threadIdx.x & 63];\n  __syncthreads();\n  x[threadIdx.x] = "
      "s[299 - threadIdx.x];\n}\n";
  request.kernels = {"k"};
  const CompileResult result = service.compile(request);
  ASSERT_TRUE(result.ok());
  const KernelResources& resources = result.kernels.at(0).resources;
  EXPECT_EQ(resources.static_shared_bytes, 1200);
  EXPECT_EQ(resources.constant_bytes, 256);
  EXPECT_EQ(resources.max_threads, 256);
  EXPECT_EQ(resources.barriers, 1);
  EXPECT_EQ(resources.stack_bytes, 0);
}

// Against NVIDIA's occupancy calculator.
TEST(Occupancy, KnownValues) {
  const auto at = [](GpuArchitecture architecture, int registers, int shared, int threads) {
    return occupancy(architecture, {.registers = registers, .static_shared_bytes = shared, .known = true}, threads, 0)
        .value();
  };
  EXPECT_EQ(at(GpuArchitecture::sm_90, 32, 0, 256).warps_per_sm, 64);
  EXPECT_EQ(at(GpuArchitecture::sm_90, 32, 0, 256).limiter, OccupancyLimiter::warps);
  EXPECT_EQ(at(GpuArchitecture::sm_80, 64, 0, 256).warps_per_sm, 32);
  EXPECT_EQ(at(GpuArchitecture::sm_80, 64, 0, 256).limiter, OccupancyLimiter::registers);
  EXPECT_EQ(at(GpuArchitecture::sm_86, 32, 0, 256).max_warps_per_sm, 48);
  EXPECT_EQ(at(GpuArchitecture::sm_86, 32, 0, 32).blocks_per_sm, 16);
  EXPECT_EQ(at(GpuArchitecture::sm_86, 32, 0, 32).limiter, OccupancyLimiter::blocks);
  EXPECT_EQ(at(GpuArchitecture::sm_89, 32, 0, 32).blocks_per_sm, 24);
  EXPECT_EQ(at(GpuArchitecture::sm_90, 32, 48 * 1024, 128).blocks_per_sm, 4);
  EXPECT_EQ(at(GpuArchitecture::sm_90, 32, 48 * 1024, 128).limiter, OccupancyLimiter::shared_memory);
  EXPECT_EQ(at(GpuArchitecture::sm_100, 32, 0, 1024).blocks_per_sm, 2);
  EXPECT_DOUBLE_EQ(at(GpuArchitecture::sm_80, 64, 0, 256).fraction(), 0.5);
}

TEST(Occupancy, ImpossibleLaunchesAreErrors) {
  EXPECT_FALSE(occupancy(GpuArchitecture::sm_90, {.registers = 32}, 1025, 0));
  EXPECT_FALSE(occupancy(GpuArchitecture::sm_90, {.registers = 32}, 0, 0));
  EXPECT_FALSE(occupancy(GpuArchitecture::sm_90, {.registers = 32, .max_threads = 128}, 256, 0));
  EXPECT_FALSE(occupancy(GpuArchitecture::sm_86, {.registers = 32}, 128, 100 * 1024));
  EXPECT_TRUE(occupancy(GpuArchitecture::sm_90, {.registers = 32}, 128, 227 * 1024));
  EXPECT_FALSE(occupancy(GpuArchitecture::sm_90, {.registers = 128}, 1024, 0));
}

TEST(Ptx, FingerprintIgnoresNamesAndLines) {
  CompileService service({.pool = {.workers = 1}, .disk_cache = false});
  const auto fingerprint = [&](const std::string& source) {
    CompileRequest request;
    request.source = source;
    const CompileResult result = service.compile(request);
    EXPECT_TRUE(result.ok());
    return result.ptx_fingerprint;
  };
  const std::string one = fingerprint("__global__ void scale(float* x, float f) { x[threadIdx.x] *= f; }");
  EXPECT_EQ(one.size(), 64u);
  EXPECT_EQ(one,
            fingerprint("\n\n__global__ void other_name(float* data,\n float factor) { unsigned i = threadIdx.x;\n "
                        "data[i] = data[i] * factor; }"));
  EXPECT_NE(one, fingerprint("__global__ void scale(float* x, float f) { x[threadIdx.x] += f; }"));
  EXPECT_NE(one, fingerprint("__global__ void scale(float* x, float f) { x[threadIdx.y] *= f; }"));
  EXPECT_NE(fingerprint("__device__ int a, b; __global__ void k(int* x) { *x = a; }"),
            fingerprint("__device__ int a, b; __global__ void k(int* x) { *x = b; }"));
}

TEST(Ptx, UserPositionsReplaceCanonicalOnes) {
  LineMap lines;
  lines.positions = {{5, 2}, {6, 3}};
  EXPECT_EQ(with_user_positions(".loc 1 2 0\n.loc 2 2 7\n.loc 1 9 0\n.loc 1 1 0, function_name $x, inlined_at 1 2 "
                                "0\nret;\n}\n.file 1 \"/kernel.cu\"\n.file 2 \"a.h\"\n",
                                lines, "kernel.cu", "user.cu"),
            "\t.loc\t1 6 3\n\t.loc\t2 2 7\n\t.loc\t1 5 2, function_name $x, inlined_at 1 6 3\nret;\n}\n.file 1 "
            "\"user.cu\"\n.file 2 \"a.h\"\n");
}

}  // namespace
}  // namespace kw
