#pragma once
// A GPU with two tiny kernels, for the tests that need one: the CUDA driver bound at run time, kernels as PTX text.

#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

// CUPTI loads its own parts with RTLD_DEEPBIND, at which the address sanitizer ends the process.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool cupti_can_be_loaded = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool cupti_can_be_loaded = false;
#else
inline constexpr bool cupti_can_be_loaded = true;
#endif
#else
inline constexpr bool cupti_can_be_loaded = true;
#endif

// c[i] = a[i] + b[i], and a read of every 32nd element: each load of a warp touches 32 sectors instead of 4.
inline constexpr const char* test_kernels = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p ret;
  mul.wide.u32 %rd4, %r5, 4;
  add.u64 %rd5, %rd1, %rd4;
  add.u64 %rd6, %rd2, %rd4;
  add.u64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
  ret;
}

.visible .entry strided_read(.param .u64 a, .param .u64 c, .param .u32 n)
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<7>;
  .reg .f32 %f<2>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [c];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  shl.b32 %r6, %r5, 5;
  sub.u32 %r7, %r1, 1;
  and.b32 %r8, %r6, %r7;
  mul.wide.u32 %rd3, %r8, 4;
  mul.wide.u32 %rd4, %r5, 4;
  add.u64 %rd5, %rd1, %rd3;
  add.u64 %rd6, %rd2, %rd4;
  ld.global.f32 %f1, [%rd5];
  st.global.f32 [%rd6], %f1;
  ret;
}
)";

class GpuForTests {
 public:
  static constexpr std::uint32_t count = 1u << 24;  // floats in each of three arrays; a power of two
  static constexpr std::uint32_t strided_threads = 1u << 19;
  static constexpr unsigned block = 256;

  GpuForTests() = default;
  GpuForTests(const GpuForTests&) = delete;
  GpuForTests& operator=(const GpuForTests&) = delete;
  ~GpuForTests() {
    for (const CUdeviceptr array : {a_, b_, c_})
      if (array != 0) free_(array);
    if (module_ != nullptr) unload_(module_);
    if (context_ != nullptr) release_(0);
  }

  // Why there is no GPU to test on; empty when there is one.
  std::string open() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return "there is no libcuda.so.1";
    const bool bound = bind(library, "cuInit", init_) && bind(library, "cuDevicePrimaryCtxRetain", retain_) &&
                       bind(library, "cuDevicePrimaryCtxRelease_v2", release_) &&
                       bind(library, "cuCtxSetCurrent", set_current_) &&
                       bind(library, "cuCtxSynchronize", synchronize_) && bind(library, "cuModuleLoadData", load_) &&
                       bind(library, "cuModuleUnload", unload_) && bind(library, "cuModuleGetFunction", function_) &&
                       bind(library, "cuMemAlloc_v2", allocate_) && bind(library, "cuMemFree_v2", free_) &&
                       bind(library, "cuMemsetD32_v2", fill_) && bind(library, "cuMemcpyDtoH_v2", to_host_) &&
                       bind(library, "cuLaunchKernel", launch_) && bind(library, "cuGetErrorName", error_name_);
    if (!bound) return "libcuda.so.1 is not complete";
    if (const CUresult result = init_(0); result != CUDA_SUCCESS) return check("cuInit", result).error().message;
    const Result<void> ready = prepare();
    return ready.ok() ? "" : ready.error().message;
  }

  CUcontext context() const { return context_; }

  Result<void> vector_add() {
    std::uint32_t n = count;
    void* parameters[] = {&a_, &b_, &c_, &n};
    return launch("vector_add", add_, count / block, parameters);
  }
  Result<void> strided_read() {
    std::uint32_t n = count;
    void* parameters[] = {&a_, &c_, &n};
    return launch("strided_read", strided_, strided_threads / block, parameters);
  }
  Result<void> fill_inputs(float a, float b) {
    KW_TRY_VOID(check("cuMemsetD32", fill_(a_, bits(a), count)));
    KW_TRY_VOID(check("cuMemsetD32", fill_(b_, bits(b), count)));
    KW_TRY_VOID(check("cuMemsetD32", fill_(c_, 0, count)));
    return check("cuCtxSynchronize", synchronize_());
  }
  Result<std::vector<float>> output() {
    std::vector<float> values(count);
    KW_TRY_VOID(check("cuMemcpyDtoH", to_host_(values.data(), c_, count * sizeof(float))));
    return values;
  }

 private:
  template <class Function>
  static bool bind(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
  }
  static unsigned bits(float value) {
    unsigned result = 0;
    static_assert(sizeof result == sizeof value);
    __builtin_memcpy(&result, &value, sizeof value);
    return result;
  }
  Result<void> check(const char* function, CUresult result) const {
    if (result == CUDA_SUCCESS) return {};
    const char* name = nullptr;
    error_name_(result, &name);
    return Error{std::string(function) + ": " + (name != nullptr ? name : "unknown error"), "", {}};
  }
  Result<void> prepare() {
    KW_TRY_VOID(check("cuDevicePrimaryCtxRetain", retain_(&context_, 0)));
    KW_TRY_VOID(check("cuCtxSetCurrent", set_current_(context_)));
    KW_TRY_VOID(check("cuModuleLoadData", load_(&module_, test_kernels)));
    KW_TRY_VOID(check("cuModuleGetFunction", function_(&add_, module_, "vector_add")));
    KW_TRY_VOID(check("cuModuleGetFunction", function_(&strided_, module_, "strided_read")));
    for (CUdeviceptr* array : {&a_, &b_, &c_})
      KW_TRY_VOID(check("cuMemAlloc", allocate_(array, count * sizeof(float))));
    return fill_inputs(1, 2);
  }
  Result<void> launch(const char* name, CUfunction kernel, unsigned blocks, void** parameters) {
    KW_TRY_VOID(check(name, launch_(kernel, blocks, 1, 1, block, 1, 1, 0, nullptr, parameters, nullptr)));
    return check(name, synchronize_());
  }

  CUresult (*init_)(unsigned) = nullptr;
  CUresult (*retain_)(CUcontext*, CUdevice) = nullptr;
  CUresult (*release_)(CUdevice) = nullptr;
  CUresult (*set_current_)(CUcontext) = nullptr;
  CUresult (*synchronize_)() = nullptr;
  CUresult (*load_)(CUmodule*, const void*) = nullptr;
  CUresult (*unload_)(CUmodule) = nullptr;
  CUresult (*function_)(CUfunction*, CUmodule, const char*) = nullptr;
  CUresult (*allocate_)(CUdeviceptr*, std::size_t) = nullptr;
  CUresult (*free_)(CUdeviceptr) = nullptr;
  CUresult (*fill_)(CUdeviceptr, unsigned, std::size_t) = nullptr;
  CUresult (*to_host_)(void*, CUdeviceptr, std::size_t) = nullptr;
  CUresult (*launch_)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                      void**, void**) = nullptr;
  CUresult (*error_name_)(CUresult, const char**) = nullptr;

  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction add_ = nullptr;
  CUfunction strided_ = nullptr;
  CUdeviceptr a_ = 0;
  CUdeviceptr b_ = 0;
  CUdeviceptr c_ = 0;
};

}  // namespace kw
