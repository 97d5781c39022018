// One thread computes one output pixel of one channel; blockIdx.z runs over the images' channels.
__global__ void depthwise3x3(const float* x, const float* weight, const float* bias, float* y, int channels,
                             int height, int width) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int plane = blockIdx.z;
  int channel = plane % channels;
  if (col >= width || row >= height) return;
  float sum = bias[channel];
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      int r = row + dy;
      int c = col + dx;
      if (r >= 0 && r < height && c >= 0 && c < width) {
        sum += x[(plane * height + r) * width + c] * weight[channel * 9 + (dy + 1) * 3 + dx + 1];
      }
    }
  }
  y[(plane * height + row) * width + col] = sum;
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int channels,
                       int height, int width, cudaStream_t stream) {
  const dim3 block(32, 8);
  const dim3 grid((width + 31) / 32, (height + 7) / 8, batch * channels);
  depthwise3x3<<<grid, block, 0, stream>>>(x, weight, bias, y, channels, height, width);
}
