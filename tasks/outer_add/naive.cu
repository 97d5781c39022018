// One thread computes one element of the matrix.
__global__ void outer_add(const float* a, const float* b, float* y, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < m) y[i * m + j] = a[i] + b[j];
}

extern "C" void launch(const float* a, const float* b, float* y, int n, int m, cudaStream_t stream) {
  constexpr int tile = 16;
  dim3 block(tile, tile);
  dim3 grid((m + tile - 1) / tile, (n + tile - 1) / tile);
  outer_add<<<grid, block, 0, stream>>>(a, b, y, n, m);
}
