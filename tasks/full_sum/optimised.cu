// Two launches of one kernel: a grid that fills the machine once adds up strided float4s, then one block adds up the
// blocks' sums. No atomics: the order of the additions is fixed, so the result is the same every time.
constexpr int warp_size = 32;
constexpr int threads = 512;
constexpr int warps = threads / warp_size;

__device__ float warp_sum(float value) {
  for (int offset = warp_size / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

__device__ float block_sum(float value) {
  __shared__ float partial[warps];
  const int lane = threadIdx.x % warp_size;
  value = warp_sum(value);
  if (lane == 0) partial[threadIdx.x / warp_size] = value;
  __syncthreads();
  return warp_sum(lane < warps ? partial[lane] : 0.0f);
}

// Writes one sum a block.
__global__ void __launch_bounds__(threads) sum_all(const float* __restrict__ x, float* __restrict__ sums, int n) {
  const int first = blockIdx.x * threads + threadIdx.x;
  const int stride = gridDim.x * threads;
  const int quads = n / 4;
  float sum = 0.0f;
#pragma unroll 4
  for (int i = first; i < quads; i += stride) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  if (first < n % 4) sum += x[4 * quads + first];
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  constexpr int most_blocks = 528;  // four a multiprocessor of an H200
  const int wanted = (n / 4 + threads - 1) / threads;
  const int blocks = wanted < 1 ? 1 : wanted > most_blocks ? most_blocks : wanted;
  float* sums = nullptr;
  cudaMallocAsync(&sums, blocks * sizeof(float), stream);
  sum_all<<<blocks, threads, 0, stream>>>(x, sums, n);
  sum_all<<<1, threads, 0, stream>>>(sums, y, blocks);
  cudaFreeAsync(sums, stream);
}
