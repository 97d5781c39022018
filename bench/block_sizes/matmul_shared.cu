// task: matmul
// Tiles of 32 columns by one row a warp, through shared memory with barriers.
constexpr int threads = 32;  // of a block; the variants have more

__global__ void matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
                              int k, int n) {
  constexpr int each = threads / 32;
  __shared__ float a_tile[each][32], b_tile[32][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int column = blockIdx.x * 32 + lane, row = blockIdx.y * each + warp;
  float sum = 0.0f;
  for (int first = 0; first < k; first += 32) {
    a_tile[warp][lane] = row < m && first + lane < k ? a[(size_t)row * k + first + lane] : 0.0f;
    for (int i = warp; i < 32; i += each)
      b_tile[i][lane] = column < n && first + i < k ? b[(size_t)(first + i) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum = fmaf(a_tile[warp][i], b_tile[i][lane], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[(size_t)row * n + column] = sum;
}

extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  constexpr int each = threads / 32;
  matmul_kernel<<<dim3((n + 31) / 32, (m + each - 1) / each), threads, 0, stream>>>(a, b, c, m, k, n);
}
