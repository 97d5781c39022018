// Independent special functions, each with two or three cheap instructions around it.
constexpr int terms = 256;

__global__ void total(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float sum = 0.0f;
  float shift = 0.0f;
#pragma unroll 16
  for (int k = 0; k < terms; ++k) {
    sum += __sinf(v + shift);
    shift += 0.0078125f;
  }
  y[i] = sum;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 256;
  total<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
