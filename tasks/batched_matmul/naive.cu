// One thread computes one element; blockIdx.z is the batch entry.
__global__ void batched_matmul(const float* a, const float* b, float* c, int batch, int m, int k, int n) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int entry = blockIdx.z;
  if (entry >= batch || row >= m || col >= n) return;
  const float* left = a + entry * m * k;
  const float* right = b + entry * k * n;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += left[row * k + i] * right[i * n + col];
  c[(entry * m + row) * n + col] = sum;
}

static int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* a, const float* b, float* c, int batch, int m, int k, int n, cudaStream_t stream) {
  dim3 block(16, 16, 1);
  dim3 grid(ceil_div(n, 16), ceil_div(m, 16), batch);
  batched_matmul<<<grid, block, 0, stream>>>(a, b, c, batch, m, k, n);
}
