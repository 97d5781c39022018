#include <cuda/ptx>
namespace use_cuda_ptx {
__device__ unsigned f(int x) { return cuda::ptx::get_sreg_laneid() + x; }
}  // namespace use_cuda_ptx
