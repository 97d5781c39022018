// task: relu
// rule: there is no order between two copies of a group, so both may not write the same place (PTX ISA 9.0, 9.7.9.25.3.2 "cp.async.commit_group")
// status: correct
// gpu: values
#include <cuda_pipeline.h>

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ __align__(16) float tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  __pipeline_memcpy_async(&tile[threadIdx.x], i < n ? x + i : x, 4, i < n ? 0 : 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  if (i < n) y[i] = fmaxf(tile[threadIdx.x], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
