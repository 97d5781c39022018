// task: matmul
template <const uint BLOCKSIZE>
__global__ void sgemm_global_mem_coalesce(int M, int N, int K, const float* A, const float* B, float* C) {
  const int cRow = blockIdx.x * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
  const int cCol = blockIdx.y * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);
  if (cRow < M && cCol < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[cRow * K + i] * B[i * N + cCol];
    C[cRow * N + cCol] = tmp;
  }
}
extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  dim3 gridDim((m + 31) / 32, (n + 31) / 32);
  dim3 blockDim(32 * 32);
  sgemm_global_mem_coalesce<32><<<gridDim, blockDim, 0, stream>>>(m, n, k, a, b, c);
}
