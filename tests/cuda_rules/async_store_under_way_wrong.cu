// task: relu
// rule: a store to the destination of a copy under way may come before or after the copy (PTX ISA 9.0, 9.7.9.25.3.1 "cp.async")
// status: race
// kind: shared_race
// gpu: none
#include <cuda_pipeline.h>

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) __pipeline_memcpy_async(&tile[threadIdx.x], x + i, sizeof(float));
  __pipeline_commit();
  tile[threadIdx.x] = 0.0f;
  __pipeline_wait_prior(0);
  if (i < n) y[i] = fmaxf(tile[threadIdx.x], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
