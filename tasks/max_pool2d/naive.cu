#include <math_constants.h>

// One thread writes one output element; blockIdx.z runs over the images' channels.
__global__ void max_pool_3x3(const float* x, float* y, int planes, int height, int width, int out_h, int out_w) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x;
  int oy = blockIdx.y * blockDim.y + threadIdx.y;
  int plane = blockIdx.z;
  if (ox >= out_w || oy >= out_h || plane >= planes) return;
  float best = -CUDART_INF_F;
  for (int ky = 0; ky < 3; ++ky) {
    for (int kx = 0; kx < 3; ++kx) {
      int iy = oy * 2 - 1 + ky;
      int ix = ox * 2 - 1 + kx;
      if (iy >= 0 && iy < height && ix >= 0 && ix < width) {
        best = fmaxf(best, x[(plane * height + iy) * width + ix]);
      }
    }
  }
  y[(plane * out_h + oy) * out_w + ox] = best;
}

extern "C" void launch(const float* x, float* y, int batch, int channels, int height, int width, cudaStream_t stream) {
  int out_h = (height - 1) / 2 + 1;
  int out_w = (width - 1) / 2 + 1;
  dim3 block(16, 16);
  dim3 grid((out_w + 15) / 16, (out_h + 15) / 16, batch * channels);
  max_pool_3x3<<<grid, block, 0, stream>>>(x, y, batch * channels, height, width, out_h, out_w);
}
