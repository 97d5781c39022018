// One thread computes one output element; blockIdx.y is the output channel and blockIdx.z the batch entry.
__global__ void conv1d(const float* x, const float* weight, const float* bias, float* y, int in_channels, int length,
                       int out_channels, int taps) {
  int out_length = length - taps + 1;
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  int oc = blockIdx.y;
  int b = blockIdx.z;
  if (at >= out_length || oc >= out_channels) return;
  float sum = bias[oc];
  for (int ic = 0; ic < in_channels; ++ic) {
    for (int t = 0; t < taps; ++t) {
      sum += x[(b * in_channels + ic) * length + at + t] * weight[(oc * in_channels + ic) * taps + t];
    }
  }
  y[(b * out_channels + oc) * out_length + at] = sum;
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int in_channels,
                       int length, int out_channels, int taps, cudaStream_t stream) {
  const int threads = 128;
  const int out_length = length - taps + 1;
  dim3 grid((out_length + threads - 1) / threads, out_channels, batch);
  conv1d<<<grid, threads, 0, stream>>>(x, weight, bias, y, in_channels, length, out_channels, taps);
}
