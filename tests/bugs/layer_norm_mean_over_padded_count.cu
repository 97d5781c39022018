// task: layer_norm
// bug: the mean is taken over the columns rounded up to a multiple of 32
// kind: wrong_result|reduced_precision
// status: wrong
__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void layer_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                  const float* __restrict__ bias, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  const int count = (cols + 31) / 32 * 32;  // BUG
  float sum = 0.0f, squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += in[c];
  const float mean = warp_sum(sum) / count;
  for (int c = threadIdx.x; c < cols; c += 32) squares += (in[c] - mean) * (in[c] - mean);
  const float scale = rsqrtf(warp_sum(squares) / count + 1e-5f);
  for (int c = threadIdx.x; c < cols; c += 32)
    y[(size_t)row * cols + c] = (in[c] - mean) * scale * weight[c] + bias[c];  // BUG
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int rows, int cols,
                       cudaStream_t stream) {
  layer_norm_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, weight, bias, y, rows, cols);
}
