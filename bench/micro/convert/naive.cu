// Each term is an integer addition, a conversion and a multiply-add.
constexpr int terms = 256;

__global__ void total(const int* x, const float* scale, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int first = x[i];
  const float factor = scale[i];
  float sum = 0.0f;
#pragma unroll 16
  for (int k = 0; k < terms; ++k) sum += factor * static_cast<float>(first + k);
  y[i] = sum;
}

extern "C" void launch(const int* x, const float* scale, float* y, int n, cudaStream_t stream) {
  const int threads = 256;
  total<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, scale, y, n);
}
