#include <cooperative_groups.h>
namespace use_cooperative_groups_h {
namespace cg = cooperative_groups;
__device__ float f(float x) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  for (uint32_t i = tile.size() / 2; i > 0; i /= 2) x += tile.shfl_down(x, i);
  block.sync();
  return x > FLT_MAX ? 0.0f : x + cg::coalesced_threads().thread_rank();
}
}  // namespace use_cooperative_groups_h
