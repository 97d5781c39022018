// task: matmul
constexpr int tile = 16;

__global__ void matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
                              int k, int n) {
  __shared__ float a_tile[2][tile][tile];
  __shared__ float b_tile[2][tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  float sum = 0.0f;
  int buffer = 0;
  for (int start = 0; start < k; start += tile, buffer ^= 1) {
    const int ka = start + threadIdx.x, kb = start + threadIdx.y;
    a_tile[buffer][threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    b_tile[buffer][threadIdx.y][threadIdx.x] = column < n && kb < k ? b[kb * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < tile; ++i) sum += a_tile[buffer][threadIdx.y][i] * b_tile[buffer][i][threadIdx.x];
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const dim3 grid((n + tile - 1) / tile, (m + tile - 1) / tile);
  matmul_kernel<<<grid, dim3(tile, tile), 0, stream>>>(a, b, c, m, k, n);
}
