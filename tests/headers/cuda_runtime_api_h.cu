#include <cuda_runtime_api.h>
namespace use_cuda_runtime_api_h {
__device__ cudaError_t f(int x, cudaStream_t s) { return x || s ? cudaSuccess : cudaErrorInvalidValue; }
}  // namespace use_cuda_runtime_api_h
