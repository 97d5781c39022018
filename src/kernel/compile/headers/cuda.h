#pragma once
// The driver's header. Its functions are for the host; device code sees a few of its types and the version.
#include <cstddef>
#include <cstdint>
#define CUDA_VERSION CUDART_VERSION
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUstream_st* CUstream;
