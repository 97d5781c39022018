// task: relu
// rule: the source of a copy may not be modified before the copy has completed (PTX ISA 9.0, 9.7.9.25.1 "Completion Mechanisms for Asynchronous Copy Operations")
// status: race|wrong
// kind: global_race|wrong_result
// gpu: none
#include <cuda_pipeline.h>

__global__ void fill_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i];
}

// In place: the element is fetched from y, then replaced there.
__global__ void relu_kernel(float* y, int n) {
  __shared__ float tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  __pipeline_memcpy_async(&tile[threadIdx.x], y + i, sizeof(float));
  __pipeline_commit();
  y[i] = -1.0f;
  __pipeline_wait_prior(0);
  y[i] = fmaxf(tile[threadIdx.x], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  fill_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(y, n);
}
