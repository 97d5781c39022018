// task: matvec
// bug: the piece of the vector is one element longer than its array and runs into the partial sums behind it
// kind: out_of_bounds|shared_race|wrong_result
// status: fault|race|wrong
__global__ void matvec_kernel(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int m,
                              int k) {
  __shared__ float memory[128 + 128];
  float* piece = memory;
  float* sums = memory + 128;
  const int row = blockIdx.x * 128 + threadIdx.x;
  sums[threadIdx.x] = 0.0f;
  __syncthreads();
  for (int start = 0; start < k; start += 128) {
    const int count = min(k - start, 129);
    for (int i = threadIdx.x; i < count; i += 128) piece[i] = x[start + i];  // BUG
    __syncthreads();
    if (row < m)
      for (int i = 0; i < min(count, 128); ++i) sums[threadIdx.x] += a[(size_t)row * k + start + i] * piece[i];
    __syncthreads();
  }
  if (row < m) y[row] = sums[threadIdx.x];  // BUG
}

extern "C" void launch(const float* a, const float* x, float* y, int m, int k, cudaStream_t stream) {
  matvec_kernel<<<(m + 127) / 128, 128, 0, stream>>>(a, x, y, m, k);
}
