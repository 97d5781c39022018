#include <cuda/pipeline>
namespace use_cuda_pipeline {
__device__ void f(float* shared, const float* from, uint64_t n) {
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(shared, from, cuda::aligned_size_t<16>(sizeof(float) * n), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  pipe.consumer_release();
}
}  // namespace use_cuda_pipeline
