// task: relu
// storm: asynchronous copies in a loop, waited for at the end
// status: timeout
#include <cuda_pipeline.h>

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float room[1024];
  for (int k = 0; k < 1000000; ++k) {
    __pipeline_memcpy_async(&room[threadIdx.x], &x[i < n ? i : 0], 4);
    __pipeline_commit();
    if ((k & 63) == 63) __pipeline_wait_prior(0);
  }
  __pipeline_wait_prior(0);
  if (i < n) y[i] = fmaxf(room[threadIdx.x], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
