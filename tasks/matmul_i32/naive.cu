// One thread computes one element of the product.
__global__ void matmul_whole(const int* a, const int* b, int* c, int m, int k, int n) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  int sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

#define TILE 16

extern "C" void launch(const int* a, const int* b, int* c, int m, int k, int n, cudaStream_t stream) {
  dim3 block(TILE, TILE);
  dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul_whole<<<grid, block, 0, stream>>>(a, b, c, m, k, n);
}
