// One thread computes one output pixel of one output channel.
__global__ void dilated_conv(const float* x, const float* weight, float* y, int in_channels, int height, int width,
                             int out_channels) {
  int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  int oc = blockIdx.y;
  int image = blockIdx.z;
  if (pixel >= height * width || oc >= out_channels) return;
  int oy = pixel / width;
  int ox = pixel % width;
  float sum = 0.0f;
  for (int ic = 0; ic < in_channels; ++ic) {
    const float* plane = x + (image * in_channels + ic) * height * width;
    const float* filter = weight + (oc * in_channels + ic) * 9;
    for (int ky = 0; ky < 3; ++ky) {
      for (int kx = 0; kx < 3; ++kx) {
        int iy = oy + 2 * ky - 2;
        int ix = ox + 2 * kx - 2;
        if (iy >= 0 && iy < height && ix >= 0 && ix < width) sum += plane[iy * width + ix] * filter[ky * 3 + kx];
      }
    }
  }
  y[(image * out_channels + oc) * height * width + pixel] = sum;
}

extern "C" void launch(const float* x, const float* weight, float* y, int batch, int in_channels, int height,
                       int width, int out_channels, cudaStream_t stream) {
  constexpr int kThreads = 128;
  const dim3 grid(static_cast<unsigned>((height * width + kThreads - 1) / kThreads),
                  static_cast<unsigned>(out_channels), static_cast<unsigned>(batch));
  dilated_conv<<<grid, kThreads, 0, stream>>>(x, weight, y, in_channels, height, width, out_channels);
}
