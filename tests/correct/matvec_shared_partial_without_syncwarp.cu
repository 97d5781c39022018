// task: matvec
__global__ void matvec_kernel(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int m,
                              int k) {
  __shared__ float partial[4][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = blockIdx.x * 4 + warp;
  if (row >= m) return;
  float sum = 0.0f;
  for (int i = lane; i < k; i += 32) sum = fmaf(a[(size_t)row * k + i], x[i], sum);
  partial[warp][lane] = sum;
  __syncwarp();
  if (lane == 0) {
    float total = 0.0f;
    for (int l = 0; l < 32; ++l) total += partial[warp][l];
    y[row] = total;
  }
}

extern "C" void launch(const float* a, const float* x, float* y, int m, int k, cudaStream_t stream) {
  matvec_kernel<<<(m + 3) / 4, 128, 0, stream>>>(a, x, y, m, k);
}
