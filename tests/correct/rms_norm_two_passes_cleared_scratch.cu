// task: rms_norm
// Scratch memory is cleared first, as torch::zeros does: that it is defined then must not hide who writes it.
__global__ void row_scales(const float* __restrict__ x, float* __restrict__ scales, int rows, int cols) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float squares = 0.0f;
  for (int c = lane; c < cols; c += 32) squares += x[(size_t)row * cols + c] * x[(size_t)row * cols + c];
  for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, offset);
  if (lane == 0) scales[row] = rsqrtf(squares / (float)cols + 1e-6f);
}

__global__ void scaled(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ scales,
                       float* __restrict__ y, int rows, int cols) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (size_t)rows * cols) y[i] = x[i] * scales[i / cols] * weight[i % cols];
}

extern "C" void launch(const float* x, const float* weight, float* y, int rows, int cols, cudaStream_t stream) {
  float* scales;
  cudaMallocAsync(&scales, sizeof(float) * rows, stream);
  cudaMemsetAsync(scales, 0, sizeof(float) * rows, stream);
  row_scales<<<(rows + 7) / 8, 256, 0, stream>>>(x, scales, rows, cols);
  const long long elements = (long long)rows * cols;
  scaled<<<(unsigned)((elements + 255) / 256), 256, 0, stream>>>(x, weight, scales, y, rows, cols);
  cudaFreeAsync(scales, stream);
}
