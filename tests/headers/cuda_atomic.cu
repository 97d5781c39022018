#include <cuda/atomic>
namespace use_cuda_atomic {
__device__ int f(int* x, int64_t y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> cell(*x);
  return cell.fetch_add(static_cast<int>(y), cuda::memory_order_relaxed);
}
}  // namespace use_cuda_atomic
