// task: softmax
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
namespace cg = cooperative_groups;
using namespace nvcuda;
#ifdef __CUDA_ARCH__
#define ON_DEVICE 1
#else
#define ON_DEVICE 0
#endif
template <typename T>
struct Vec { T v[4]; __device__ T sum() const { return v[0] + v[1] + v[2] + v[3]; } };
__device__ __forceinline__ float warp_sum(cg::thread_block_tile<32> tile, float v) {
  for (int offset = 16; offset > 0; offset /= 2) v += tile.shfl_down(v, offset);
  return v;
}
__device__ float table[4] = {1, 2, 3, 4};
__constant__ int limits[2];
template <int TILE, typename T = float>
__global__ void __launch_bounds__(TILE * 8) rows_sum(const T* __restrict__ x, T* __restrict__ y, int cols) {
  __shared__ T part[TILE];
  extern __shared__ char raw[];
  auto block = cg::this_thread_block();
  part[threadIdx.x % TILE] = x[blockIdx.x * cols] + table[0] + limits[0] + (T)raw[0];
  block.sync();
  y[blockIdx.x] = part[0];
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  static constexpr int kTile = 32;
  const unsigned int threads = kTile * (ON_DEVICE ? 1 : 4);
  rows_sum<kTile><<<rows, threads, kTile * sizeof(float), stream>>>(x, y, cols);
}
