// task: batched_matmul
// honest: 264 blocks go round all 64 x 64 tiles of all products of the batch; two shared buffers, one barrier for each slice.
constexpr int tile = 64, depth = 16, threads = 256;

__global__ void __launch_bounds__(threads) multiply(const float* __restrict__ a_all, const float* __restrict__ b_all,
                                                    float* __restrict__ c_all, int batch, int m, int k, int n) {
  __shared__ float a_tile[2][depth][tile + 4];
  __shared__ __align__(16) float b_tile[2][depth][tile];
  const int across = (n + tile - 1) / tile, down = (m + tile - 1) / tile, work = batch * across * down;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16, steps = (k + depth - 1) / depth;
  for (int w = blockIdx.x; w < work; w += gridDim.x) {
    const int image = w / (across * down), t = w % (across * down), row0 = t / across * tile, col0 = t % across * tile;
    const float* a = a_all + (size_t)image * m * k;
    const float* b = b_all + (size_t)image * k * n;
    float* c = c_all + (size_t)image * m * n;
    float sum[4][4] = {};
    float a_next[4], b_next[4];
    for (int step = 0; step <= steps; ++step) {
      if (step < steps) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int ar = row0 + ty + 16 * e, ak = step * depth + tx;
          a_next[e] = ar < m && ak < k ? a[(size_t)ar * k + ak] : 0.0f;
          const int bk = step * depth + threadIdx.x / 64 + 4 * e, bc = col0 + threadIdx.x % 64;
          b_next[e] = bk < k && bc < n ? b[(size_t)bk * n + bc] : 0.0f;
        }
      }
      if (step > 0) {
        const int from = (step - 1) % 2;
#pragma unroll
        for (int d = 0; d < depth; ++d) {
          float left[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) left[i] = a_tile[from][d][ty * 4 + i];
          const float4 right = *reinterpret_cast<const float4*>(&b_tile[from][d][tx * 4]);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            sum[i][0] = fmaf(left[i], right.x, sum[i][0]);
            sum[i][1] = fmaf(left[i], right.y, sum[i][1]);
            sum[i][2] = fmaf(left[i], right.z, sum[i][2]);
            sum[i][3] = fmaf(left[i], right.w, sum[i][3]);
          }
        }
      }
      if (step < steps) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          a_tile[step % 2][tx][ty + 16 * e] = a_next[e];
          b_tile[step % 2][threadIdx.x / 64 + 4 * e][threadIdx.x % 64] = b_next[e];
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = row0 + ty * 4 + i;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int col = col0 + tx * 4 + j;
        if (row < m && col < n) c[(size_t)row * n + col] = sum[i][j];
      }
    }
  }
}

extern "C" void launch(const float* a, const float* b, float* c, int batch, int m, int k, int n, cudaStream_t stream) {
  const int work = batch * ((m + tile - 1) / tile) * ((n + tile - 1) / tile);
  multiply<<<work < 264 ? work : 264, threads, 0, stream>>>(a, b, c, batch, m, k, n);
}
