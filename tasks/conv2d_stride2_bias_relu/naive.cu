// One thread computes one output pixel of one output channel.
__global__ void conv_stride2(const float* x, const float* weight, const float* bias, float* y, int batch,
                             int in_channels, int height, int width, int out_channels, int out_h, int out_w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch * out_channels * out_h * out_w) return;
  int ox = i % out_w;
  int oy = i / out_w % out_h;
  int oc = i / (out_w * out_h) % out_channels;
  int image = i / (out_w * out_h * out_channels);
  float sum = bias[oc];
  for (int ic = 0; ic < in_channels; ++ic) {
    for (int ky = 0; ky < 3; ++ky) {
      for (int kx = 0; kx < 3; ++kx) {
        int iy = oy * 2 + ky - 1;
        int ix = ox * 2 + kx - 1;
        if (iy >= 0 && iy < height && ix >= 0 && ix < width) {
          sum += x[((image * in_channels + ic) * height + iy) * width + ix] *
                 weight[((oc * in_channels + ic) * 3 + ky) * 3 + kx];
        }
      }
    }
  }
  y[i] = fmaxf(sum, 0.0f);
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int in_channels,
                       int height, int width, int out_channels, cudaStream_t stream) {
  const int out_h = (height - 1) / 2 + 1;
  const int out_w = (width - 1) / 2 + 1;
  const int total = batch * out_channels * out_h * out_w;
  const int threads = 128;
  conv_stride2<<<(total + threads - 1) / threads, threads, 0, stream>>>(x, weight, bias, y, batch, in_channels, height,
                                                                        width, out_channels, out_h, out_w);
}
