// task: relu
// rule: a thread reads the result of its own copy only after it has waited for it (PTX ISA 9.0, 9.7.9.25.3.3 "cp.async.wait_group")
// status: correct
// gpu: values
#include <cuda_pipeline.h>

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  __pipeline_memcpy_async(&tile[threadIdx.x], x + i, sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[i] = fmaxf(tile[threadIdx.x], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
