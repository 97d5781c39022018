#include <cub/cub.cuh>
namespace use_cub_all {
__device__ int f(int x) {
  using Reduce = cub::BlockReduce<int, 64>;
  __shared__ typename Reduce::TempStorage temporary;
  return Reduce(temporary).Reduce(x, cuda::maximum<>{});
}
}  // namespace use_cub_all
