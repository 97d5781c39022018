// One block for a row; warp shuffles, then one value for a warp in shared memory.
#include <cuda_runtime.h>
#include <math_constants.h>

#define WARP 32
#define FULL_MASK 0xffffffff

template <bool kMax>
__device__ __forceinline__ float warp_reduce(float v) {
#pragma unroll
  for (int offset = WARP / 2; offset > 0; offset >>= 1) {
    const float other = __shfl_xor_sync(FULL_MASK, v, offset);
    v = kMax ? fmaxf(v, other) : v + other;
  }
  return v;
}

template <bool kMax>
__device__ float block_reduce(float v, float* shared) {
  const int lane = threadIdx.x % WARP;
  const int warp = threadIdx.x / WARP;
  v = warp_reduce<kMax>(v);
  __syncthreads();
  if (lane == 0) shared[warp] = v;
  __syncthreads();
  const int warps = blockDim.x / WARP;
  v = lane < warps ? shared[lane] : (kMax ? -CUDART_INF_F : 0.0f);
  return warp_reduce<kMax>(v);
}

__global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float shared[WARP];
  const float* in = x + static_cast<size_t>(blockIdx.x) * cols;
  float* out = y + static_cast<size_t>(blockIdx.x) * cols;
  float top = -CUDART_INF_F;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) top = fmaxf(top, in[c]);
  top = block_reduce<true>(top, shared);
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += __expf(in[c] - top);
  sum = block_reduce<false>(sum, shared);
  const float scale = 1.0f / sum;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) out[c] = __expf(in[c] - top) * scale;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int threads = cols < 1024 ? 256 : 1024;
  softmax<<<rows, threads, 0, stream>>>(x, y, rows, cols);
}
