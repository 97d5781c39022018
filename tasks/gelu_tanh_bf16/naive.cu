#include <cuda_bf16.h>

__device__ float gelu_tanh(float v) {
  float inner = 0.79788456080286536f * (v + 0.044715f * v * v * v);
  return 0.5f * v * (1.0f + tanhf(inner));
}

// One thread handles one element, in float.
__global__ void gelu_tanh_all(const __nv_bfloat16* x, __nv_bfloat16* y, int total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < total) y[i] = __float2bfloat16(gelu_tanh(__bfloat162float(x[i])));
}

extern "C" void launch(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int cols, cudaStream_t stream) {
  const int total = rows * cols;
  const dim3 block(256, 1, 1);
  const dim3 grid((total + 255) / 256, 1, 1);
  gelu_tanh_all<<<grid, block, 0, stream>>>(x, y, total);
}
