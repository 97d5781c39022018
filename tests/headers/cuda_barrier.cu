#include <cuda/barrier>
namespace use_cuda_barrier {
__device__ void f(float* shared, const float* from) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(shared, from, sizeof(float), barrier);
  barrier.arrive_and_wait();
}
}  // namespace use_cuda_barrier
