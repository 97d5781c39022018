// One thread moves one element.
__global__ void nchw_to_nhwc(const float* x, float* y, int batch, int channels, int pixels) {
  int channel = blockIdx.x * blockDim.x + threadIdx.x;
  int pixel = blockIdx.y * blockDim.y + threadIdx.y;
  int image = blockIdx.z;
  if (image < batch && channel < channels && pixel < pixels) {
    y[(image * pixels + pixel) * channels + channel] = x[(image * channels + channel) * pixels + pixel];
  }
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* x, float* y, int batch, int channels, int height, int width,
                       cudaStream_t stream) {
  int pixels = height * width;
  dim3 block(16, 16, 1);
  dim3 grid(ceil_div(channels, 16), ceil_div(pixels, 16), batch);
  nchw_to_nhwc<<<grid, block, 0, stream>>>(x, y, batch, channels, pixels);
}
