// task: conv2d_3x3
__global__ void conv_kernel(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y,
                            int in_channels, int height, int width, int out_channels) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int image = blockIdx.z / out_channels;
  const int channel = blockIdx.z % out_channels;
  if (column >= width || row >= height) return;
  float sum = 0.0f;
  for (int c = 0; c < in_channels; ++c) {
    const float* plane = x + (image * in_channels + c) * height * width;
    const float* taps = weight + (channel * in_channels + c) * 9;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        const int yy = row + dy, xx = column + dx;
        if (yy >= 0 && yy < height && xx >= 0 && xx < width)
          sum += plane[yy * width + xx] * taps[(dy + 1) * 3 + dx + 1];
      }
    }
  }
  y[(blockIdx.z * height + row) * width + column] = sum;
}

extern "C" void launch(const float* x, const float* weight, float* y, int batch, int in_channels, int height,
                       int width, int out_channels, cudaStream_t stream) {
  const dim3 block(32, 4);
  const dim3 grid((width + 31) / 32, (height + 3) / 4, batch * out_channels);
  conv_kernel<<<grid, block, 0, stream>>>(x, weight, y, in_channels, height, width, out_channels);
}
