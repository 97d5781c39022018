#include <cuda/std/atomic>
namespace use_cuda_std_atomic {
__device__ int f(int* x) { return cuda::std::atomic_ref<int>(*x).load(); }
}  // namespace use_cuda_std_atomic
