// task: relu
// rule: what was copied through a cuda::pipeline may be read after consumer_wait (CUDA C++ Programming Guide, "Pipeline Interface")
// status: race
// kind: shared_race
// gpu: values
#include <cuda/pipeline>

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
  if (i >= n) return;
  pipeline.producer_acquire();
  cuda::memcpy_async(&tile[threadIdx.x], x + i, cuda::aligned_size_t<4>(sizeof(float)), pipeline);
  pipeline.producer_commit();
  y[i] = fmaxf(tile[threadIdx.x], 0.0f);
  pipeline.consumer_release();
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
