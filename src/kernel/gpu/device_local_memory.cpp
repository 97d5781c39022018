// Local memory of threads between two runs. The driver keeps one pool of it for a context: so many bytes for each
// thread that can be resident, given to threads by their place on a multiprocessor. What a launch leaves there the next
// one finds. So before another run threads of our own take every place at once and overwrite as many bytes.

#include <algorithm>

#include <fmt/format.h>

#include "kernel/gpu/device_calls.h"
#include "kernel/gpu/device_session.h"

namespace kw {
namespace {

constexpr unsigned scrub_threads = 512;  // divides what a multiprocessor of any generation holds
// Of the session's counters; those below are read.
constexpr std::size_t arrived_counter = most_counters - 1;
constexpr std::uint64_t frame_unit_bytes = 16;

// Made for the size, as PTX for the driver's own compiler: the frame must be as large as the kernel's, and no larger,
// because the pool grows with the largest frame. With 32 registers a multiprocessor holds as many threads as it can. A
// block waits until all have come, so that none takes a place that another has left; not for ever, should the device
// be shared. Stores go through a pointer of which the compiler cannot know that it is the frame's: to a frame that
// nobody reads there would be none.
std::string scrub_source(std::uint64_t bytes) {
  return fmt::format(R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry kw_scrub_local(.param .u64 arrived, .param .u32 blocks, .param .u32 seed)
.maxnreg 32
{{
  .local .align 16 .b8 frame[{0}];
  .reg .pred %p<3>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd5, [arrived];
  cvta.to.global.u64 %rd1, %rd5;
  ld.param.u32 %r1, [blocks];
  ld.param.u32 %r2, [seed];
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r2, %r3, 0x9E3779B1, %r2;
  mov.u64 %rd2, frame;
  cvta.local.u64 %rd2, %rd2;
  setp.eq.u32 %p1, %r1, 0;
  selp.b64 %rd2, %rd5, %rd2, %p1;
  mov.u32 %r4, 0;
FILL:
  mad.lo.u32 %r5, %r4, 0x85EBCA6B, %r2;
  shr.u32 %r6, %r5, 15;
  xor.b32 %r5, %r5, %r6;
  mul.lo.u32 %r5, %r5, 0x2C1B3C6D;
  cvt.u64.u32 %rd3, %r4;
  add.s64 %rd4, %rd2, %rd3;
  st.volatile.u32 [%rd4], %r5;
  add.u32 %r4, %r4, 4;
  setp.lt.u32 %p1, %r4, {0};
  @%p1 bra FILL;
  bar.sync 0;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra END;
  atom.global.add.u32 %r7, [%rd1], 1;
  mov.u32 %r8, 0;
WAIT:
  ld.volatile.global.u32 %r7, [%rd1];
  setp.ge.u32 %p2, %r7, %r1;
  @%p2 bra END;
  add.u32 %r8, %r8, 1;
  setp.lt.u32 %p2, %r8, 2000;
  @%p2 bra WAIT;
END:
  bar.sync 0;
  ret;
}}
)",
                     bytes);
}

}  // namespace

Result<void> DeviceSession::prepare_local_scrub(Module& module) {
  for (const CUfunction kernel : module.kernels) {
    int bytes = 0;
    KW_CUDA(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel));
    module.local_bytes = std::max(module.local_bytes, static_cast<std::uint64_t>(std::max(bytes, 0)));
  }
  if (module.local_bytes == 0) return {};
  module.local_bytes = rounded_up(module.local_bytes, frame_unit_bytes);
  if (local_scrubs_.contains(module.local_bytes)) return {};
  CUmodule loaded = nullptr;
  CUfunction function = nullptr;
  KW_CUDA(cuModuleLoadData(&loaded, scrub_source(module.local_bytes).c_str()));
  KW_CUDA(cuModuleGetFunction(&function, loaded, "kw_scrub_local"));
  KW_CUDA(cuFuncLoad(function));
  local_scrubs_[module.local_bytes] = function;
  return {};
}

Result<void> DeviceSession::enqueue_local_scrub(const Module& module) {
  if (module.local_bytes == 0) return {};
  CUdeviceptr arrived = counters_ + arrived_counter * sizeof(std::uint64_t);
  auto blocks = static_cast<std::uint32_t>(facts_.multiprocessors) *
                std::max<std::uint32_t>(1, static_cast<std::uint32_t>(resident_threads_) / scrub_threads);
  auto seed = static_cast<std::uint32_t>(++noise_ * 0x9E3779B97F4A7C15u >> 32);
  void* arguments[] = {&arrived, &blocks, &seed};
  KW_CUDA(cuMemsetD32Async(arrived, 0, 1, stream_));
  KW_CUDA(cuLaunchKernel(local_scrubs_.at(module.local_bytes), blocks, 1, 1, scrub_threads, 1, 1, 0, stream_, arguments,
                         nullptr));
  return {};
}

}  // namespace kw
