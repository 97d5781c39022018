// task: gram
// honest: only tiles on or above the diagonal, rows split into pieces of 1024, 132 blocks in turn, a second kernel adds and mirrors.
constexpr int tile = 64, depth = 16, threads = 256, piece = 1024;

__global__ void __launch_bounds__(threads) products(const float* __restrict__ x, float* __restrict__ parts, int rows, int cols, int side,
                                                    int pieces) {
  __shared__ __align__(16) float left[depth][tile];
  __shared__ __align__(16) float right[depth][tile];
  const int pairs = side * (side + 1) / 2, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int w = blockIdx.x; w < pairs * pieces; w += gridDim.x) {
    const int p = w / pairs;
    int rest = w % pairs, i0 = 0;
    while (rest >= side - i0) {
      rest -= side - i0;
      ++i0;
    }
    const int j0 = i0 + rest;
    const int end = min(rows, (p + 1) * piece);
    float sum[4][4] = {};
    for (int r0 = p * piece; r0 < end; r0 += depth) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int d = threadIdx.x / 64 + 4 * e, c = threadIdx.x % 64;
        const bool there = r0 + d < end;
        left[d][c] = there && i0 * tile + c < cols ? x[(size_t)(r0 + d) * cols + i0 * tile + c] : 0.0f;
        right[d][c] = there && j0 * tile + c < cols ? x[(size_t)(r0 + d) * cols + j0 * tile + c] : 0.0f;
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; ++d) {
        const float4 u = *reinterpret_cast<const float4*>(&left[d][ty * 4]), v = *reinterpret_cast<const float4*>(&right[d][tx * 4]);
        const float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int e = 0; e < 16; ++e) sum[e / 4][e % 4] = fmaf(us[e / 4], vs[e % 4], sum[e / 4][e % 4]);
      }
      __syncthreads();
    }
    float* part = parts + (size_t)w * tile * tile;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      *reinterpret_cast<float4*>(part + (ty * 4 + i) * tile + tx * 4) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    }
  }
}

__global__ void __launch_bounds__(threads) add_and_mirror(const float* __restrict__ parts, float* __restrict__ y, int cols, int side,
                                                          int pieces) {
  __shared__ float turned[tile][tile + 1];
  const int pairs = side * (side + 1) / 2;
  int rest = blockIdx.x, i0 = 0;
  while (rest >= side - i0) {
    rest -= side - i0;
    ++i0;
  }
  const int j0 = i0 + rest;
  for (int i = threadIdx.x; i < tile * tile; i += threads) {
    float sum = 0.0f;
    for (int p = 0; p < pieces; ++p) sum += parts[((size_t)p * pairs + blockIdx.x) * tile * tile + i];
    turned[i % tile][i / tile] = sum;
    const int row = i0 * tile + i / tile, col = j0 * tile + i % tile;
    if (row < cols && col < cols) y[(size_t)row * cols + col] = sum;
  }
  if (i0 == j0) return;
  __syncthreads();
  for (int i = threadIdx.x; i < tile * tile; i += threads) {
    const int row = j0 * tile + i / tile, col = i0 * tile + i % tile;
    if (row < cols && col < cols) y[(size_t)row * cols + col] = turned[i / tile][i % tile];
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int side = (cols + tile - 1) / tile, pairs = side * (side + 1) / 2, pieces = (rows + piece - 1) / piece;
  float* parts;
  cudaMallocAsync(&parts, (size_t)pairs * pieces * tile * tile * sizeof(float), stream);
  products<<<pairs * pieces < 132 ? pairs * pieces : 132, threads, 0, stream>>>(x, parts, rows, cols, side, pieces);
  add_and_mirror<<<pairs, threads, 0, stream>>>(parts, y, cols, side, pieces);
  cudaFreeAsync(parts, stream);
}
