#include <cooperative_groups/memcpy_async.h>
namespace use_cooperative_groups_memcpy_async_h {
namespace cg = cooperative_groups;
__device__ void f(float* shared, const float* from) {
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, shared, from, sizeof(float) * 128);
  cg::wait(block);
}
}  // namespace use_cooperative_groups_memcpy_async_h
