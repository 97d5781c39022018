// One thread takes the root of the summed squares of one 3x3 window.
__global__ void l2_pool(const float* x, float* y, int height, int width, int out_h, int out_w) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x;
  int oy = blockIdx.y * blockDim.y + threadIdx.y;
  int plane = blockIdx.z;
  if (ox >= out_w || oy >= out_h) return;
  float sum = 0.0f;
  for (int ky = 0; ky < 3; ++ky) {
    for (int kx = 0; kx < 3; ++kx) {
      float value = x[(plane * height + oy * 3 + ky) * width + ox * 3 + kx];
      sum += value * value;
    }
  }
  y[(plane * out_h + oy) * out_w + ox] = sqrtf(sum);
}

constexpr unsigned tiles(int extent, int tile) { return static_cast<unsigned>((extent + tile - 1) / tile); }

extern "C" void launch(const float* x, float* y, int batch, int channels, int height, int width, cudaStream_t stream) {
  const int out_h = height / 3;
  const int out_w = width / 3;
  const dim3 block(32, 4);
  const dim3 grid(tiles(out_w, 32), tiles(out_h, 4), static_cast<unsigned>(batch * channels));
  l2_pool<<<grid, block, 0, stream>>>(x, y, height, width, out_h, out_w);
}
