// One thread computes one output element.
__global__ void matmul_int8_weight(const float* x, const signed char* weight, const float* scale, float* y, int m,
                                   int k, int n) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += x[row * k + i] * static_cast<float>(weight[col * k + i]);
  y[row * n + col] = sum * scale[col];
}

extern "C" void launch(const float* x, const signed char* weight, const float* scale, float* y, int m, int k, int n,
                       cudaStream_t stream) {
  const dim3 block(16, 16);
  const dim3 grid((n + block.x - 1) / block.x, (m + block.y - 1) / block.y);
  matmul_int8_weight<<<grid, block, 0, stream>>>(x, weight, scale, y, m, k, n);
}
