// task: row_sum
template <const int kWarpSize = 32>
__device__ __forceinline__ float warp_reduce_sum_f32(float val) {
#pragma unroll
  for (int mask = kWarpSize >> 1; mask >= 1; mask >>= 1) val += __shfl_xor_sync(0xffffffff, val, mask);
  return val;
}
template <const int NUM_THREADS = 256>
__global__ void block_sum(const float* a, float* y, int cols) {
  constexpr int NUM_WARPS = (NUM_THREADS + 31) / 32;
  __shared__ float reduce_smem[NUM_WARPS];
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += NUM_THREADS) sum += a[blockIdx.x * cols + i];
  int warp = threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  sum = warp_reduce_sum_f32<32>(sum);
  if (lane == 0) reduce_smem[warp] = sum;
  __syncthreads();
  sum = (lane < NUM_WARPS) ? reduce_smem[lane] : 0.0f;
  if (warp == 0) sum = warp_reduce_sum_f32<NUM_WARPS>(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  constexpr int NT = 256;
  block_sum<NT><<<rows, NT, 0, stream>>>(x, y, cols);
}
