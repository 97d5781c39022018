// task: lerp_f16
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void h(const __half* a, __half b, half c, __nv_bfloat16 d, float e) {}
extern "C" void launch(const __half* start, const __half* end, const __half* weight, __half* y, int n, cudaStream_t stream) {
  __half one = __float2half(1.0f);
  half third = __float2half(1.0f / 3.0f);
  float back = __half2float(third);
  h<<<(n + 255) / 256, 256, 0, stream>>>(start, one, third, __float2bfloat16(0.1f), back);
  h<<<1, 1, 0, stream>>>(weight + n / 2, __float2half(65520.0f), __float2half(1e-7f), __float2bfloat16(n * 1.7f), __bfloat162float(__float2bfloat16(3.14159f)));
}
