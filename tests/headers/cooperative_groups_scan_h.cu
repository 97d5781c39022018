#include <cooperative_groups/scan.h>
namespace use_cooperative_groups_scan_h {
namespace cg = cooperative_groups;
__device__ int f(int x) {
  return cg::inclusive_scan(cg::tiled_partition<32>(cg::this_thread_block()), x, cg::plus<int>());
}
}  // namespace use_cooperative_groups_scan_h
