// task: matmul
constexpr int tile = 16;

__device__ void copy_async(float* to, const float* from) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
}

__global__ void matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
                              int k, int n) {
  __shared__ float a_tile[2][tile][tile];
  __shared__ float b_tile[2][tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  const int rounds = (k + tile - 1) / tile;
  float sum = 0.0f;
  for (int round = 0; round <= rounds; ++round) {
    if (round < rounds) {
      const int ka = round * tile + threadIdx.x, kb = round * tile + threadIdx.y, into = round % 2;
      if (row < m && ka < k) copy_async(&a_tile[into][threadIdx.y][threadIdx.x], a + (size_t)row * k + ka);
      else a_tile[into][threadIdx.y][threadIdx.x] = 0.0f;
      if (column < n && kb < k) copy_async(&b_tile[into][threadIdx.y][threadIdx.x], b + (size_t)kb * n + column);
      else b_tile[into][threadIdx.y][threadIdx.x] = 0.0f;
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    if (round == 0) continue;
    if (round < rounds) asm volatile("cp.async.wait_group 1;" ::: "memory");
    else asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    const int from = (round - 1) % 2;
    for (int i = 0; i < tile; ++i) sum += a_tile[from][threadIdx.y][i] * b_tile[from][i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[(size_t)row * n + column] = sum;
}

extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const dim3 grid((n + tile - 1) / tile, (m + tile - 1) / tile);
  matmul_kernel<<<grid, dim3(tile, tile), 0, stream>>>(a, b, c, m, k, n);
}
