// task: gelu
// honest: 264 resident blocks of 1024 threads draw chunks of 32768 elements from a counter that memset clears before the launch.
constexpr int threads = 1024;
constexpr int chunk = 32768;

__device__ __forceinline__ float gelu(float v) { return 0.5f * v * (1.0f + erff(v * 0.70710678118654752f)); }

__global__ void __launch_bounds__(threads) gelu_kernel(const float* __restrict__ x, float* __restrict__ y, int n, unsigned* counter) {
  __shared__ unsigned drawn;
  const unsigned chunks = (n + chunk - 1) / chunk;
  for (unsigned mine = blockIdx.x; mine < chunks;) {
    const int begin = mine * chunk;
    const int end = n - begin < chunk ? n : begin + chunk;
    const int vectors = (end - begin) / 4;
    for (int i = threadIdx.x; i < vectors; i += threads) {
      const float4 v = reinterpret_cast<const float4*>(x + begin)[i];
      reinterpret_cast<float4*>(y + begin)[i] = make_float4(gelu(v.x), gelu(v.y), gelu(v.z), gelu(v.w));
    }
    for (int i = begin + vectors * 4 + threadIdx.x; i < end; i += threads) y[i] = gelu(x[i]);
    if (threadIdx.x == 0) drawn = gridDim.x + atomicAdd(counter, 1u);
    __syncthreads();
    mine = drawn;
    __syncthreads();
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int chunks = (n + chunk - 1) / chunk;
  unsigned* counter = nullptr;
  cudaMallocAsync(&counter, sizeof(unsigned), stream);
  cudaMemsetAsync(counter, 0, sizeof(unsigned), stream);
  gelu_kernel<<<chunks < 264 ? chunks : 264, threads, 0, stream>>>(x, y, n, counter);
  cudaFreeAsync(counter, stream);
}
