// task: transpose
template <int TILE>
__global__ void tr(const float* x, float* y, int rows, int cols) {
  extern __shared__ float tile[];
  int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += blockDim.y)
    if (c < cols && r + j < rows) tile[(threadIdx.y + j) * (TILE + 1) + threadIdx.x] = x[(size_t)(r + j) * cols + c];
  __syncthreads();
  c = blockIdx.y * TILE + threadIdx.x;
  r = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += blockDim.y)
    if (c < rows && r + j < cols) y[(size_t)(r + j) * rows + c] = tile[threadIdx.x * (TILE + 1) + threadIdx.y + j];
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  constexpr int T = 32;
  const size_t smem = T * (T + 1) * sizeof(float);
  if (smem >= (48 << 10)) {
    cudaFuncSetAttribute(tr<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem);
  }
  dim3 threads{T, 8};
  dim3 blocks{(unsigned)(cols + T - 1) / T, (unsigned)(rows + T - 1) / T, 1};
  tr<T><<<blocks, threads, smem, stream>>>(x, y, rows, cols);
}
