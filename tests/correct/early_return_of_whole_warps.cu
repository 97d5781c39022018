// task: rms_norm
__global__ void rms_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y, int rows, int cols) {
  __shared__ float sums[4][32];
  const int row = blockIdx.x * 4 + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[(size_t)row * cols + c] * x[(size_t)row * cols + c];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y][threadIdx.x + half];
    __syncwarp();
  }
  const float scale = rsqrtf(sums[threadIdx.y][0] / cols + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += 32) y[(size_t)row * cols + c] = x[(size_t)row * cols + c] * scale * weight[c];
}

extern "C" void launch(const float* x, const float* weight, float* y, int rows, int cols, cudaStream_t stream) {
  rms_norm_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, weight, y, rows, cols);
}
