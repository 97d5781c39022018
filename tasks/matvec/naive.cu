// One thread computes one dot product of a row and the vector.
__global__ void matvec(const float* a, const float* x, float* y, int m, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * x[i];
  y[row] = sum;
}

extern "C" void launch(const float* a, const float* x, float* y, int m, int k, cudaStream_t stream) {
  matvec<<<(m + 63) / 64, 64, 0, stream>>>(a, x, y, m, k);
}
