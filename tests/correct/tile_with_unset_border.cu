// task: transpose
__global__ void transpose_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tile[32][33];
  const int c = blockIdx.x * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += 8)
    if (blockIdx.y * 32 + j < rows && c < cols) tile[j][threadIdx.x] = x[(size_t)(blockIdx.y * 32 + j) * cols + c];
  __syncthreads();
  const int out = blockIdx.y * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += 8) {
    const float v = tile[threadIdx.x][j];
    if (blockIdx.x * 32 + j < cols && out < rows) y[(size_t)(blockIdx.x * 32 + j) * rows + out] = v;
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  transpose_kernel<<<dim3((cols + 31) / 32, (rows + 31) / 32), dim3(32, 8), 0, stream>>>(x, y, rows, cols);
}
