#include <cuda_bf16.h>

// One thread computes one gated element, in float.
__global__ void swiglu_gate(const __nv_bfloat16* gate, const __nv_bfloat16* up, __nv_bfloat16* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (row >= rows || col >= cols) return;
  int i = row * cols + col;
  float g = __bfloat162float(gate[i]);
  float u = __bfloat162float(up[i]);
  y[i] = __float2bfloat16(g / (1.0f + expf(-g)) * u);
}

extern "C" void launch(const __nv_bfloat16* gate, const __nv_bfloat16* up, __nv_bfloat16* y, int rows, int cols,
                       cudaStream_t stream) {
  constexpr int threads = 256;
  dim3 grid(static_cast<unsigned>((cols + threads - 1) / threads), static_cast<unsigned>(rows));
  swiglu_gate<<<grid, threads, 0, stream>>>(gate, up, y, rows, cols);
}
