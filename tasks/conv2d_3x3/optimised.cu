// A block computes 32 x 8 pixels of 16 output channels from shared memory, a thread four pixels of eight channels in
// registers: 288 multiply-adds an input channel for 36 shared loads. Weights are read as broadcast float4s.
constexpr int columns = 32;
constexpr int pixels = 4;  // of a thread, one below the other
constexpr int strips = 2;
constexpr int rows = pixels * strips;
constexpr int features = 8;  // output channels of a thread
constexpr int feature_groups = 2;
constexpr int block_features = features * feature_groups;
constexpr int depth = 4;  // input channels staged at a time
constexpr int threads = columns * strips * feature_groups;

__global__ void __launch_bounds__(threads)
    conv_3x3(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y, int in_channels,
             int height, int width, int out_channels) {
  constexpr int halo_columns = columns + 2, halo_rows = rows + 2;
  __shared__ float image[depth][halo_rows][halo_columns];
  __shared__ alignas(16) float taps[depth * 9][block_features + 4];
  const int thread = (threadIdx.z * strips + threadIdx.y) * columns + threadIdx.x;
  const int row_tiles = (height + rows - 1) / rows;
  const int first_row = blockIdx.x % row_tiles * rows;
  const int first_col = blockIdx.x / row_tiles * columns;
  const int first_feature = blockIdx.y * block_features;
  const size_t area = static_cast<size_t>(height) * width;
  const float* in = x + blockIdx.z * in_channels * area;

  float sum[pixels][features] = {};
  for (int first_channel = 0; first_channel < in_channels; first_channel += depth) {
    for (int i = thread; i < depth * halo_rows * halo_columns; i += threads) {
      const int d = i / (halo_rows * halo_columns), r = i / halo_columns % halo_rows, c = i % halo_columns;
      const int channel = first_channel + d, row = first_row + r - 1, col = first_col + c - 1;
      const bool inside = channel < in_channels && row >= 0 && row < height && col >= 0 && col < width;
      image[d][r][c] = inside ? in[channel * area + row * width + col] : 0.0f;
    }
    for (int i = thread; i < depth * 9 * block_features; i += threads) {
      const int f = i / (depth * 9), tap = i % (depth * 9);
      const int feature = first_feature + f;
      const bool inside = feature < out_channels && first_channel * 9 + tap < in_channels * 9;
      taps[tap][f] = inside ? weight[(static_cast<size_t>(feature) * in_channels + first_channel) * 9 + tap] : 0.0f;
    }
    __syncthreads();

    for (int d = 0; d < depth; ++d) {
#pragma unroll
      for (int kx = 0; kx < 3; ++kx) {
        float value[pixels + 2];
#pragma unroll
        for (int r = 0; r < pixels + 2; ++r) value[r] = image[d][threadIdx.y * pixels + r][threadIdx.x + kx];
#pragma unroll
        for (int ky = 0; ky < 3; ++ky) {
          const float* tap = &taps[d * 9 + ky * 3 + kx][threadIdx.z * features];
#pragma unroll
          for (int f = 0; f < features; ++f) {
#pragma unroll
            for (int p = 0; p < pixels; ++p) sum[p][f] += value[p + ky] * tap[f];
          }
        }
      }
    }
    __syncthreads();
  }

  const int col = first_col + threadIdx.x;
#pragma unroll
  for (int f = 0; f < features; ++f) {
    const int feature = first_feature + threadIdx.z * features + f;
#pragma unroll
    for (int p = 0; p < pixels; ++p) {
      const int row = first_row + threadIdx.y * pixels + p;
      if (feature < out_channels && row < height && col < width) {
        y[(static_cast<size_t>(blockIdx.z) * out_channels + feature) * area + row * width + col] = sum[p][f];
      }
    }
  }
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* x, const float* weight, float* y, int batch, int in_channels, int height, int width,
                       int out_channels, cudaStream_t stream) {
  const dim3 block(columns, strips, feature_groups);
  const dim3 grid(ceil_div(height, rows) * ceil_div(width, columns), ceil_div(out_channels, block_features), batch);
  conv_3x3<<<grid, block, 0, stream>>>(x, weight, y, in_channels, height, width, out_channels);
}
