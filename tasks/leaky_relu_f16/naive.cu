#include <cuda_fp16.h>

// One thread handles one element, in float.
__global__ void leaky_relu(const __half* x, float slope, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = __half2float(x[i]);
    y[i] = __float2half(v > 0.0f ? v : v * slope);
  }
}

extern "C" void launch(const __half* x, float slope, __half* y, int n, cudaStream_t stream) {
  const int threads = 128;
  dim3 grid(static_cast<unsigned>((n + threads - 1) / threads));
  leaky_relu<<<grid, threads, 0, stream>>>(x, slope, y, n);
}
