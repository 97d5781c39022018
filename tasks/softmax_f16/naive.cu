#include <cuda_fp16.h>

// Pass 1: one thread finds the maximum and the sum of exponentials of one row.
__global__ void row_statistics(const __half* x, float* top, float* sum, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float best = __half2float(x[row * cols]);
  for (int c = 1; c < cols; ++c) best = fmaxf(best, __half2float(x[row * cols + c]));
  float total = 0.0f;
  for (int c = 0; c < cols; ++c) total += expf(__half2float(x[row * cols + c]) - best);
  top[row] = best;
  sum[row] = total;
}

// Pass 2: one thread writes one element.
__global__ void normalize(const __half* x, const float* top, const float* sum, __half* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (row >= rows || col >= cols) return;
  y[row * cols + col] = __float2half(expf(__half2float(x[row * cols + col]) - top[row]) / sum[row]);
}

extern "C" void launch(const __half* x, __half* y, int rows, int cols, cudaStream_t stream) {
  float* top = nullptr;
  float* sum = nullptr;
  cudaMallocAsync(&top, rows * sizeof(float), stream);
  cudaMallocAsync(&sum, rows * sizeof(float), stream);
  row_statistics<<<(rows + 63) / 64, 64, 0, stream>>>(x, top, sum, rows, cols);
  dim3 grid((cols + 255) / 256, rows);
  normalize<<<grid, 256, 0, stream>>>(x, top, sum, y, rows, cols);
  cudaFreeAsync(top, stream);
  cudaFreeAsync(sum, stream);
}
