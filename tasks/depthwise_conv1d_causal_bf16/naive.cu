#include <cuda_bf16.h>

// One thread computes one output element.
__global__ void causal_conv(const __nv_bfloat16* x, const __nv_bfloat16* weight, const __nv_bfloat16* bias,
                            __nv_bfloat16* y, int batch, int channels, int length, int taps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch * channels * length) return;
  int at = i % length;
  int channel = i / length % channels;
  float sum = __bfloat162float(bias[channel]);
  for (int t = 0; t < taps; ++t) {
    int back = taps - 1 - t;
    if (at >= back) sum += __bfloat162float(x[i - back]) * __bfloat162float(weight[channel * taps + t]);
  }
  y[i] = __float2bfloat16(sum);
}

extern "C" void launch(const __nv_bfloat16* x, const __nv_bfloat16* weight, const __nv_bfloat16* bias,
                       __nv_bfloat16* y, int batch, int channels, int length, int taps, cudaStream_t stream) {
  const unsigned total = static_cast<unsigned>(batch) * channels * length;
  const unsigned blocks = (total + 255u) / 256u;
  causal_conv<<<blocks, 256, 0, stream>>>(x, weight, bias, y, batch, channels, length, taps);
}
