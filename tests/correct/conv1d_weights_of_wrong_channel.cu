// task: conv1d
__global__ void conv1d_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                              const float* __restrict__ bias, float* __restrict__ y, int in_channels, int length,
                              int out_channels, int taps, int out_length) {
  const int position = blockIdx.x * blockDim.x + threadIdx.x;
  const int channel = blockIdx.y, image = blockIdx.z;
  if (position >= out_length) return;
  float sum = bias[channel];
  for (int c = 0; c < in_channels; ++c)
    for (int t = 0; t < taps; ++t)
      sum += weight[(channel * in_channels + c) * taps + t] * x[((size_t)image * in_channels + c) * length + position + t];
  y[((size_t)image * out_channels + channel) * out_length + position] = sum;
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int in_channels,
                       int length, int out_channels, int taps, cudaStream_t stream) {
  const int out_length = length - taps + 1;
  const dim3 grid((out_length + 63) / 64, out_channels, batch);
  conv1d_kernel<<<grid, 64, 0, stream>>>(x, weight, bias, y, in_channels, length, out_channels, taps, out_length);
}
