// Pass 1: one thread computes the scale of one row.
__global__ void inverse_rms(const float* x, float* scale, int m, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m) return;
  float squares = 0.0f;
  for (int i = 0; i < k; ++i) squares += x[row * k + i] * x[row * k + i];
  scale[row] = rsqrtf(squares / k + 1e-6f);
}

// Pass 2: one thread computes one output element.
__global__ void scaled_matmul(const float* x, const float* scale, const float* gain, const float* weight, float* y,
                              int m, int k, int n) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += x[row * k + i] * gain[i] * weight[i * n + col];
  y[row * n + col] = sum * scale[row];
}

extern "C" void launch(const float* x, const float* gain, const float* weight, float* y, int m, int k, int n,
                       cudaStream_t stream) {
  float* scale = nullptr;
  cudaMallocAsync(&scale, m * sizeof(float), stream);
  inverse_rms<<<(m + 31) / 32, 32, 0, stream>>>(x, scale, m, k);
  dim3 block(16, 16);
  dim3 grid((n + 15) / 16, (m + 15) / 16);
  scaled_matmul<<<grid, block, 0, stream>>>(x, scale, gain, weight, y, m, k, n);
  cudaFreeAsync(scale, stream);
}
