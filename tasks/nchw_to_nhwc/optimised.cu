// Each image is a channels x area matrix to transpose: 32 x 32 tiles through padded shared memory make both the reads
// along the pixels and the writes along the channels contiguous.
constexpr int tile_side = 32;
constexpr int warps = 8;

__global__ void channels_last(const float* __restrict__ x, float* __restrict__ y, int channels, int area) {
  __shared__ float tile[tile_side][tile_side + 1];
  const size_t image = static_cast<size_t>(blockIdx.z) * channels * area;
  const int first_pixel = blockIdx.x * tile_side;
  const int first_channel = blockIdx.y * tile_side;

  const int pixel = first_pixel + threadIdx.x;
#pragma unroll
  for (int c = threadIdx.y; c < tile_side; c += warps) {
    const int channel = first_channel + c;
    if (channel < channels && pixel < area) {
      tile[c][threadIdx.x] = x[image + static_cast<size_t>(channel) * area + pixel];
    }
  }
  __syncthreads();

  const int channel = first_channel + threadIdx.x;
#pragma unroll
  for (int p = threadIdx.y; p < tile_side; p += warps) {
    const int out_pixel = first_pixel + p;
    if (channel < channels && out_pixel < area) {
      y[image + static_cast<size_t>(out_pixel) * channels + channel] = tile[threadIdx.x][p];
    }
  }
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* x, float* y, int batch, int channels, int height, int width, cudaStream_t stream) {
  const int area = height * width;
  const dim3 block(tile_side, warps);
  const dim3 grid(ceil_div(area, tile_side), ceil_div(channels, tile_side), batch);
  channels_last<<<grid, block, 0, stream>>>(x, y, channels, area);
}
