// One thread gathers all contributions to one output element.
__global__ void conv_transpose(const float* x, const float* weight, float* y, int in_channels, int length,
                               int out_channels, int taps, int out_length) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  int oc = blockIdx.y;
  int b = blockIdx.z;
  if (at >= out_length) return;
  float sum = 0.0f;
  for (int ic = 0; ic < in_channels; ++ic) {
    for (int t = 0; t < taps; ++t) {
      int from = at - t;
      if (from < 0 || from % 2 != 0 || from / 2 >= length) continue;
      sum += x[(b * in_channels + ic) * length + from / 2] * weight[(ic * out_channels + oc) * taps + t];
    }
  }
  y[(b * out_channels + oc) * out_length + at] = sum;
}

extern "C" void launch(const float* x, const float* weight, float* y, int batch, int in_channels, int length,
                       int out_channels, int taps, cudaStream_t stream) {
  int out_length = (length - 1) * 2 + taps;
  dim3 block(256);
  dim3 grid((out_length + block.x - 1) / block.x, out_channels, batch);
  conv_transpose<<<grid, block, 0, stream>>>(x, weight, y, in_channels, length, out_channels, taps, out_length);
}
