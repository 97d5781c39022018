#include <cub/block/block_reduce.cuh>
namespace use_cub_block_reduce {
__device__ int f(int x) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage temporary;
  return Reduce(temporary).Sum(x);
}
}  // namespace use_cub_block_reduce
