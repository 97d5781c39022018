// One thread handles one pixel of one channel of one image.
__global__ void channel_affine(const float* x, const float* scale, const float* shift, float* y, int batch,
                               int channels, int pixels) {
  int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  int channel = blockIdx.y;
  int image = blockIdx.z;
  if (pixel >= pixels || channel >= channels || image >= batch) return;
  int i = (image * channels + channel) * pixels + pixel;
  y[i] = x[i] * scale[channel] + shift[channel];
}

extern "C" void launch(const float* x, const float* scale, const float* shift, float* y, int batch, int channels,
                       int height, int width, cudaStream_t stream) {
  const int pixels = height * width;
  const int threads = 128;
  const dim3 grid((pixels + threads - 1) / threads, channels, batch);
  channel_affine<<<grid, threads, 0, stream>>>(x, scale, shift, y, batch, channels, pixels);
}
