// A kernel of our own through all that the driver may load late, before anybody else's comes.

#include <cstring>

#include "kernel/gpu/device_calls.h"
#include "kernel/gpu/device_session.h"

namespace kw {
namespace {

// PTX, so that the driver's own compiler is loaded: modules for other GPUs than this one need it later. The oldest
// target that present compilers know; newer GPUs run it.
constexpr const char* store_42 =
    ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry store_42(.param .u64 place)\n{\n"
    ".reg .b32 %r<2>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [place];\ncvta.to.global.u64 %rd2, %rd1;\n"
    "mov.u32 %r1, 42;\nst.global.u32 [%rd2], %r1;\nret;\n}\n";

}  // namespace

Result<void> DeviceSession::try_out() {
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUdeviceptr place = 0;
  void* host = nullptr;
  KW_CUDA(cuModuleLoadData(&module, store_42));
  KW_CUDA(cuModuleGetFunction(&kernel, module, "store_42"));
  KW_CUDA(cuMemAlloc_v2(&place, sizeof(std::uint32_t)));
  KW_CUDA(cuMemAllocHost_v2(&host, sizeof(std::uint32_t)));
  void* parameters[] = {&place};
  KW_CUDA(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream_, parameters, nullptr));
  KW_CUDA(cuMemcpyDtoHAsync_v2(host, place, sizeof(std::uint32_t), stream_));
  KW_CUDA(cuEventRecord(events_.front(), stream_));
  KW_CUDA(cuEventSynchronize(events_.front()));
  std::uint32_t stored = 0;
  std::memcpy(&stored, host, sizeof stored);
  KW_CUDA(cuMemFreeHost(host));
  KW_CUDA(cuMemFree_v2(place));
  KW_CUDA(cuModuleUnload(module));
  if (stored != 42) return refused("a kernel that stores 42 stored something else");
  return {};
}

}  // namespace kw
