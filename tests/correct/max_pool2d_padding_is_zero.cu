// task: max_pool2d
__global__ void pool_kernel(const float* __restrict__ x, float* __restrict__ y, int planes, int height, int width,
                            int out_height, int out_width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= planes * out_height * out_width) return;
  const int column = i % out_width;
  const int row = i / out_width % out_height;
  const float* plane = x + (size_t)(i / (out_width * out_height)) * height * width;
  float best = -3.4e38f;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      const int yy = row * 2 + dy, xx = column * 2 + dx;
      const bool inside = yy >= 0 && yy < height && xx >= 0 && xx < width;
      if (inside) best = fmaxf(best, plane[yy * width + xx]);
    }
  }
  y[i] = best;
}

extern "C" void launch(const float* x, float* y, int batch, int channels, int height, int width, cudaStream_t stream) {
  const int out_height = (height - 1) / 2 + 1, out_width = (width - 1) / 2 + 1;
  const int count = batch * channels * out_height * out_width;
  pool_kernel<<<(count + 127) / 128, 128, 0, stream>>>(x, y, batch * channels, height, width, out_height, out_width);
}
