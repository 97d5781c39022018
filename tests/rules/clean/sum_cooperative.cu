// Grid-stride loop over vectors, cooperative-groups reduction, one atomic for a block.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void sum(const float* __restrict__ x, float* __restrict__ y, int n) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  __shared__ float partial[32];
  float total = 0.0f;
  const int vectors = n / 4;
  const float4* x4 = reinterpret_cast<const float4*>(x);
  for (int i = block.thread_rank() + blockIdx.x * blockDim.x; i < vectors; i += gridDim.x * blockDim.x) {
    const float4 v = __ldg(&x4[i]);
    total += v.x + v.y + v.z + v.w;
  }
  for (int i = vectors * 4 + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) total += x[i];
  total = cg::reduce(warp, total, cg::plus<float>());
  if (warp.thread_rank() == 0) partial[warp.meta_group_rank()] = total;
  block.sync();
  if (warp.meta_group_rank() == 0) {
    total = warp.thread_rank() < warp.meta_group_size() ? partial[warp.thread_rank()] : 0.0f;
    total = cg::reduce(warp, total, cg::plus<float>());
    if (warp.thread_rank() == 0) atomicAdd(y, total);
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  int device = 0, processors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaMemsetAsync(y, 0, sizeof(float), stream);
  sum<<<2 * processors, 256, 0, stream>>>(x, y, n);
}
