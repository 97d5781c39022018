#include <cooperative_groups/reduce.h>
namespace use_cooperative_groups_reduce_h {
namespace cg = cooperative_groups;
__device__ float f(float x, unsigned y) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  return cg::reduce(tile, x, cg::plus<float>()) + cg::reduce(tile, y, cg::greater<unsigned>());
}
}  // namespace use_cooperative_groups_reduce_h
