// task: matvec
// bug: the accumulator has no initial value
// kind: uninitialised_output|not_finite|wrong_result
// status: fault|wrong
__global__ void matvec_kernel(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int m,
                              int k) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= m) return;
  float sum;  // BUG
  for (int i = threadIdx.x; i < k; i += 32) sum += a[(size_t)row * k + i] * x[i];  // BUG
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) y[row] = sum;  // BUG
}

extern "C" void launch(const float* a, const float* x, float* y, int m, int k, cudaStream_t stream) {
  matvec_kernel<<<(m + 3) / 4, dim3(32, 4), 0, stream>>>(a, x, y, m, k);
}
