#include <cub/block/block_load.cuh>
namespace use_cub_block_load {
__device__ int f(const int* x) {
  using Load = cub::BlockLoad<int, 128, 2, cub::BLOCK_LOAD_TRANSPOSE>;
  __shared__ typename Load::TempStorage temporary;
  int items[2];
  Load(temporary).Load(x, items);
  return items[0] + items[1];
}
}  // namespace use_cub_block_load
