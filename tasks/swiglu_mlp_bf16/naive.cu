#include <cuda_bf16.h>

// Pass 1: one thread computes one gated hidden value.
__global__ void gate_and_up(const __nv_bfloat16* x, const __nv_bfloat16* w_gate, const __nv_bfloat16* w_up,
                            float* inner, int rows, int dim, int hidden) {
  int unit = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (unit >= hidden || row >= rows) return;
  float gate = 0.0f;
  float up = 0.0f;
  for (int d = 0; d < dim; ++d) {
    float value = __bfloat162float(x[row * dim + d]);
    gate += value * __bfloat162float(w_gate[unit * dim + d]);
    up += value * __bfloat162float(w_up[unit * dim + d]);
  }
  inner[row * hidden + unit] = gate / (1.0f + expf(-gate)) * up;
}

// Pass 2: one thread computes one output element.
__global__ void down(const float* inner, const __nv_bfloat16* w_down, __nv_bfloat16* y, int rows, int dim,
                     int hidden) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (d >= dim || row >= rows) return;
  float sum = 0.0f;
  for (int unit = 0; unit < hidden; ++unit) {
    sum += inner[row * hidden + unit] * __bfloat162float(w_down[d * hidden + unit]);
  }
  y[row * dim + d] = __float2bfloat16(sum);
}

extern "C" void launch(const __nv_bfloat16* x, const __nv_bfloat16* w_gate, const __nv_bfloat16* w_up,
                       const __nv_bfloat16* w_down, __nv_bfloat16* y, int rows, int dim, int hidden,
                       cudaStream_t stream) {
  float* inner = nullptr;
  size_t bytes = sizeof(float) * rows * hidden;
  cudaMallocAsync(&inner, bytes, stream);
  const int threads = 128;
  gate_and_up<<<dim3((hidden + threads - 1) / threads, rows), threads, 0, stream>>>(x, w_gate, w_up, inner, rows, dim,
                                                                                    hidden);
  down<<<dim3((dim + threads - 1) / threads, rows), threads, 0, stream>>>(inner, w_down, y, rows, dim, hidden);
  cudaFreeAsync(inner, stream);
}
