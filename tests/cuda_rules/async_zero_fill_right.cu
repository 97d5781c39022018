// task: row_sum
// rule: the bytes of the destination that are not read from the source are zero, and only those (PTX ISA 9.0, 9.7.9.25.3.1 "cp.async")
// status: correct
// gpu: values
#include <cuda_pipeline.h>

// Four columns at a time; what lies behind the row's end becomes zero.
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ __align__(16) float tile[128][4];
  __shared__ float parts[128];
  const float* row = x + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
  for (int first = 0; first < cols; first += 512) {
    const int c = first + threadIdx.x * 4;
    // Rows begin where they like: words, and each word that is not there is filled.
    for (int k = 0; k < 4; ++k) {
      const int missing = c + k < cols ? 0 : 4;
      __pipeline_memcpy_async(&tile[threadIdx.x][k], missing == 4 ? x : row + c + k, 4, missing);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    for (int k = 0; k < 4; ++k) sum += tile[threadIdx.x][k];
  }
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = parts[0];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 128, 0, stream>>>(x, y, rows, cols);
}
