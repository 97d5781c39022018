#include <cub/warp/warp_reduce.cuh>
namespace use_cub_warp_reduce {
__device__ int f(int x) {
  using Reduce = cub::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage temporary;
  return Reduce(temporary).Sum(x);
}
}  // namespace use_cub_warp_reduce
