// task: matvec
// A warp a row; the vector is read again and again.
constexpr int threads = 32;  // of a block; the variants have more

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void matvec_kernel(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int m,
                              int k) {
  const int row = blockIdx.x * (threads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= m) return;
  float sum = 0.0f;
  for (int c = lane; c < k; c += 32) sum = fmaf(a[(size_t)row * k + c], x[c], sum);
  sum = warp_sum(sum);
  if (lane == 0) y[row] = sum;
}

extern "C" void launch(const float* a, const float* x, float* y, int m, int k, cudaStream_t stream) {
  constexpr int each = threads / 32;
  matvec_kernel<<<(m + each - 1) / each, threads, 0, stream>>>(a, x, y, m, k);
}
