#include <cuda_bf16.h>

// Pass 1: one thread computes the scale of one row.
__global__ void row_scale(const __nv_bfloat16* x, float* scale, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float squares = 0.0f;
  for (int c = 0; c < cols; ++c) {
    float value = __bfloat162float(x[row * cols + c]);
    squares += value * value;
  }
  scale[row] = rsqrtf(squares / cols + 1e-6f);
}

// Pass 2: one thread scales one element.
__global__ void scale_rows(const __nv_bfloat16* x, const float* scale, const __nv_bfloat16* weight, __nv_bfloat16* y,
                           int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float value = __bfloat162float(x[row * cols + col]) * scale[row] * __bfloat162float(weight[col]);
  y[row * cols + col] = __float2bfloat16(value);
}

extern "C" void launch(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y, int rows, int cols,
                       cudaStream_t stream) {
  float* scale = nullptr;
  cudaMallocAsync(&scale, static_cast<size_t>(rows) * sizeof(float), stream);
  row_scale<<<(rows + 63) / 64, 64, 0, stream>>>(x, scale, rows, cols);
  dim3 block(64, 4);
  dim3 grid((cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
  scale_rows<<<grid, block, 0, stream>>>(x, scale, weight, y, rows, cols);
  cudaFreeAsync(scale, stream);
}
