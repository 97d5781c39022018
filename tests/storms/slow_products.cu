// task: matmul
// storm: one thread computes each product at large sizes, many times over
// status: timeout|correct|unsupported
__global__ void matmul(const float* a, const float* b, float* c, int m, int k, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= n) return;
  float sum = 0;
  for (int again = 0; again < 50; ++again) {
    sum = 0;
    for (int l = 0; l < k; ++l) sum += a[row * k + l] * b[l * n + column] + (again > 100 ? sum : 0.0f);
    c[row * n + column] = sum;
  }
}

extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  matmul<<<dim3((n + 31) / 32, m), 32, 0, stream>>>(a, b, c, m, k, n);
}
