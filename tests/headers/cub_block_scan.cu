#include <cub/block/block_scan.cuh>
namespace use_cub_block_scan {
__device__ int f(int x) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage temporary;
  int y;
  Scan(temporary).InclusiveSum(x, y);
  return y;
}
}  // namespace use_cub_block_scan
