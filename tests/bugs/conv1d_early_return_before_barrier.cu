// task: conv1d
// bug: threads beyond the output return (the barrier does not wait for them) before they have loaded their part of the weights
// kind: uninitialised_output
// status: fault
__global__ void conv1d_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                              const float* __restrict__ bias, float* __restrict__ y, int in_channels, int length,
                              int out_channels, int taps, int out_length) {
  extern __shared__ float kernel_row[];
  const int channel = blockIdx.y;
  const int image = blockIdx.z;
  const int position = blockIdx.x * blockDim.x + threadIdx.x;
  if (position >= out_length) return;  // BUG
  for (int i = threadIdx.x; i < in_channels * taps; i += blockDim.x)
    kernel_row[i] = weight[channel * in_channels * taps + i];  // BUG
  __syncthreads();
  float sum = bias[channel];
  for (int c = 0; c < in_channels; ++c)
    for (int t = 0; t < taps; ++t)
      sum += kernel_row[c * taps + t] * x[(image * in_channels + c) * length + position + t];
  y[(image * out_channels + channel) * out_length + position] = sum;  // BUG
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int in_channels,
                       int length, int out_channels, int taps, cudaStream_t stream) {
  const int out_length = length - taps + 1;
  const dim3 grid((out_length + 127) / 128, out_channels, batch);
  conv1d_kernel<<<grid, 128, in_channels * taps * sizeof(float), stream>>>(x, weight, bias, y, in_channels, length,
                                                                           out_channels, taps, out_length);
}
