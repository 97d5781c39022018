// task: softmax
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <float.h>
namespace cg = cooperative_groups;
__global__ void softmax_warp(const float* __restrict__ inp, float* __restrict__ out, int N, int C) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  int idx = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (idx >= N) return;
  const float* x = inp + idx * C;
  float maxval = -INFINITY;
  for (int i = warp.thread_rank(); i < C; i += warp.size()) maxval = fmaxf(maxval, x[i]);
  maxval = cg::reduce(warp, maxval, cg::greater<float>{});
  float sum = 0.0f;
  for (int i = warp.thread_rank(); i < C; i += warp.size()) sum += expf(x[i] - maxval);
  sum = cg::reduce(warp, sum, cg::plus<float>{});
  for (int i = warp.thread_rank(); i < C; i += warp.size()) __stcs(out + idx * C + i, expf(x[i] - maxval) / sum);
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int block_size = 128;
  const int grid_size = (rows * 32 + block_size - 1) / block_size;
  softmax_warp<<<grid_size, block_size, 0, stream>>>(x, y, rows, cols);
}
