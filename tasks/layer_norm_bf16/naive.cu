#include <cuda_bf16.h>

// Pass 1: one thread finds the mean and the reciprocal deviation of one row.
__global__ void row_moments(const __nv_bfloat16* x, float* moments, int rows, int dim) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int d = 0; d < dim; ++d) sum += __bfloat162float(x[row * dim + d]);
  float mean = sum / dim;
  float squares = 0.0f;
  for (int d = 0; d < dim; ++d) {
    float centred = __bfloat162float(x[row * dim + d]) - mean;
    squares += centred * centred;
  }
  moments[2 * row] = mean;
  moments[2 * row + 1] = rsqrtf(squares / dim + 1e-5f);
}

// Pass 2: one thread writes one element.
__global__ void apply_norm(const __nv_bfloat16* x, const float* moments, const __nv_bfloat16* weight,
                           const __nv_bfloat16* bias, __nv_bfloat16* y, int rows, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * dim) return;
  int row = i / dim;
  int d = i % dim;
  float value = (__bfloat162float(x[i]) - moments[2 * row]) * moments[2 * row + 1];
  y[i] = __float2bfloat16(value * __bfloat162float(weight[d]) + __bfloat162float(bias[d]));
}

extern "C" void launch(const __nv_bfloat16* x, const __nv_bfloat16* weight, const __nv_bfloat16* bias,
                       __nv_bfloat16* y, int batch, int seq, int dim, cudaStream_t stream) {
  const int rows = batch * seq;
  float* moments = nullptr;
  cudaMallocAsync(&moments, 2 * sizeof(float) * rows, stream);
  row_moments<<<(rows + 31) / 32, 32, 0, stream>>>(x, moments, rows, dim);
  apply_norm<<<(rows * dim + 255) / 256, 256, 0, stream>>>(x, moments, weight, bias, y, rows, dim);
  cudaFreeAsync(moments, stream);
}
