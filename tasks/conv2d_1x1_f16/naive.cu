#include <cuda_fp16.h>

// One thread computes one output element.
__global__ void pointwise(const __half* x, const __half* weight, const __half* bias, __half* y, int batch,
                          int in_channels, int area, int out_channels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch * out_channels * area) return;
  int at = i % area;
  int oc = i / area % out_channels;
  int image = i / (area * out_channels);
  float sum = __half2float(bias[oc]);
  for (int ic = 0; ic < in_channels; ++ic) {
    sum += __half2float(x[(image * in_channels + ic) * area + at]) * __half2float(weight[oc * in_channels + ic]);
  }
  y[i] = __float2half(sum);
}

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

extern "C" void launch(const __half* x, const __half* weight, const __half* bias, __half* y, int batch,
                       int in_channels, int height, int width, int out_channels, cudaStream_t stream) {
  int area = height * width;
  int total = batch * out_channels * area;
  pointwise<<<CEIL_DIV(total, 256), 256, 0, stream>>>(x, weight, bias, y, batch, in_channels, area, out_channels);
}
