// One thread computes one output element.
__global__ void linear_relu(const float* a, const float* b, const float* bias, float* c, int m, int k, int n) {
  int row = blockIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = bias[col];
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = fmaxf(sum, 0.0f);
}

extern "C" void launch(const float* a, const float* b, const float* bias, float* c, int m, int k, int n,
                       cudaStream_t stream) {
  const int threads = 128;
  dim3 grid((n + threads - 1) / threads, m);
  linear_relu<<<grid, threads, 0, stream>>>(a, b, bias, c, m, k, n);
}
