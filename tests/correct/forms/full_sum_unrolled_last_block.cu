// task: full_sum
// honest: 264 blocks sum eight values at a time while that many are left, the block that draws the last ticket adds the partial sums.
constexpr int threads = 512;

__device__ float block_sum(float value, float* slots) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < threads / 32 ? slots[threadIdx.x] : 0.0f;
  if (threadIdx.x < 32) {
    for (int step = 8; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  }
  __syncthreads();
  return value;
}

__global__ void __launch_bounds__(threads) sum_kernel(const float* __restrict__ x, float* partial, unsigned* ticket, float* y, int n) {
  __shared__ float slots[threads / 32];
  __shared__ bool last;
  const size_t stride = (size_t)gridDim.x * threads;
  size_t i = (size_t)blockIdx.x * threads + threadIdx.x;
  float sums[8] = {};
  for (; i + 7 * stride < n; i += 8 * stride) {
#pragma unroll
    for (int e = 0; e < 8; ++e) sums[e] += x[i + e * stride];
  }
  for (; i < n; i += stride) sums[0] += x[i];
  float sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  sum = block_sum(sum, slots);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0.0f;
  for (int b = threadIdx.x; b < gridDim.x; b += threads) sum += partial[b];
  sum = block_sum(sum, slots);
  if (threadIdx.x == 0) y[0] = sum;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  int blocks = (n + threads - 1) / threads;
  if (blocks > 264) blocks = 264;
  float* partial;
  unsigned* ticket;
  cudaMallocAsync(&partial, blocks * sizeof(float), stream);
  cudaMallocAsync(&ticket, sizeof(unsigned), stream);
  cudaMemsetAsync(ticket, 0, sizeof(unsigned), stream);
  sum_kernel<<<blocks, threads, 0, stream>>>(x, partial, ticket, y, n);
  cudaFreeAsync(ticket, stream);
  cudaFreeAsync(partial, stream);
}
