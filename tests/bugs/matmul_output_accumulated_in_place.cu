// task: batched_matmul
// bug: the product is added to the output, which holds nothing yet
// kind: uninitialised_output
// status: fault
__global__ void bmm_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
                           int k, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n) return;
  const float* left = a + ((size_t)blockIdx.z * m + row) * k;
  const float* right = b + (size_t)blockIdx.z * k * n + column;
  float* out = c + ((size_t)blockIdx.z * m + row) * n + column;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum = fmaf(left[i], right[(size_t)i * n], sum);
  *out += sum;  // BUG
}

extern "C" void launch(const float* a, const float* b, float* c, int batch, int m, int k, int n,
                       cudaStream_t stream) {
  bmm_kernel<<<dim3((n + 31) / 32, (m + 7) / 8, batch), dim3(32, 8), 0, stream>>>(a, b, c, m, k, n);
}
