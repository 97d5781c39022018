// One thread computes one output pixel of one output channel.
__global__ void conv_norm_relu(const float* x, const float* weight, const float* mean, const float* variance,
                               const float* gain, const float* bias, float* y, int batch, int in_channels, int height,
                               int width, int out_channels) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x;
  int oy = blockIdx.y * blockDim.y + threadIdx.y;
  int oc = blockIdx.z % out_channels;
  int image = blockIdx.z / out_channels;
  if (ox >= width || oy >= height || image >= batch) return;
  float sum = 0.0f;
  for (int ic = 0; ic < in_channels; ++ic) {
    for (int ky = 0; ky < 3; ++ky) {
      for (int kx = 0; kx < 3; ++kx) {
        int iy = oy + ky - 1;
        int ix = ox + kx - 1;
        if (iy >= 0 && iy < height && ix >= 0 && ix < width) {
          sum += x[((image * in_channels + ic) * height + iy) * width + ix] *
                 weight[((oc * in_channels + ic) * 3 + ky) * 3 + kx];
        }
      }
    }
  }
  float normed = (sum - mean[oc]) / sqrtf(variance[oc] + 1e-5f) * gain[oc] + bias[oc];
  y[((image * out_channels + oc) * height + oy) * width + ox] = fmaxf(normed, 0.0f);
}

extern "C" void launch(const float* x, const float* weight, const float* mean, const float* variance,
                       const float* gain, const float* bias, float* y, int batch, int in_channels, int height,
                       int width, int out_channels, cudaStream_t stream) {
  const dim3 block(16, 16);
  const dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y, batch * out_channels);
  conv_norm_relu<<<grid, block, 0, stream>>>(x, weight, mean, variance, gain, bias, y, batch, in_channels, height,
                                             width, out_channels);
}
