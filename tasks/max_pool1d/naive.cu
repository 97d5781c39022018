// One thread takes the maximum of one window; blockIdx.y is the channel and blockIdx.z the batch entry.
__global__ void max_pool_line(const float* x, float* y, int channels, int length, int out_length) {
  int o = blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= out_length) return;
  int line = blockIdx.z * channels + blockIdx.y;
  float best = x[line * length + o * 3];
  for (int k = 1; k < 5; ++k) {
    best = fmaxf(best, x[line * length + o * 3 + k]);
  }
  y[line * out_length + o] = best;
}

extern "C" void launch(const float* x, float* y, int batch, int channels, int length, cudaStream_t stream) {
  const int out_length = (length - 5) / 3 + 1;
  const dim3 grid((out_length + 127) / 128, channels, batch);
  max_pool_line<<<grid, 128, 0, stream>>>(x, y, channels, length, out_length);
}
