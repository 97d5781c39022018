// task: conv2d_3x3
// honest: tiles of 24 x 10 pixels for eight output channels, four input channels at a time in shared memory, 264 blocks in turn.
constexpr int tile_w = 24, tile_h = 10, outs = 8, ins = 4, threads = tile_w * tile_h;

__global__ void __launch_bounds__(threads) convolve(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y,
                                                    int batch, int in_channels, int height, int width, int out_channels) {
  __shared__ float patch[ins][tile_h + 2][tile_w + 2];
  __shared__ float taps[outs][ins][9];
  const int across = (width + tile_w - 1) / tile_w, down = (height + tile_h - 1) / tile_h, groups = (out_channels + outs - 1) / outs;
  const int work = batch * groups * down * across;
  const int tx = threadIdx.x % tile_w, ty = threadIdx.x / tile_w;
  for (int w = blockIdx.x; w < work; w += gridDim.x) {
    const int col0 = w % across * tile_w, row0 = w / across % down * tile_h;
    const int out0 = w / (across * down) % groups * outs, image = w / (across * down * groups);
    float sum[outs] = {};
    for (int in0 = 0; in0 < in_channels; in0 += ins) {
      for (int i = threadIdx.x; i < ins * (tile_h + 2) * (tile_w + 2); i += threads) {
        const int c = i % (tile_w + 2), r = i / (tile_w + 2) % (tile_h + 2), ch = i / ((tile_w + 2) * (tile_h + 2));
        const int col = col0 + c - 1, row = row0 + r - 1;
        const bool there = in0 + ch < in_channels && row >= 0 && row < height && col >= 0 && col < width;
        patch[ch][r][c] = there ? x[(((size_t)image * in_channels + in0 + ch) * height + row) * width + col] : 0.0f;
      }
      for (int i = threadIdx.x; i < outs * ins * 9; i += threads) {
        const int o = i / (ins * 9), ch = i / 9 % ins;
        const bool there = out0 + o < out_channels && in0 + ch < in_channels;
        taps[o][ch][i % 9] = there ? weight[((size_t)(out0 + o) * in_channels + in0 + ch) * 9 + i % 9] : 0.0f;
      }
      __syncthreads();
#pragma unroll
      for (int ch = 0; ch < ins; ++ch) {
#pragma unroll
        for (int t = 0; t < 9; ++t) {
          const float value = patch[ch][ty + t / 3][tx + t % 3];
#pragma unroll
          for (int o = 0; o < outs; ++o) sum[o] = fmaf(value, taps[o][ch][t], sum[o]);
        }
      }
      __syncthreads();
    }
    const int row = row0 + ty, col = col0 + tx;
    if (row < height && col < width) {
#pragma unroll
      for (int o = 0; o < outs; ++o) {
        if (out0 + o < out_channels) y[(((size_t)image * out_channels + out0 + o) * height + row) * width + col] = sum[o];
      }
    }
  }
}

extern "C" void launch(const float* x, const float* weight, float* y, int batch, int in_channels, int height, int width, int out_channels,
                       cudaStream_t stream) {
  const int work = batch * ((out_channels + outs - 1) / outs) * ((height + tile_h - 1) / tile_h) * ((width + tile_w - 1) / tile_w);
  convolve<<<work < 264 ? work : 264, threads, 0, stream>>>(x, weight, y, batch, in_channels, height, width, out_channels);
}
