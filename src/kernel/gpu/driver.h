#pragma once
// The CUDA driver, loaded at run time, so that one program serves machines with and without a GPU.

#include <cuda.h>

#include <string>

#include "base/result.h"

namespace kw {

// The functions that we use, under the names by which the library exports them.
#define KW_DRIVER_FUNCTIONS(X)     \
  X(cuInit)                        \
  X(cuDriverGetVersion)            \
  X(cuGetErrorName)                \
  X(cuGetErrorString)              \
  X(cuDeviceGetCount)              \
  X(cuDeviceGet)                   \
  X(cuDeviceGetName)               \
  X(cuDeviceGetUuid_v2)            \
  X(cuDeviceGetAttribute)          \
  X(cuDeviceTotalMem_v2)           \
  X(cuDevicePrimaryCtxRetain)      \
  X(cuDevicePrimaryCtxSetFlags_v2) \
  X(cuCtxSetCurrent)               \
  X(cuCtxSynchronize)              \
  X(cuCtxSetLimit)                 \
  X(cuCtxResetPersistingL2Cache)   \
  X(cuModuleLoadData)              \
  X(cuModuleUnload)                \
  X(cuModuleGetFunction)           \
  X(cuModuleGetGlobal_v2)          \
  X(cuFuncSetAttribute)            \
  X(cuFuncGetAttribute)            \
  X(cuFuncLoad)                    \
  X(cuMemAlloc_v2)                 \
  X(cuMemFree_v2)                  \
  X(cuMemAllocHost_v2)             \
  X(cuMemFreeHost)                 \
  X(cuMemcpyHtoDAsync_v2)          \
  X(cuMemcpyDtoHAsync_v2)          \
  X(cuMemcpyDtoDAsync_v2)          \
  X(cuMemsetD8Async)               \
  X(cuMemsetD32Async)              \
  X(cuStreamCreate)                \
  X(cuStreamSynchronize)           \
  X(cuStreamBeginCapture_v2)       \
  X(cuStreamEndCapture)            \
  X(cuGraphInstantiateWithFlags)   \
  X(cuGraphUpload)                 \
  X(cuGraphLaunch)                 \
  X(cuGraphExecDestroy)            \
  X(cuGraphDestroy)                \
  X(cuEventCreate)                 \
  X(cuEventRecord)                 \
  X(cuEventSynchronize)            \
  X(cuEventElapsedTime)            \
  X(cuLaunchKernel)                \
  X(cuLaunchCooperativeKernel)

struct Driver {
#define KW_DRIVER_MEMBER(name) decltype(&::name) name = nullptr;
  KW_DRIVER_FUNCTIONS(KW_DRIVER_MEMBER)
#undef KW_DRIVER_MEMBER
  decltype(&::cuLaunchKernelEx) cuLaunchKernelEx = nullptr;  // null where the driver lacks it

  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string describe(CUresult result) const;
};

// Loads libcuda.so.1 (or what KERNELWRIGHT_LIBCUDA names), once; the error says why there is none. Calls nothing in it.
const Result<Driver>& cuda_driver();

}  // namespace kw
