// task: l2_normalize_rows
// A warp a row, two passes.
constexpr int threads = 32;  // of a block; the variants have more

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void normalize_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * (threads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  float sum = 0.0f;
  for (int c = lane; c < cols; c += 32) sum = fmaf(in[c], in[c], sum);
  const float norm = fmaxf(sqrtf(warp_sum(sum)), 1e-12f);
  for (int c = lane; c < cols; c += 32) y[(size_t)row * cols + c] = in[c] / norm;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  constexpr int each = threads / 32;
  normalize_kernel<<<(rows + each - 1) / each, threads, 0, stream>>>(x, y, rows, cols);
}
