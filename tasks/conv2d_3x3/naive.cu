// One thread computes one output pixel of one output channel.
__global__ void conv3x3(const float* x, const float* weight, float* y, int batch, int in_channels, int height,
                        int width, int out_channels) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x;
  int oy = blockIdx.y * blockDim.y + threadIdx.y;
  int oc = blockIdx.z % out_channels;
  int image = blockIdx.z / out_channels;
  if (ox >= width || oy >= height || image >= batch) return;
  float sum = 0.0f;
  for (int ic = 0; ic < in_channels; ++ic) {
    for (int ky = 0; ky < 3; ++ky) {
      int iy = oy + ky - 1;
      if (iy < 0 || iy >= height) continue;
      for (int kx = 0; kx < 3; ++kx) {
        int ix = ox + kx - 1;
        if (ix < 0 || ix >= width) continue;
        sum += x[((image * in_channels + ic) * height + iy) * width + ix] *
               weight[((oc * in_channels + ic) * 3 + ky) * 3 + kx];
      }
    }
  }
  y[((image * out_channels + oc) * height + oy) * width + ox] = sum;
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* x, const float* weight, float* y, int batch, int in_channels, int height,
                       int width, int out_channels, cudaStream_t stream) {
  dim3 block(16, 8, 1);
  dim3 grid(ceil_div(width, 16), ceil_div(height, 8), batch * out_channels);
  conv3x3<<<grid, block, 0, stream>>>(x, weight, y, batch, in_channels, height, width, out_channels);
}
