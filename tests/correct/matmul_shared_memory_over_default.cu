// task: matmul
constexpr int tile = 32;
constexpr int depth = 256;

__global__ void matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
                              int k, int n) {
  extern __shared__ float memory[];
  float* a_tile = memory;
  float* b_tile = memory + tile * depth;
  const int row = blockIdx.y * tile + threadIdx.y;
  const int column = blockIdx.x * tile + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < k; start += depth) {
    for (int i = threadIdx.x; i < depth; i += tile)
      a_tile[threadIdx.y * depth + i] = row < m && start + i < k ? a[(size_t)row * k + start + i] : 0.0f;
    for (int i = threadIdx.y; i < depth; i += tile)
      b_tile[i * tile + threadIdx.x] = column < n && start + i < k ? b[(size_t)(start + i) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < min(depth, k - start); ++i) sum += a_tile[threadIdx.y * depth + i] * b_tile[i * tile + threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[(size_t)row * n + column] = sum;
}

extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const int bytes = 2 * tile * depth * (int)sizeof(float);
  cudaFuncSetAttribute(matmul_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  const dim3 grid((n + tile - 1) / tile, (m + tile - 1) / tile);
  matmul_kernel<<<grid, dim3(tile, tile), bytes, stream>>>(a, b, c, m, k, n);
}
