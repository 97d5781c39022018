#include <cuda_pipeline.h>
namespace use_cuda_pipeline_h {
__device__ void f(float4* shared, const float4* from, uint32_t i) {
  __pipeline_memcpy_async(&shared[i], &from[i], sizeof(float4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
}  // namespace use_cuda_pipeline_h
