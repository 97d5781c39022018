// The library is used as the GPU backend uses it: loaded by name through kw::cuda_driver(). A fault is sticky for the
// process, so tests that cause one run in a process of their own.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kernel/gpu/driver.h"

namespace kw {
namespace {

// k(a, b, n): %rd1 and %rd2 are the pointers, %r1 is n, %r2 the thread of the grid, %rd3 its offset in floats.
std::string ptx(const std::string& body, const std::string& declarations = "") {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + declarations +
         "\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n"
         ".reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<8>;\n"
         "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u32 %r1, [n];\n"
         "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\nmad.lo.s32 %r2, %r3, %r4, %r5;\n"
         "mul.wide.u32 %rd3, %r2, 4;\n" +
         body + "\nret;\n}\n";
}

// b[i] += a[i] for i < n
const std::string add_body =
    "setp.ge.u32 %p1, %r2, %r1;\n@%p1 ret;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
    "ld.global.f32 %f1, [%rd4];\nld.global.f32 %f2, [%rd5];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd5], %f3;\n";

std::size_t resident_bytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

class EmulatedDriver : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("KERNELWRIGHT_LIBCUDA", KW_EMULATED_DRIVER, 1);
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  }

  void SetUp() override {
    ASSERT_TRUE(cuda_driver().ok()) << to_string(cuda_driver().error());
    ASSERT_EQ(cu.cuInit(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cu.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
    ASSERT_EQ(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }

  CUfunction kernel(const std::string& text) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(cu.cuModuleLoadData(&module, text.c_str()), CUDA_SUCCESS) << text;
    EXPECT_EQ(cu.cuModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
    return function;
  }
  CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cu.cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  CUdeviceptr upload(const std::vector<float>& values) {
    const CUdeviceptr address = allocate(values.size() * sizeof(float));
    EXPECT_EQ(cu.cuMemcpyHtoDAsync_v2(address, values.data(), values.size() * sizeof(float), stream), CUDA_SUCCESS);
    return address;
  }
  template <class T = float>
  std::vector<T> download(CUdeviceptr address, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(cu.cuMemcpyDtoHAsync_v2(values.data(), address, count * sizeof(T), stream), CUDA_SUCCESS);
    EXPECT_EQ(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
    return values;
  }
  CUresult launch(CUfunction function, CUdeviceptr a, CUdeviceptr b, std::uint32_t n, std::uint32_t grid = 1,
                  std::uint32_t block = 32, std::uint32_t shared_bytes = 0) {
    void* parameters[] = {&a, &b, &n};
    return cu.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared_bytes, stream, parameters, nullptr);
  }
  // What a kernel with this body, run over `a` of 32 floats, leaves behind; for a process of its own.
  [[noreturn]] void exit_with_fault(const std::string& body, const std::string& declarations = "") {
    const CUdeviceptr a = allocate(128);
    const CUresult launched = launch(kernel(ptx(body, declarations)), a, a, 32);
    const CUresult synchronised = cu.cuStreamSynchronize(stream);
    CUdeviceptr more = 0;
    const bool sticky = cu.cuMemAlloc_v2(&more, 16) == synchronised && cu.cuCtxSynchronize() == synchronised;
    std::fprintf(stderr, "[%s %s %s]", cu.describe(launched).c_str(), cu.describe(synchronised).c_str(),
                 sticky ? "sticky" : "gone");
    std::_Exit(0);
  }

  const Driver& cu = *cuda_driver();
  CUstream stream = nullptr;
};

TEST_F(EmulatedDriver, DescribesItsDevice) {
  int count = 0, major = 0, pageable = 1;
  char name[64];
  std::size_t bytes = 0;
  EXPECT_EQ(cu.cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(cu.cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, "Kernelwright emulated GPU");
  EXPECT_EQ(cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
  EXPECT_EQ(major, 9);
  EXPECT_EQ(cu.cuDeviceGetAttribute(&pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0), CUDA_SUCCESS);
  EXPECT_EQ(pageable, 0);
  EXPECT_EQ(cu.cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(bytes, std::size_t{1} << 30);
  CUdevice none = 0;
  EXPECT_EQ(cu.cuDeviceGet(&none, 1), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(EmulatedDriver, NamesErrors) {
  EXPECT_EQ(cu.describe(CUDA_ERROR_ILLEGAL_ADDRESS),
            "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
  EXPECT_EQ(cu.describe(static_cast<CUresult>(12345)), "unknown error");
}

TEST_F(EmulatedDriver, AddsVectors) {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0f);
  const CUdeviceptr a = upload(values), b = upload(std::vector<float>(1000, 0.5f));
  ASSERT_EQ(launch(kernel(ptx(add_body)), a, b, 1000, 8, 128), CUDA_SUCCESS);
  const std::vector<float> sums = download(b, 1000);
  for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], values[i] + 0.5f);
}

TEST_F(EmulatedDriver, FillsAndCopies) {
  const CUdeviceptr a = allocate(64), b = allocate(64);
  ASSERT_EQ(cu.cuMemsetD32Async(a, 0x01020304, 16, stream), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuMemsetD8Async(a + 4, 0xff, 2, stream), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuMemcpyDtoDAsync_v2(b, a, 64, stream), CUDA_SUCCESS);
  const auto words = download<std::uint32_t>(b, 16);
  EXPECT_EQ(words[0], 0x01020304u);
  EXPECT_EQ(words[1], 0x0102ffffu);
  EXPECT_EQ(words[15], 0x01020304u);

  EXPECT_EQ(cu.cuMemsetD8Async(a, 0, 65, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuMemsetD32Async(a + 2, 0, 1, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuMemcpyDtoDAsync_v2(b + 1, a, 64, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuMemcpyHtoDAsync_v2(a, words.data(), 68, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuMemFree_v2(a + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuMemFree_v2(a), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuCtxSynchronize(), CUDA_SUCCESS);  // none of these is sticky
}

TEST_F(EmulatedDriver, LargeAllocationsAreCheapUntilTouched) {
  const std::size_t bytes = std::size_t{256} << 20;
  std::size_t most = 0;
  const std::size_t before = resident_bytes();
  for (int i = 0; i < 20; ++i) {
    const CUdeviceptr arena = allocate(bytes);
    ASSERT_EQ(cu.cuMemsetD8Async(arena + bytes / 2, 1, 4096, stream), CUDA_SUCCESS);
    ASSERT_EQ(launch(kernel(ptx(add_body)), arena, arena + bytes / 2, 32), CUDA_SUCCESS);
    most = std::max(most, resident_bytes());
    ASSERT_EQ(cu.cuMemFree_v2(arena), CUDA_SUCCESS);
  }
  EXPECT_LT(most, before + bytes / 4) << "memory that nobody touched was touched";
  CUdeviceptr none = 0;
  EXPECT_EQ(cu.cuMemAlloc_v2(&none, std::size_t{2} << 30), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(EmulatedDriver, RefusesImages) {
  CUmodule module = nullptr;
  EXPECT_EQ(cu.cuModuleLoadData(&module,
                                "\x7f"
                                "ELF\2\1\1"),
            CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cu.cuModuleLoadData(&module, "hello"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cu.cuModuleLoadData(&module, ptx("add.u32 %r6, ;\n").c_str()), CUDA_ERROR_INVALID_PTX);
  ASSERT_EQ(cu.cuModuleLoadData(&module, ptx("").c_str()), CUDA_SUCCESS);
  CUfunction function = nullptr;
  EXPECT_EQ(cu.cuModuleGetFunction(&function, module, "other"), CUDA_ERROR_NOT_FOUND);
  ASSERT_EQ(cu.cuModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuFuncLoad(function), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuFuncLoad(function), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(EmulatedDriver, RefusesLaunches) {
  const CUfunction function = kernel(ptx(""));
  EXPECT_EQ(launch(function, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(function, 0, 0, 0, 1, 1025), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(function, 0, 0, 0, 1, 32, 100 << 10), CUDA_ERROR_INVALID_VALUE);
  const auto shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_EQ(cu.cuFuncSetAttribute(function, shared, 228 << 10), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuFuncSetAttribute(function, shared, 100 << 10), CUDA_SUCCESS);
  EXPECT_EQ(launch(function, 0, 0, 0, 1, 32, 100 << 10), CUDA_SUCCESS);
  CUdeviceptr a = 0;
  std::uint32_t n = 0;
  void* parameters[] = {&a, &a, &n};
  EXPECT_EQ(cu.cuLaunchCooperativeKernel(function, 4, 1, 1, 1024, 1, 1, 0, stream, parameters), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuLaunchCooperativeKernel(function, 9, 1, 1, 1024, 1, 1, 0, stream, parameters),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(cu.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(EmulatedDriver, ReplaysGraphs) {
  const CUfunction function = kernel(ptx(add_body));
  const CUdeviceptr a = upload(std::vector<float>(64, 2.0f)), b = upload(std::vector<float>(64, 7.0f));
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuMemsetD32Async(b, 0, 64, stream), CUDA_SUCCESS);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(launch(function, a, b, 64, 2), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(download(b, 64), std::vector<float>(64, 7.0f));  // nothing has run yet
  ASSERT_EQ(cu.cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuGraphDestroy(graph), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuGraphUpload(executable, stream), CUDA_SUCCESS);

  std::vector<float> times_ms;
  CUevent start = nullptr, end = nullptr;
  ASSERT_EQ(cu.cuEventCreate(&start, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuEventCreate(&end, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(cu.cuEventRecord(start, stream), CUDA_SUCCESS);
    ASSERT_EQ(cu.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    ASSERT_EQ(cu.cuEventRecord(end, stream), CUDA_SUCCESS);
    ASSERT_EQ(cu.cuEventSynchronize(end), CUDA_SUCCESS);
    float time_ms = 0;
    ASSERT_EQ(cu.cuEventElapsedTime(&time_ms, start, end), CUDA_SUCCESS);
    EXPECT_NEAR(time_ms, 0.0225, 0.0005);  // eleven pieces of work at 2 us, and the event
    times_ms.push_back(time_ms);
    EXPECT_EQ(download(b, 64), std::vector<float>(64, 20.0f));
  }
  EXPECT_NE(times_ms[0], times_ms[1]);
  EXPECT_EQ(cu.cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuGraphLaunch(executable, stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(EmulatedDriver, CapturesAreSpoiledByWaiting) {
  CUgraph graph = nullptr;
  ASSERT_EQ(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cu.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cu.cuStreamSynchronize(stream), CUDA_SUCCESS);
}

TEST_F(EmulatedDriver, ModulesKeepTheirVariables) {
  // b[0] = ++counter
  const std::string count =
      "ld.global.u32 %r6, [counter];\nadd.u32 %r6, %r6, 1;\nst.global.u32 [counter], %r6;\n"
      "st.global.u32 [%rd2], %r6;\n";
  const CUfunction from_0 = kernel(ptx(count, ".global .u32 counter = 0;\n"));
  const CUfunction from_10 = kernel(ptx(count, ".global .u32 other = 5;\n.global .u32 counter = 10;\n"));
  const CUfunction without = kernel(ptx(""));
  const CUdeviceptr b = allocate(4);
  for (std::uint32_t i = 1; i < 4; ++i) {
    ASSERT_EQ(launch(from_0, 0, b, 0, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(b, 1)[0], i);
    ASSERT_EQ(launch(from_10, 0, b, 0, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(download<std::uint32_t>(b, 1)[0], 10 + i);
    ASSERT_EQ(launch(without, 0, b, 0, 1, 1), CUDA_SUCCESS);
  }
}

TEST_F(EmulatedDriver, RacesAndUndefinedValuesAreNoFaults) {
  const CUdeviceptr b = allocate(4);
  // All threads store their own number in the same place; one branches on shared memory that nobody wrote.
  const CUfunction function =
      kernel(ptx("st.global.u32 [%rd2], %r5;\nld.shared.u32 %r6, [tile];\nsetp.eq.u32 %p1, %r6, 5;\n@%p1 trap;\n",
                 ".shared .align 4 .b8 tile[64];\n"));
  ASSERT_EQ(launch(function, 0, b, 0, 4, 64), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(EmulatedDriver, ForkedProcessesCannotUseIt) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(cu.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(EmulatedDriver, InstructionsThatAreNotEmulatedAreNotSupported) {
  EXPECT_EQ(launch(kernel(ptx("fly.away %r1;\n")), 0, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cu.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(EmulatedDriver, EachThreadNeedsTheContext) {
  std::thread([&] {
    CUdeviceptr address = 0;
    EXPECT_EQ(cu.cuMemAlloc_v2(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
}

using EmulatedDriverDeathTest = EmulatedDriver;

TEST_F(EmulatedDriverDeathTest, OutOfBoundsIsStickyAndComesAfterTheLaunch) {
  EXPECT_EXIT(exit_with_fault("ld.global.u32 %r6, [%rd1+4096];\n"), ::testing::ExitedWithCode(0),
              "\\[CUDA_SUCCESS: no error CUDA_ERROR_ILLEGAL_ADDRESS: .* sticky\\]");
}

TEST_F(EmulatedDriverDeathTest, OtherFaults) {
  EXPECT_EXIT(exit_with_fault("ld.global.u32 %r6, [%rd1+2];\n"), ::testing::ExitedWithCode(0),
              "CUDA_ERROR_MISALIGNED_ADDRESS: .* sticky");
  EXPECT_EXIT(exit_with_fault("mov.u64 %rd1, 0;\nst.global.u32 [%rd1], %r1;\n"), ::testing::ExitedWithCode(0),
              "CUDA_ERROR_ILLEGAL_ADDRESS: .* sticky");
  EXPECT_EXIT(exit_with_fault("trap;\n"), ::testing::ExitedWithCode(0), "CUDA_ERROR_LAUNCH_FAILED: .* sticky");
  EXPECT_EXIT(exit_with_fault("{\n.param .b64 message;\nst.param.b64 [message], %rd1;\n"
                              "call.uni __assertfail, (message);\n}\n",
                              ".extern .func __assertfail(.param .b64 message);\n"),
              ::testing::ExitedWithCode(0), "CUDA_ERROR_ASSERT: .* sticky");
}

TEST_F(EmulatedDriverDeathTest, EndlessKernelsHang) {
  EXPECT_EXIT(
      {
        ::alarm(1);
        exit_with_fault("again:\nbra again;\n");
      },
      ::testing::KilledBySignal(SIGALRM), "");
  EXPECT_EXIT(
      {
        ::alarm(1);
        exit_with_fault("bar.sync 1, 64;\n");
      },
      ::testing::KilledBySignal(SIGALRM), "");
}

}  // namespace
}  // namespace kw
